// SPDX-License-Identifier: MIT
// Per-thread state of the interposers.
#include "hook/current_call.hpp"

#include "base/caller_state.hpp"
#include "hook/queue_table.hpp"
#include "hook/real.hpp"

#include <pthread.h>

namespace xpreempt::hook {

constinit thread_local CurrentCall current_call{nullptr, CallClass::count, 0,  false,   false,
                                                -1,      nullptr,          {}, nullptr, {}};
std::atomic<const Gate*> gate{nullptr};

namespace {

// Their addresses are the keys of the devices' null streams.
char null_streams[max_devices];

constexpr std::uintptr_t hip_stream_legacy = 1;
constexpr std::uintptr_t hip_stream_per_thread = 2;

pthread_key_t exit_key;
bool exit_key_made;

// The thread's streams end with it, and its memory may become another thread's.
void at_thread_exit(void* streams) {
    for (int device = 0; device < max_devices; ++device)
        drop_stream(static_cast<const char*>(streams) + device);
}

__attribute__((constructor)) void make_exit_key() {
    exit_key_made = pthread_key_create(&exit_key, at_thread_exit) == 0;
}

const void* per_thread_key() {
    CurrentCall& mine = current_call;
    if (!mine.exit_watched && exit_key_made) {
        mine.exit_watched = true;
        pthread_setspecific(exit_key, mine.per_thread);
    }
    return &mine.per_thread[current_device()];
}

// Packets of the thread whose log it is.
void log_reserved(PacketLog& log, const void* hsa_queue, std::uint64_t index, std::uint64_t count) {
    const auto address = reinterpret_cast<std::uintptr_t>(hsa_queue);
    const bool same_queue = log.num_packets == 0 || log.hsa_queue == address;
    if (!same_queue || count > PacketLog::max_packets - log.num_packets) {
        log.incomplete = 1;
        return;
    }
    log.hsa_queue = address;
    for (std::uint64_t i = 0; i < count; ++i)
        log.packets[log.num_packets++] = index + i;
}

} // namespace

int current_device() {
    static constinit RocmNext<Rocm::hip, int(int*)> next{"hipGetDevice"};
    if (current_call.device >= 0)
        return current_call.device;
    int device = 0;
    auto* function = next(nullptr);
    if (function == nullptr || function(&device) != 0 || device < 0 || device >= max_devices)
        return 0; // no device, then there is no stream either
    current_call.device = device;
    return device;
}

int device_of_null(const void* key) {
    const auto device =
        reinterpret_cast<std::uintptr_t>(key) - reinterpret_cast<std::uintptr_t>(null_streams);
    return device < max_devices ? static_cast<int>(device) : -1;
}

const void* handle_of(const void* key) {
    if (device_of_null(key) >= 0)
        return nullptr;
    const char* mine = current_call.per_thread;
    return key >= mine && key < mine + max_devices
               ? reinterpret_cast<const void*>(hip_stream_per_thread)
               : key;
}

const void* key_of(const void* handle, bool per_thread) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if (value > hip_stream_per_thread)
        return handle;
    if (value == hip_stream_per_thread || per_thread)
        return per_thread_key();
    static_assert(hip_stream_legacy == 1); // another name of the null stream
    return &null_streams[current_device()];
}

namespace {

// Leaves the thread as it was. A launch is cheap only without the two calls of pthread, so the
// library makes them where a launch waits or calls other code.
template <typename Kept, typename Function> void in_gate_with(Function function) {
    const Kept kept;
    current_call.in_gate = true;
    function();
    current_call.in_gate = false;
}

template <typename Function> void in_gate(CallClass call_class, Function function) {
    if (call_class == CallClass::launch)
        in_gate_with<KeptErrno>(function);
    else
        in_gate_with<CallerState>(function);
}

} // namespace

void ask_gate(const Gate& asked, const Call& call) {
    if (asked.before != nullptr)
        in_gate(call.call_class, [&] { asked.before(&call); });
}

void notify_gate(const Gate& asked, const Call& call, int error) {
    if (asked.after != nullptr)
        in_gate(call.call_class, [&] { asked.after(&call, error); });
}

void note_reserved(const void* hsa_queue, std::uint64_t index, std::uint64_t count) {
    CurrentCall& mine = current_call;
    note_seen(hsa_queue, mine.depth != 0);
    if (mine.log != nullptr)
        log_reserved(*mine.log, hsa_queue, index, count);
    if (mine.depth == 0) {
        // By a call that isn't interposed: what else it does is unknown.
        if (mine.log != nullptr)
            mine.log->incomplete = 1;
        return;
    }
    CallPackets& packets = mine.packets;
    packets.hsa_queue = reinterpret_cast<std::uintptr_t>(hsa_queue);
    packets.count += static_cast<std::uint32_t>(count);
    // A graph spreads over several; of the others only the last counts, see is_attributed().
    if (mine.call_class == CallClass::graph && mine.last_queue != hsa_queue)
        note_packet(mine.stream, hsa_queue, true);
    mine.last_queue = hsa_queue;
}

void call_packets(CallPackets* out) {
    *out = current_call.packets;
}

void log_packets(PacketLog* log) {
    current_call.log = log;
    if (log != nullptr)
        *log = {};
}

} // namespace xpreempt::hook
