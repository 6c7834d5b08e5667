// SPDX-License-Identifier: MIT
// What libxpreempt-hook.so knows, as it tells libxpreempt: the two are separate libraries.
#pragma once

#include <cstdint>

namespace xpreempt::hook {

// One queue that this process created through /dev/kfd.
struct QueueRecord {
    std::uint32_t kfd_queue_id;
    std::uint32_t generation; // KFD reuses ids at once; the pair is unique in this process
    std::int32_t fd;          // the file that created it, -1 once that was closed
    std::uint32_t gpu_id;
    std::uint32_t queue_type; // KFD_IOC_QUEUE_TYPE_*
    std::uint32_t percentage; // as the host wants it, not what the driver has while held
    std::uint32_t priority;
    std::uint32_t ring_bytes;
    std::uint64_t ring_base;
    std::uint64_t hsa_queue;       // address of its hsa_queue_t, 0 when it has none
    std::uint64_t save_area_bytes; // for waves of a preempted queue; 0: none
    std::uint32_t held;            // stopped by UPDATE_QUEUE with percentage 0
    std::uint32_t num_streams;     // sharing set
};

// All calls are safe from any thread, none allocates. 0 or a negative errno where int is returned.
struct Table {
    std::uint32_t bytes; // of this struct: a newer hook appends
    std::uint32_t (*queues)(QueueRecord* out, std::uint32_t max);

    // Where the stream's last packet went. ENOENT: none was seen, or that queue is gone.
    int (*stream_queue)(const void* stream, QueueRecord* out);

    // The streams that ever put a packet into the queue and still exist. Returns how many.
    std::uint32_t (*streams_of)(std::uint32_t kfd_queue_id, std::uint32_t generation,
                                const void** out, std::uint32_t max);

    // The ioctl behind the interposer, with its answer as 0 or a negative errno.
    int (*ioctl)(int fd, unsigned long request, void* argument);

    // Brackets an UPDATE_QUEUE of the library: between them no update, create or destroy of the
    // host reaches the driver. ESTALE: the queue is gone, and nothing is to be ended.
    int (*begin_update)(std::uint32_t kfd_queue_id, std::uint32_t generation, QueueRecord* out);
    void (*end_update)(std::uint32_t kfd_queue_id, std::uint32_t generation, std::uint32_t held);

    // Packets and pairs that found no room in the tables; a sharing set may then be incomplete.
    std::uint64_t (*overflows)();
};

} // namespace xpreempt::hook

// The only symbol of the hook that is not an interposer. libxpreempt looks it up at run time.
extern "C" const xpreempt::hook::Table* xpreempt_hook_table();
