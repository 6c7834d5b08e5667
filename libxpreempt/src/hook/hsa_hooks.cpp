// SPDX-License-Identifier: MIT
// Interposers of ROCr by which packets come into a queue, in the thread of the HIP call.
//
// HIP reserves each packet with hsa_queue_add_write_index_screlease(). A newer HIP may count the
// index itself and publish several packets with one store (rocm-systems pull request 10377): then
// the store shows the same range. Every version rings the doorbell of the queue, which is the last
// chance to see a packet.
#include "hook/current_call.hpp"
#include "hook/interpose.hpp"
#include "hook/real.hpp"

#include <cstdint>

namespace xpreempt::hook {

namespace {

using Queue = const void*; // hsa_queue_t
using Index = std::uint64_t;
using HsaSignal = std::uint64_t; // hsa_signal_t, passed as its only member

// amd_signal_t: its kind, and for doorbells the queue (amd_hsa_signal.h).
constexpr std::uint64_t queue_at_byte = 48;
constexpr std::int64_t doorbell = -1, legacy_doorbell = -2;

Index write_index(Queue queue, const void* caller) {
    static constinit RocmNext<Rocm::hsa, Index(Queue)> next{"hsa_queue_load_write_index_relaxed"};
    auto* function = next(caller);
    return function != nullptr ? function(queue) : 0;
}

void note_stored(Queue queue, Index before, Index after) {
    if (after > before)
        note_reserved(queue, before, after - before);
}

// Null if it is another signal, or if the HIP call has reserved its packets in a way that we see.
// Called before the store: a signal may be destroyed by the thread that the store wakes.
const void* queue_of_doorbell(HsaSignal signal) {
    if (signal == 0 || (current_call.depth != 0 && current_call.packets.count != 0))
        return nullptr;
    const auto kind = *reinterpret_cast<const std::int64_t*>(signal);
    if (kind != doorbell && kind != legacy_doorbell)
        return nullptr;
    return *reinterpret_cast<const void* const*>(signal + queue_at_byte);
}

void note_doorbell(const void* queue, std::int64_t value) {
    if (current_call.depth == 0) // no stream to attribute it to
        return note_seen(queue, false);
    note_reserved(queue, static_cast<Index>(value), 1);
    current_call.packets.by_doorbell = 1;
}

} // namespace

} // namespace xpreempt::hook

using namespace xpreempt::hook;

#define ADD(name)                                                                                  \
    INTERPOSER(Index, name, Queue queue, Index value) {                                            \
        NEXT(hsa, name);                                                                           \
        const Index index = next(__builtin_return_address(0))(queue, value);                       \
        note_reserved(queue, index, value);                                                        \
        return index;                                                                              \
    }
ADD(hsa_queue_add_write_index_scacq_screl)
ADD(hsa_queue_add_write_index_acq_rel)
ADD(hsa_queue_add_write_index_scacquire)
ADD(hsa_queue_add_write_index_acquire)
ADD(hsa_queue_add_write_index_relaxed)
ADD(hsa_queue_add_write_index_screlease)
ADD(hsa_queue_add_write_index_release)

// hsa_queue_cas_write_index_* has the old index for its answer, and has stored when it is
// `expected`.
#define CAS(name)                                                                                  \
    INTERPOSER(Index, name, Queue queue, Index expected, Index value) {                            \
        NEXT(hsa, name);                                                                           \
        const Index before = next(__builtin_return_address(0))(queue, expected, value);            \
        if (before == expected)                                                                    \
            note_stored(queue, before, value);                                                     \
        return before;                                                                             \
    }
CAS(hsa_queue_cas_write_index_scacq_screl)
CAS(hsa_queue_cas_write_index_acq_rel)
CAS(hsa_queue_cas_write_index_scacquire)
CAS(hsa_queue_cas_write_index_acquire)
CAS(hsa_queue_cas_write_index_relaxed)
CAS(hsa_queue_cas_write_index_screlease)
CAS(hsa_queue_cas_write_index_release)

#define STORE(name)                                                                                \
    INTERPOSER(void, name, Queue queue, Index value) {                                             \
        NEXT(hsa, name);                                                                           \
        const void* caller = __builtin_return_address(0);                                          \
        const Index before = write_index(queue, caller);                                           \
        next(caller)(queue, value);                                                                \
        note_stored(queue, before, value);                                                         \
    }
STORE(hsa_queue_store_write_index_relaxed)
STORE(hsa_queue_store_write_index_screlease)
STORE(hsa_queue_store_write_index_release)

#define SIGNAL_STORE(name)                                                                         \
    INTERPOSER(void, name, HsaSignal signal, std::int64_t value) {                                 \
        NEXT(hsa, name);                                                                           \
        const void* queue = queue_of_doorbell(signal);                                             \
        next(__builtin_return_address(0))(signal, value);                                          \
        if (queue != nullptr)                                                                      \
            note_doorbell(queue, value);                                                           \
    }
SIGNAL_STORE(hsa_signal_store_relaxed)
SIGNAL_STORE(hsa_signal_store_screlease)
SIGNAL_STORE(hsa_signal_store_release)
SIGNAL_STORE(hsa_signal_silent_store_relaxed)
SIGNAL_STORE(hsa_signal_silent_store_screlease)
