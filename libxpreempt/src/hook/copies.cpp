// SPDX-License-Identifier: MIT
// Interposers of ROCr: copies by DMA engine with the signals they wait for, and signal handlers.
//
// A waiting copy is in a ring that all streams share and that cannot be scanned: who wants to
// know what is behind a held queue must have seen it go in.
#include "hook/copies.hpp"

#include "hook/interpose.hpp"
#include "hook/mutex_lock.hpp"

#include <algorithm>
#include <atomic>
#include <pthread.h>

namespace xpreempt::hook {

namespace {

struct Agent {
    std::uint64_t handle;
};
using HsaSignal = std::uint64_t; // hsa_signal_t, passed as its only member
using Status = int;
using Handler = bool(std::int64_t value, void* argument);

constexpr Status hsa_status_error = 0x1000; // no runtime behind us
constexpr std::size_t max_copies = 512;

pthread_mutex_t copies_mutex = PTHREAD_MUTEX_INITIALIZER;
CopyRecord copies[max_copies]; // oldest first
std::size_t num_copies;

// amd_signal_t: the value follows the kind.
std::int64_t value_of(HsaSignal signal) {
    return __atomic_load_n(reinterpret_cast<const std::int64_t*>(signal + 8), __ATOMIC_ACQUIRE);
}

template <typename Predicate> void remove_if(Predicate predicate) {
    num_copies =
        static_cast<std::size_t>(std::remove_if(copies, copies + num_copies, predicate) - copies);
}

void remove_finished() {
    remove_if([](const CopyRecord& copy) { return value_of(copy.completion) <= 0; });
}

// Before the call: HIP has set the signal already. A signal is used again only for a new copy.
void note_copy(std::uint32_t num_waits, const HsaSignal* waits, HsaSignal completion,
               int engine = 0) {
    if (completion == 0)
        return;
    const MutexLock lock(copies_mutex);
    remove_if([&](const CopyRecord& copy) { return copy.completion == completion; });
    remove_finished();
    // Full: the oldest are those that an engine is most likely done with.
    if (num_copies == max_copies)
        remove_if([](const CopyRecord& copy) { return &copy == copies; });
    CopyRecord& copy = copies[num_copies++];
    copy = CopyRecord{};
    const bool of_stream = current_call.depth > 0 && is_attributed(current_call.call_class);
    copy.stream = of_stream ? current_call.stream : nullptr;
    copy.completion = completion;
    copy.engine = static_cast<std::uint32_t>(engine);
    copy.num_waits = std::min<std::uint32_t>(num_waits, max_copy_waits);
    if (waits != nullptr)
        std::copy_n(waits, copy.num_waits, copy.waits);
}

// Signals of streams that were destroyed: their memory is ROCr's again.
void forget_signal(HsaSignal signal) {
    const MutexLock lock(copies_mutex);
    remove_if([&](const CopyRecord& copy) { return copy.completion == signal; });
    for (std::size_t i = 0; i < num_copies; ++i) {
        CopyRecord& copy = copies[i];
        copy.num_waits = static_cast<std::uint32_t>(
            std::remove(copy.waits, copy.waits + copy.num_waits, signal) - copy.waits);
    }
}

void forget_all_signals() {
    const MutexLock lock(copies_mutex);
    num_copies = 0;
}

__attribute__((tls_model("initial-exec"))) constinit thread_local unsigned handler_depth = 0;

// HIP has a handful of handler functions; each gets one of our functions in front of it, since
// neither its argument nor its identity may change.
constexpr std::size_t max_handlers = 16;
std::atomic<Handler*> handlers[max_handlers];

template <std::size_t slot> bool call_handler(std::int64_t value, void* argument) {
    ++handler_depth;
    const bool again = handlers[slot].load(std::memory_order_acquire)(value, argument);
    --handler_depth;
    return again;
}

template <std::size_t slot = 0> Handler* stand_before(Handler* handler) {
    if constexpr (slot < max_handlers) {
        Handler* there = nullptr;
        if (handlers[slot].compare_exchange_strong(there, handler) || there == handler)
            return call_handler<slot>;
        return stand_before<slot + 1>(handler);
    } else {
        return handler; // as if we weren't there
    }
}

} // namespace

std::uint32_t unfinished_copies(CopyRecord* out, std::uint32_t max) {
    const MutexLock lock(copies_mutex);
    remove_finished();
    std::copy_n(copies, std::min<std::size_t>(num_copies, max), out);
    return static_cast<std::uint32_t>(num_copies);
}

int in_event_thread() {
    return handler_depth > 0 ? 1 : 0;
}

void forget_copies() {
    copies_mutex = PTHREAD_MUTEX_INITIALIZER;
    num_copies = 0;
}

} // namespace xpreempt::hook

using namespace xpreempt::hook;

INTERPOSER(Status, hsa_amd_memory_async_copy, void* to, Agent to_agent, const void* from,
           Agent from_agent, std::size_t bytes, std::uint32_t num_waits, const HsaSignal* waits,
           HsaSignal completion) {
    auto* function = FUNCTION_OR(hsa_status_error, hsa, hsa_amd_memory_async_copy);
    note_copy(num_waits, waits, completion);
    return function(to, to_agent, from, from_agent, bytes, num_waits, waits, completion);
}

INTERPOSER(Status, hsa_amd_memory_async_copy_on_engine, void* to, Agent to_agent, const void* from,
           Agent from_agent, std::size_t bytes, std::uint32_t num_waits, const HsaSignal* waits,
           HsaSignal completion, int engine, bool force) {
    auto* function = FUNCTION_OR(hsa_status_error, hsa, hsa_amd_memory_async_copy_on_engine);
    note_copy(num_waits, waits, completion, engine);
    return function(to, to_agent, from, from_agent, bytes, num_waits, waits, completion, engine,
                    force);
}

INTERPOSER(Status, hsa_amd_memory_async_copy_rect, const void* to, const void* to_offset,
           const void* from, const void* from_offset, const void* range, Agent agent, int direction,
           std::uint32_t num_waits, const HsaSignal* waits, HsaSignal completion) {
    auto* function = FUNCTION_OR(hsa_status_error, hsa, hsa_amd_memory_async_copy_rect);
    note_copy(num_waits, waits, completion);
    return function(to, to_offset, from, from_offset, range, agent, direction, num_waits, waits,
                    completion);
}

INTERPOSER(Status, hsa_signal_destroy, HsaSignal signal) {
    auto* function = FUNCTION_OR(hsa_status_error, hsa, hsa_signal_destroy);
    forget_signal(signal);
    return function(signal);
}

// Signals are memory of ROCr, which is gone after this call unless another hsa_init() is still
// valid. Then a copy in flight is an edge that is not seen.
INTERPOSER(Status, hsa_shut_down) {
    auto* function = FUNCTION_OR(hsa_status_error, hsa, hsa_shut_down);
    forget_all_signals();
    return function();
}

INTERPOSER(Status, hsa_amd_signal_async_handler, HsaSignal signal, int condition,
           std::int64_t value, Handler* handler, void* argument) {
    auto* function = FUNCTION_OR(hsa_status_error, hsa, hsa_amd_signal_async_handler);
    return function(signal, condition, value, stand_before(handler), argument);
}
