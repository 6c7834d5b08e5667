// SPDX-License-Identifier: MIT
// The interface by which libxpreempt-hook.so reports to libxpreempt: the two are separate
// libraries.
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
    std::uint64_t save_area_bytes; // for waves of a preempted queue, of one XCC; 0: none
    std::uint32_t held;            // stopped by UPDATE_QUEUE with percentage 0
    std::uint32_t num_streams;     // sharing set
    std::uint64_t save_area;       // address of the first XCC's; the others' follow
};

// The effect of a HIP entry point, as far as it matters for held queues. hip_calls.def has the
// rows.
enum class CallClass : std::uint32_t {
    launch,        // a kernel on the stream's queue
    cooperative,   // a kernel on the device's cooperative queue
    graph,         // several queues at once
    callback,      // a host function in stream order
    copy,          // asynchronous; may use an SDMA ring that all streams share
    blocking_copy, // on the stream, and the caller waits
    fill,          // a kernel on the stream's queue
    blocking_fill, // on the null stream; the caller may wait
    memory,        // allocation, prefetch, mapping in stream order
    memory_op,     // the GPU waits for or writes a value
    event_record,
    event_edge,  // the stream waits for the event
    event_wait,  // the caller does
    event_query, // also the time between two
    event_destroy,
    stream_wait, // the caller waits for the stream
    stream_query,
    stream_create, // the stream is known afterwards only
    stream_destroy,
    device_wait, // the caller waits for all streams of its device
    capture,     // begins or ends it
    device_change,
    device_reset,
    unload, // of code or of a graph: HIP may wait for any stream
    count
};

// One call of the program, not one that HIP makes of its own exports.
struct Call {
    const char* name; // of the HIP function
    CallClass call_class;
    std::uint32_t per_thread; // the entry point means hipStreamPerThread by stream 0
    const void* handle;       // the hipStream_t that was given, null without one
    const void* stream;       // its key: names one stream of the process, see Table::stream_key
    const void* event;        // hipEvent_t, the last where several are given; or null
};

// Callbacks before and after calls. They run in the program's thread, without any lock of the hook;
// HIP calls that they make don't reach the gate.
struct Gate {
    std::uint32_t bytes = 0; // of this struct
    std::uint32_t reserved = 0;
    std::uint64_t classes = 0; // bit of each CallClass that is to be shown
    // The call is made when it returns. May block, and may be null.
    void (*before)(const Call* call) = nullptr;
    // error: hipError_t of the call. May be null.
    void (*after)(const Call* call, int error) = nullptr;
    // Before a queue is destroyed, inside a HIP call or not. May be null.
    void (*queue_ends)(std::uint32_t kfd_queue_id, std::uint32_t generation) = nullptr;
    // After that; destroyed is 0 if the driver has refused. May be null.
    void (*queue_ended)(std::uint32_t kfd_queue_id, std::uint32_t generation,
                        std::uint32_t destroyed) = nullptr;
};

// The AQL packets that some calls of one thread reserved.
struct PacketLog {
    static constexpr std::uint32_t max_packets = 40;
    std::uint32_t num_packets;
    std::uint32_t incomplete; // more than fit, on several queues, or work that isn't in packets
    std::uint64_t hsa_queue;
    std::uint64_t packets[max_packets]; // as the queue's write index counts them
};

// The AQL packets that one call of a thread reserved.
struct CallPackets {
    std::uint64_t hsa_queue; // of the last one
    std::uint32_t count;
    std::uint32_t by_doorbell; // 1: known only by a doorbell, and there may be more
};

// The rest of what the hook knows of a queue: QueueRecord is passed in arrays and can't grow.
struct RingRecord {
    std::uint32_t kfd_queue_id;
    std::uint32_t generation;
    std::uint32_t in_vram;     // each read of it by the CPU crosses PCIe
    std::uint32_t seen;        // the hook saw a packet come into it
    std::uint32_t in_hip_call; // and that inside a HIP call: else no stream was seen with it
};

struct StreamRecord {
    const void* key;
    const void* handle;  // as the program calls it, see Table::streams_of
    std::uint64_t birth; // differs from that of any other stream ever: addresses are used again
};

constexpr std::uint32_t max_copy_waits = 8;

// A copy that HIP asked a DMA engine for.
struct CopyRecord {
    const void* stream; // key; null: not a call of a stream's
    std::uint32_t num_waits;
    std::uint32_t engine;                // hsa_amd_sdma_engine_id_t, a bit; 0: ROCr chose
    std::uint64_t waits[max_copy_waits]; // hsa_signal_t that must come before
    std::uint64_t completion;            // hsa_signal_t
};

// All calls are safe from any thread, none allocates. 0 or a negative errno where int is returned.
struct Table {
    std::uint32_t bytes; // of this struct: a newer hook appends
    std::uint32_t (*queues)(QueueRecord* out, std::uint32_t max);

    // Where the stream's last packet went. ENOENT: none was seen, or that queue is gone. EXDEV: to
    // a queue that the hook didn't see made: one from before it, or a profiler's.
    int (*stream_queue)(const void* stream, QueueRecord* out);

    // The streams that ever put a packet into the queue and still exist, as the program calls them:
    // null is the device's null stream, 2 a thread's hipStreamPerThread. Returns how many.
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

    // Returns the key of the stream that the handle names in the calling thread: one pointer that
    // names it in every thread. The null stream has one per device, hipStreamPerThread one per
    // thread and device. Every function that takes a stream takes a key; the key of a key is
    // itself.
    const void* (*stream_key)(const void* handle);

    // Queues that may have unfinished work of the stream: its last one, and more after a graph.
    // Returns how many.
    std::uint32_t (*busy_queues)(const void* stream, QueueRecord* out, std::uint32_t max);

    // Replaces the gate; null: none. It must stay for the rest of the process, for other threads
    // may be in it. While there is one, that of another copy of the library is ignored and
    // reported.
    void (*set_gate)(const Gate* gate);

    // After a late load of the hook: makes callers that were loaded meanwhile call it, too. True:
    // the hook was loaded late, and so may have missed queues and streams.
    bool (*attach)();

    // Queues that the process had before the hook was loaded; KFD's word. They stay unmapped.
    std::uint32_t (*queues_before)();

    // Clears the log, and notes the calling thread's packets in it from now on. null ends that.
    void (*log_packets)(PacketLog* log);

    // Every stream that a packet was seen of. Returns how many.
    std::uint32_t (*streams)(StreamRecord* out, std::uint32_t max);

    // Between them no queue is created, changed or destroyed by the host, so that the rings of all
    // that there are can be read. Nothing of begin_update() may be called there.
    void (*begin_reading)();
    void (*end_reading)();

    // Copies that aren't complete, oldest first. Returns how many.
    std::uint32_t (*copies)(CopyRecord* out, std::uint32_t max);

    // Not 0: the calling thread is ROCr's for signals, in one of its handlers.
    int (*in_event_thread)();

    // Returns the packets of the calling thread's HIP call that has just returned. For Gate::after.
    void (*call_packets)(CallPackets* out);

    // One for each record of queues(). Returns how many. Between begin_reading() and end_reading()
    // both name the same queues.
    std::uint32_t (*rings)(RingRecord* out, std::uint32_t max);

    // Returns the device whose null stream has this key; -1: the key is of another stream.
    int (*device_of_null)(const void* key);

    // StreamRecord::birth of the stream with that key; 0: no packet of it was seen.
    std::uint64_t (*birth_of)(const void* stream);

    // Returns 1 if the stream is known to be on another device than the calling thread's current
    // one: a reset of that one leaves it alone.
    int (*is_elsewhere)(const void* stream);

    // The HIP runtime that the library works with, for dlsym(): the one that was called first.
    // null: none is loaded.
    void* (*runtime)();

    // EBUSY: the host is destroying the queue. ESTALE: the queue is gone.
    int (*check_queue)(std::uint32_t kfd_queue_id, std::uint32_t generation);
};

} // namespace xpreempt::hook

// The only symbol of the hook that isn't an interposer. libxpreempt looks it up at run time.
extern "C" const xpreempt::hook::Table* xpreempt_hook_table();
