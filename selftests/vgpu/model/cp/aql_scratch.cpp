// SPDX-License-Identifier: MIT
// Scratch of an AQL queue: what the process gives it, and how the process takes it back while the
// queue is in use. ROCr describes the firmware's part in AqlQueue::AsyncReclaimMainScratch().
#include "model/cp/aql_queue.hpp"

#include <atomic>

namespace vgpu {
namespace {

// COMPUTE_TMPRING_SIZE: WAVES [11:0], WAVESIZE [24:12] in KiB, for each XCC.
ScratchRing ring_of(std::uint64_t base, std::uint32_t size) {
    return {base, bits(size, 11, 0), bits(size, 24, 12) * 1024, {}};
}

} // namespace

// Not for a queue whose read index is in no amd_queue_t, so that nothing is mapped before it.
bool AqlQueue::offers_reclaim() {
    return unit_.firmware >= amd_queue::async_reclaim_firmware &&
           unit_.memory.is_mapped(vmid_, amd_queue_va() + amd_queue::caps, Access::write);
}

// ROCr sets its own bit in the same word after it has created the queue, and not by an atomic
// operation, so this one may be lost. ROCr looks for it when it is asked for scratch.
void AqlQueue::offer_reclaim() {
    const std::uint64_t caps_va = amd_queue_va() + amd_queue::caps;
    constexpr std::uint32_t offer = 1U << amd_queue::cap_cp_async_reclaim;
    if (!leads() || !offers_reclaim() || (unit_.memory.read32(vmid_, caps_va) & offer) != 0)
        return;
    std::byte* caps = unit_.memory.translate(vmid_, caps_va, 4, Access::write);
    if (caps != nullptr)
        std::atomic_ref(*reinterpret_cast<std::uint32_t*>(caps)).fetch_or(offer);
}

bool AqlQueue::reclaims_scratch() {
    return offers_reclaim() && bit(unit_.memory.read32(vmid_, amd_queue_va() + amd_queue::caps),
                                   amd_queue::cap_sw_async_reclaim);
}

// The queue was just mapped.
void AqlQueue::connect_scratch() {
    if (hqd_.pair(hqd::rptr_report) == 0)
        return;
    offer_reclaim();
    // ROCr frees the queue's scratch while it answers a request: nothing may start before that.
    inactive_ = request().value_or(0) != 0;
    read_scratch();
}

// The CP's copy of what the process gives: later changes count once the queue is mapped anew or the
// process has answered a request.
void AqlQueue::read_scratch() {
    const std::uint64_t queue = amd_queue_va();
    const auto word = [&](std::uint64_t at) { return unit_.memory.read32(vmid_, queue + at); };
    const auto pair = [&](std::uint64_t at) { return unit_.memory.read64(vmid_, queue + at); };
    scratch_ = {};
    QueueScratch& main = scratch_[main_scratch];
    main.ring = ring_of(pair(amd_queue::scratch_backing_memory_location),
                        word(amd_queue::compute_tmpring_size));
    for (unsigned i = 0; i < main.ring.resource.size(); ++i)
        main.ring.resource[i] = word(amd_queue::scratch_resource_descriptor + 4ULL * i);
    main.lane_bytes = word(amd_queue::scratch_wave64_lane_byte_size);
    if (!reclaims_scratch())
        return;
    main.max_use_index = pair(amd_queue::scratch_max_use_index);
    QueueScratch& alternate = scratch_[alternate_scratch];
    alternate.ring = ring_of(pair(amd_queue::alt_scratch_backing_memory_location),
                             word(amd_queue::alt_compute_tmpring_size));
    alternate.lane_bytes = word(amd_queue::alt_scratch_wave64_lane_byte_size);
    alternate.max_use_index = pair(amd_queue::alt_scratch_max_use_index);
    for (std::size_t i = 0; i < alternate.grid_limit.size(); ++i)
        alternate.grid_limit[i] = word(amd_queue::alt_scratch_dispatch_limit + 4 * i);
}

// Nothing while the process has to give the queue more. A dispatch that fits into the main scratch
// doesn't use the alternate one, even when the main scratch is about to be taken back.
std::optional<std::size_t> AqlQueue::scratch_for(const Packet& packet) const {
    const auto usable = [&](std::size_t kind) {
        return packet.index <= scratch_[kind].max_use_index ? std::optional(kind) : std::nullopt;
    };
    const std::uint32_t wanted = packet.words[6];
    if (wanted <= scratch_[main_scratch].lane_bytes)
        return usable(main_scratch);
    const QueueScratch& alternate = scratch_[alternate_scratch];
    bool fits = wanted <= alternate.lane_bytes;
    for (std::size_t i = 0; i < alternate.grid_limit.size(); ++i)
        fits = fits && packet.words[3 + i] <= alternate.grid_limit[i];
    return fits ? usable(alternate_scratch) : std::nullopt;
}

// The leader's copy counts on every XCC. The process doesn't take scratch back before a dispatch
// that the leader has started is complete.
std::size_t AqlQueue::scratch_of_started(const Packet& packet) {
    const auto kind = on(0)->scratch_for(packet);
    if (!kind)
        unit_.observer.unmodelled("aql", "scratch that was taken back from a started dispatch");
    return kind.value_or(main_scratch);
}

// Scratch too large to keep goes back to the process when the dispatch that has it is complete, so
// the next one may not use it.
bool AqlQueue::scratch_in_use_once(const Packet& packet) {
    return packet.words[6] != 0 && consumed() != next_ &&
           has_property(amd_queue::property_use_scratch_once);
}

// ROCr gives the queue one block, of which each XCC has its part.
ScratchRing AqlQueue::scratch_ring(std::size_t kind) {
    ScratchRing ring = on(0)->scratch_[kind].ring;
    ring.base += std::uint64_t{partition_.share.index} * ring.waves * ring.wave_bytes;
    return ring;
}

// Each XCC says which packet used its scratch last. A process that takes scratch back unmaps the
// queue, reads this and waits for the packet before it frees the scratch.
void AqlQueue::store_scratch_use(std::size_t kind, std::uint64_t packet_index) {
    if (reclaims_scratch())
        unit_.memory.store64(vmid_,
                             amd_queue_va() + amd_queue::scratch_last_used_index +
                                 partition_.share.index * amd_queue::last_used_stride + 8 * kind,
                             packet_index);
}

} // namespace vgpu
