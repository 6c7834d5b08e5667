// SPDX-License-Identifier: MIT
// The packets of an AQL queue: dispatches, barriers, and AMD's vendor packets.
#include "model/cp/aql_queue.hpp"

#include <fmt/format.h>

namespace vgpu {
namespace {

// HSA packet types (HSA System Architecture, 2.9).
constexpr std::uint32_t type_vendor = 0;
constexpr std::uint32_t type_dispatch = 2;
constexpr std::uint32_t type_barrier_and = 3;
constexpr std::uint32_t type_barrier_or = 5;

// Byte 2 of a vendor packet: what AMD makes of it (hsa_ext_amd.h, amd_aql_queue.cpp of ROCr).
constexpr std::uint32_t format_pm4_ib = 1;
constexpr std::uint32_t format_barrier_value = 2;

// A barrier packet whose reserved2 holds this asks for a snapshot of the counters.
constexpr std::uint64_t snapshot_magic = 0x5041'4e53'5550'4756; // "VGPUSNAP"

constexpr std::uint32_t max_workgroup_items = 1024;
constexpr std::uint32_t max_group_segment = 64 * 1024;

// hsa_signal_condition_t.
bool meets(std::uint32_t condition, std::int64_t value, std::int64_t reference) {
    switch (condition) {
    case 0: return value == reference;
    case 1: return value != reference;
    case 2: return value < reference;
    default: return value >= reference;
    }
}

} // namespace

AqlQueue::Start AqlQueue::start(const Packet& packet) {
    switch (packet.words[0] & 0xff) {
    case type_dispatch: return start_dispatch(packet);
    case type_barrier_and: return start_barrier(packet, false);
    case type_barrier_or: return start_barrier(packet, true);
    case type_vendor: return start_vendor(packet);
    default:
        // Agent dispatch packets too: they are for agents that run functions, not kernels.
        report(bad_packet);
        return Start::wait;
    }
}

// Returns the error for which the CP rejects a dispatch before any wave is launched, if any.
std::optional<QueueError> AqlQueue::problem_of(const Packet& packet) const {
    const std::uint32_t dimensions = bits(packet.words[0], 17, 16);
    const std::array<std::uint32_t, 3> size = {
        bits(packet.words[1], 15, 0), bits(packet.words[1], 31, 16), bits(packet.words[2], 15, 0)};
    std::uint64_t items = 1;
    for (std::size_t i = 0; i < size.size(); ++i) {
        const std::uint32_t grid = packet.words[3 + i];
        if (size[i] == 0 || grid == 0 || (i >= dimensions && (size[i] != 1 || grid != 1)))
            return bad_dimensions;
        items *= size[i];
    }
    if (dimensions == 0)
        return bad_dimensions;
    if (items > max_workgroup_items)
        return bad_workgroup;
    if (packet.words[7] > max_group_segment)
        return bad_group_segment;
    if (join(packet.words[8], packet.words[9]) == 0)
        return bad_code;
    return std::nullopt;
}

AqlQueue::Start AqlQueue::start_dispatch(const Packet& packet) {
    if (const auto problem = problem_of(packet)) {
        report(*problem);
        return Start::wait;
    }
    if (scratch_in_use_once(packet))
        return Start::wait;
    if (packet.words[6] != 0 && !scratch_for(packet)) {
        // ROCr frees what the queue has, and looks for the packet at the read index.
        if (consumed() == next_) {
            offer_reclaim();
            report(needs_scratch);
        }
        return Start::wait;
    }
    const Start started = launch(packet);
    if (started == Start::wait)
        return started;
    unit_.observer.count("dispatches", 1);
    stamp(packet, amd_signal::start_ts);
    return started;
}

// This XCC's share of the dispatch.
AqlQueue::Start AqlQueue::launch(const Packet& packet) {
    std::optional<std::size_t> scratch;
    if (packet.words[6] != 0)
        scratch = scratch_of_started(packet);
    const auto geometry = sq::DispatchGeometry::from_packet(packet.words);
    if (partition_.share.size(geometry.workgroup_count()) == 0) {
        // Others may begin their share after the queue was unmapped and mapped again.
        if (scratch)
            store_scratch_use(*scratch, packet.index);
        return Start::done;
    }
    AqlDispatch dispatch;
    dispatch.packet_index = packet.index;
    dispatch.packet_va = packet.va;
    dispatch.ring_packet = static_cast<std::uint32_t>(packet.index % ring_packets_);
    dispatch.packet = packet.words;
    dispatch.amd_queue_va = amd_queue_va();
    if (scratch)
        dispatch.scratch = scratch_ring(*scratch);
    if (!unit_.shaders.dispatch(slot_, dispatch))
        return Start::wait;
    if (scratch)
        store_scratch_use(*scratch, packet.index);
    unit_.observer.count(fmt::format("dispatches_by_xcc/{}", partition_.xcc), 1);
    trace(packet, "dispatch");
    return Start::in_flight;
}

AqlQueue::Start AqlQueue::start_barrier(const Packet& packet, bool any) {
    // Five signal handles at dword 2; null ones count as satisfied for AND, as absent for OR.
    unsigned signals = 0;
    unsigned reached = 0;
    for (std::size_t i = 0; i < 5; ++i) {
        const std::uint64_t va = join(packet.words[2 + 2 * i], packet.words[3 + 2 * i]);
        if (va == 0)
            continue;
        ++signals;
        if (unit_.memory.read64(vmid_, va + amd_signal::value) == 0)
            ++reached;
    }
    const bool open = any ? signals == 0 || reached != 0 : reached == signals;
    if (!open) {
        polling_ = true;
        return Start::wait;
    }
    stamp(packet, amd_signal::start_ts);
    trace(packet, any ? "barrier-or" : "barrier-and");
    if (join(packet.words[12], packet.words[13]) == snapshot_magic)
        unit_.observer.snapshot(packet.words[1]); // reserved1 is the caller's label
    return Start::done;
}

AqlQueue::Start AqlQueue::start_vendor(const Packet& packet) {
    switch (bits(packet.words[0], 23, 16)) {
    case format_pm4_ib: return start_pm4(packet);
    case format_barrier_value: return start_barrier_value(packet);
    default: report(bad_vendor_packet); return Start::wait;
    }
}

// An INDIRECT_BUFFER packet in dwords 1 to 4, run in the queue's VMID.
AqlQueue::Start AqlQueue::start_pm4(const Packet& packet) {
    stamp(packet, amd_signal::start_ts);
    trace(packet, "vendor pm4");
    vendor_.emplace(unit_.pm4, slot_);
    vendor_->push(vmid_, {packet.words.begin() + 1, packet.words.begin() + 5});
    vendor_->run();
    if (vendor_->idle())
        return Start::done;
    vendor_index_ = packet.index;
    polling_ = vendor_->polling();
    return Start::in_flight;
}

// hsa_amd_barrier_value_packet_t: waits until (signal & mask) is in the relation `cond` to
// `value`. hipStreamWaitValue is made of it.
AqlQueue::Start AqlQueue::start_barrier_value(const Packet& packet) {
    const std::uint64_t signal_va = join(packet.words[2], packet.words[3]);
    const auto reference = static_cast<std::int64_t>(join(packet.words[4], packet.words[5]));
    const std::uint64_t mask = join(packet.words[6], packet.words[7]);
    if (packet.words[8] > 3) {
        report(bad_vendor_packet);
        return Start::wait;
    }
    if (signal_va != 0) {
        const std::uint64_t value = unit_.memory.read64(vmid_, signal_va + amd_signal::value);
        if (!meets(packet.words[8], static_cast<std::int64_t>(value & mask), reference)) {
            polling_ = true;
            return Start::wait;
        }
    }
    stamp(packet, amd_signal::start_ts);
    trace(packet, "barrier-value");
    return Start::done;
}

} // namespace vgpu
