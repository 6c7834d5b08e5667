// SPDX-License-Identifier: MIT
// The HIP call that this thread is in: its stream, its packets, and the gate before it.
#pragma once

#include "hook/queue_table.hpp"
#include "hook/table.hpp"

#include <atomic>
#include <cstdint>

namespace xpreempt::hook {

constexpr int max_devices = 64;

struct CurrentCall {
    const void* stream;
    CallClass call_class;
    unsigned depth;
    bool in_gate;           // the gate's own HIP calls aren't shown to it
    bool exit_watched;      // this thread has used hipStreamPerThread
    int device;             // current one of the thread; below 0: HIP has to be asked
    const void* last_queue; // of the call's last packet, null before
    CallPackets packets;
    PacketLog* log;               // see Table::log_packets, or null
    char per_thread[max_devices]; // whose addresses are the keys of the thread's own streams
};

// The hook is built with initial-exec TLS: no allocation at a thread's first use.
extern constinit thread_local CurrentCall current_call;

extern std::atomic<const Gate*> gate;

// Classes whose only effect is their packets in one queue. Calls of other classes also put work
// elsewhere, or have a completion that others observe.
constexpr bool is_in_packets(CallClass call_class) {
    return call_class == CallClass::launch || call_class == CallClass::fill ||
           call_class == CallClass::event_query || call_class == CallClass::device_change;
}

// Classes after which the stream has work in the queue of their last packet. HIP puts packets into
// other queues as well when a blocking stream and the null stream wait for each other, but before
// its own. The rest concern several streams or run elsewhere, or put markers only, into whichever
// queue they wait for.
constexpr bool is_attributed(CallClass call_class) {
    switch (call_class) {
    case CallClass::capture:
    case CallClass::cooperative:
    case CallClass::event_edge:
    case CallClass::event_wait:
    case CallClass::event_query:
    case CallClass::event_destroy:
    case CallClass::stream_create:
    case CallClass::stream_destroy:
    case CallClass::stream_query:
    case CallClass::stream_wait:
    case CallClass::device_wait:
    case CallClass::device_change:
    case CallClass::device_reset:
    case CallClass::unload: return false;
    default: return true;
    }
}

// Asks HIP only if it isn't known of this thread. Returns 0 if there is no device.
int current_device();

// The key of a handle given to a function of the _spt kind, or to a plain one.
const void* key_of(const void* handle, bool per_thread);

// Returns the program's handle for the stream with that key. If it is a key of hipStreamPerThread,
// it must be the calling thread's.
const void* handle_of(const void* key);

// As Table::device_of_null.
int device_of_null(const void* key);

constexpr bool has_aftermath(CallClass call_class) {
    return call_class == CallClass::stream_wait || call_class == CallClass::stream_query ||
           call_class == CallClass::device_change || call_class == CallClass::device_reset;
}

// Nested calls keep the outer stream: HIP calls some of its own exports, and the packets of the
// inner call belong to what the program asked for.
class CallScope {
public:
    CallScope(CallClass call_class, const void* stream) {
        CurrentCall& mine = current_call;
        if (mine.depth++ != 0)
            return;
        mine.stream = stream;
        mine.call_class = call_class;
        mine.last_queue = nullptr;
        mine.packets = {};
        if (mine.log != nullptr && !is_in_packets(call_class))
            mine.log->incomplete = 1;
    }
    ~CallScope() {
        CurrentCall& mine = current_call;
        if (--mine.depth == 0 && mine.last_queue != nullptr && is_attributed(mine.call_class))
            note_packet(mine.stream, mine.last_queue, mine.call_class == CallClass::graph);
    }
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;
};

// The gate, if it wants this call. Loaded once a call, so that before and after are of one gate.
inline const Gate* gate_for(CallClass call_class) {
    const Gate* now = gate.load(std::memory_order_acquire);
    if (now == nullptr || current_call.depth != 0 || current_call.in_gate)
        return nullptr;
    return (now->classes >> static_cast<unsigned>(call_class) & 1U) != 0 ? now : nullptr;
}

void ask_gate(const Gate& asked, const Call& call);
void notify_gate(const Gate& asked, const Call& call, int error);

// A packet was reserved by the current call; index is that of the first of count.
void note_reserved(const void* hsa_queue, std::uint64_t index, std::uint64_t count);

// As of Table.
void call_packets(CallPackets* out);
void log_packets(PacketLog* log);

} // namespace xpreempt::hook
