// SPDX-License-Identifier: MIT
// Reports of an AQL queue to user space: completion signals, timestamps, and errors.
#include "model/cp/aql_queue.hpp"

#include <fmt/format.h>

#include <atomic>

namespace vgpu {
namespace {

std::uint64_t completion_signal(const std::array<std::uint32_t, 16>& packet) {
    return join(packet[14], packet[15]);
}

} // namespace

std::uint64_t AqlQueue::amd_queue_va() const {
    return hqd_.pair(hqd::rptr_report) - amd_queue::read_dispatch_id;
}

bool AqlQueue::has_property(unsigned property) {
    return bit(unit_.memory.read32(vmid_, amd_queue_va() + amd_queue::properties), property);
}

// Start or end of the packet in its signal, in ticks of the GPU's clock, when profiling is on.
void AqlQueue::stamp(const Packet& packet, std::uint64_t field) {
    const std::uint64_t signal_va = completion_signal(packet.words);
    if (signal_va != 0 && has_property(amd_queue::property_enable_profiling))
        unit_.memory.store64(vmid_, signal_va + field, unit_.clock.ticks());
}

void AqlQueue::signal(std::uint64_t signal_va) {
    std::byte* value =
        unit_.memory.translate(vmid_, signal_va + amd_signal::value, 8, Access::write);
    if (value == nullptr)
        return;
    // Before the value moves: who waits for it may free the signal.
    const std::uint64_t mailbox = unit_.memory.read64(vmid_, signal_va + amd_signal::event_mailbox);
    const std::uint32_t event = unit_.memory.read32(vmid_, signal_va + amd_signal::event_id);
    // The guest's CPUs use atomic operations on the same word.
    std::atomic_ref(*reinterpret_cast<std::int64_t*>(value)).fetch_sub(1);
    ring_mailbox(mailbox, event);
}

// An interrupt for an event of KFD, when the signal has one.
void AqlQueue::ring_mailbox(std::uint64_t mailbox, std::uint32_t event) {
    if (mailbox == 0)
        return;
    unit_.memory.store64(vmid_, mailbox, event);
    unit_.interrupts.raise({.client = ih::client_grbm_cp,
                            .source = ih::source_cp_end_of_pipe,
                            .ring = ring_id_of(slot_),
                            .vmid = static_cast<std::uint8_t>(vmid_),
                            .pasid = unit_.memory.pasid(vmid_),
                            .context = {event}});
}

// The queue stops and says why: in its inactive signal, which ROCr watches, and for an error by
// an interrupt too, which KFD hands to a debugger or to the runtime
// (event_interrupt_wq_v9: exception code [25:10], doorbell of the process [9:0]).
void AqlQueue::report(const QueueError& error) {
    const bool request = error.exception_code == 0;
    unit_.observer.count(request ? "queue_requests" : "queue_errors", 1);
    if (unit_.observer.tracing())
        unit_.observer.event("aql", fmt::format("queue {:#x} stops at packet {}: code {:#x}",
                                                hqd_.doorbell_dword(), next_, error.signal_value));
    (request ? inactive_ : failed_) = true;
    if (read_pointer_pending_)
        report_read_pointer(); // ROCr looks for the packet there
    const std::uint64_t signal_va =
        unit_.memory.read64(vmid_, amd_queue_va() + amd_queue::inactive_signal);
    if (signal_va != 0) {
        unit_.memory.store64(vmid_, signal_va + amd_signal::value, error.signal_value);
        ring_mailbox(unit_.memory.read64(vmid_, signal_va + amd_signal::event_mailbox),
                     unit_.memory.read32(vmid_, signal_va + amd_signal::event_id));
    }
    if (request)
        return;
    unit_.interrupts.raise({.client = ih::client_grbm_cp,
                            .source = ih::source_cp_bad_opcode,
                            .ring = ring_id_of(slot_),
                            .vmid = static_cast<std::uint8_t>(vmid_),
                            .pasid = unit_.memory.pasid(vmid_),
                            .context = {error.exception_code << 10 | hqd_.doorbell_id()}});
}

// The inactive signal's value; nothing when the queue has no such signal.
std::optional<std::uint64_t> AqlQueue::request() {
    const std::uint64_t signal_va =
        unit_.memory.read64(vmid_, amd_queue_va() + amd_queue::inactive_signal);
    if (signal_va == 0)
        return std::nullopt;
    return unit_.memory.read64(vmid_, signal_va + amd_signal::value);
}

// True while user space hasn't answered.
bool AqlQueue::still_inactive() {
    if (!inactive_)
        return false;
    const auto unanswered = request();
    inactive_ = unanswered.value_or(1) != 0;
    polling_ = inactive_ && unanswered;
    if (!inactive_)
        read_scratch();
    return inactive_;
}

} // namespace vgpu
