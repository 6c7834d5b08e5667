// SPDX-License-Identifier: MIT
// The queue, memory and debugger calls of stock amdkfd, as far as they are used here.
//
// Not <linux/kfd_ioctl.h>: that includes <drm/drm.h>, which Debian doesn't put where it is looked
// for. This part of the ABI hasn't changed since it was made; the structs only grew at their end.
#pragma once

#include <cstdint>
#include <linux/ioctl.h>

namespace xpreempt::kfd {

constexpr std::uint32_t queue_type_aql = 2; // KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

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

struct UpdateQueueArgs {
    std::uint64_t ring_base;
    std::uint32_t queue_id;
    std::uint32_t ring_bytes;
    std::uint32_t percentage;
    std::uint32_t priority;
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

struct KfdVersion {
    std::uint32_t major;
    std::uint32_t minor;
};

enum DebugOp : std::uint32_t {
    debug_enable = 0,
    debug_disable = 1,
    debug_suspend_queues = 6,
    debug_resume_queues = 7,
    debug_queue_snapshot = 13,
};

// The kernel has a union here. Enable, suspend and snapshot use this layout; resume has the array's
// address instead of exception_mask, then the number of ids.
struct DebugTrapArgs {
    std::uint32_t pid;
    std::uint32_t op;
    std::uint64_t exception_mask;
    std::uint64_t address;
    std::uint32_t number; // bytes of the runtime information, queue ids, entries of the snapshot
    std::uint32_t option; // descriptor for events, grace period, bytes of an entry
};
static_assert(sizeof(DebugTrapArgs) == 32);

struct QueueSnapshot {
    std::uint64_t exception_status;
    std::uint64_t ring_base;
    std::uint64_t write_pointer;
    std::uint64_t read_pointer;
    std::uint64_t save_area;
    std::uint32_t queue_id;
    std::uint32_t gpu_id;
    std::uint32_t ring_bytes;
    std::uint32_t queue_type;
    std::uint32_t save_area_bytes;
    std::uint32_t reserved;
};
static_assert(sizeof(QueueSnapshot) == 64);

// A queue stays "new", and can't be suspended, until a snapshot has cleared this.
constexpr std::uint64_t exception_queue_new = std::uint64_t{1} << 30; // EC_QUEUE_NEW is 31
constexpr std::uint32_t debug_queue_error = 1U << 30;
constexpr std::uint32_t debug_queue_invalid = 1U << 31;
constexpr std::uint32_t default_grace_period = ~std::uint32_t{0};

// Numbers of type 'K'; whole commands differ with the size that a header gives the struct.
constexpr unsigned nr_create_queue = 0x02;
constexpr unsigned nr_destroy_queue = 0x03;
constexpr unsigned nr_update_queue = 0x07;
constexpr unsigned nr_allocate_memory = 0x16;
constexpr unsigned nr_free_memory = 0x17;
constexpr unsigned long ioc_get_version = _IOR('K', 0x01, KfdVersion);
constexpr unsigned long ioc_available_memory = _IOWR('K', 0x23, AvailableMemoryArgs);
constexpr unsigned long ioc_debug_trap = _IOWR('K', 0x26, DebugTrapArgs);
constexpr unsigned long ioc_update_queue = _IOW('K', nr_update_queue, UpdateQueueArgs);

} // namespace xpreempt::kfd
