// SPDX-License-Identifier: MIT
// The queue and memory calls of stock amdkfd, as far as they are used here.
//
// Not <linux/kfd_ioctl.h>: that includes <drm/drm.h>, which Debian doesn't put where it is looked
// for. This part of the ABI hasn't changed since it was made; the structs only grew at their end.
#pragma once

#include <cstdint>
#include <linux/ioctl.h>

namespace xpreempt::kfd {

constexpr std::uint32_t queue_type_compute = 0; // KFD_IOC_QUEUE_TYPE_COMPUTE
constexpr std::uint32_t queue_type_aql = 2;     // KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

struct CreateQueueArgs {
    std::uint64_t ring_base;
    std::uint64_t write_pointer; // addresses of the two indices; filled in by the caller
    std::uint64_t read_pointer;
    std::uint64_t doorbell_offset;
    std::uint32_t ring_bytes;
    std::uint32_t gpu_id;
    std::uint32_t queue_type;
    std::uint32_t percentage;
    std::uint32_t priority;
    std::uint32_t queue_id;
    std::uint64_t eop_buffer;
    std::uint64_t eop_buffer_bytes;
    std::uint64_t save_area;
    std::uint32_t save_area_bytes;
    std::uint32_t control_stack_bytes;
};
static_assert(sizeof(CreateQueueArgs) == 88);

struct DestroyQueueArgs {
    std::uint32_t queue_id;
    std::uint32_t pad;
};
static_assert(sizeof(DestroyQueueArgs) == 8);

// The call overwrites all of it: there is none that changes the percentage alone, and 6.12 refuses
// a ring that isn't exactly the queue's mapping.
struct UpdateQueueArgs {
    std::uint64_t ring_base;
    std::uint32_t queue_id;
    std::uint32_t ring_bytes;
    std::uint32_t percentage;
    std::uint32_t priority; // KFD's scale, 0 to 15
};
static_assert(sizeof(UpdateQueueArgs) == 24);

struct AllocateMemoryArgs {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t handle; // from KFD
    std::uint64_t mmap_offset;
    std::uint32_t gpu_id;
    std::uint32_t flags;
};
static_assert(sizeof(AllocateMemoryArgs) == 40);
constexpr std::uint32_t memory_in_vram = 1; // KFD_IOC_ALLOC_MEM_FLAGS_VRAM

struct FreeMemoryArgs {
    std::uint64_t handle;
};
static_assert(sizeof(FreeMemoryArgs) == 8);

struct AvailableMemoryArgs {
    std::uint64_t bytes; // from KFD
    std::uint32_t gpu_id;
    std::uint32_t pad;
};
static_assert(sizeof(AvailableMemoryArgs) == 16);

// Numbers of type 'K'; whole commands differ with the size that a header gives the struct.
constexpr unsigned nr_create_queue = 0x02;
constexpr unsigned nr_destroy_queue = 0x03;
constexpr unsigned nr_update_queue = 0x07;
constexpr unsigned nr_allocate_memory = 0x16;
constexpr unsigned nr_free_memory = 0x17;
constexpr unsigned long ioc_available_memory = _IOWR('K', 0x23, AvailableMemoryArgs);
constexpr unsigned long ioc_update_queue = _IOW('K', nr_update_queue, UpdateQueueArgs);

} // namespace xpreempt::kfd
