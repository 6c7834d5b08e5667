// SPDX-License-Identifier: MIT
// Guardians in memory of HIP: the decision where host and GPU reach it, a copy near the waves.
#include "backend/guardians.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace xpreempt::backend {

namespace {

constexpr std::uint32_t max_launch = 0x7fff'ffff; // bit 0 of a copy is the decision
constexpr std::size_t ring_bytes = GuardianRing::num_slots * sizeof(std::uint32_t);

// The device that the copies may be put on: the stream's, when it is the thread's current one. -1:
// unknown, or memory of the current device might be out of the stream's reach.
int device_of_copies(const hip::Functions& hip, hip::Stream stream) {
    int current = -1, device = -1;
    if (hip.stream_get_device == nullptr ||
        hip.stream_get_device(stream, &device) != hip::success ||
        hip.get_device(&current) != hip::success)
        return -1;
    return device == current ? device : -1;
}

} // namespace

bool GuardianRing::arm(Guardian& guardian) {
    if (next_ - oldest_ == num_slots)
        return false;
    const std::uint64_t slot = next_++ % num_slots;
    launches_ = launches_ == max_launch ? 1 : launches_ + 1;
    guardian = {decisions_ + slot, copies_ != nullptr ? copies_ + slot : nullptr, launches_, 0};
    // Made visible to the GPU by whoever publishes the kernel's packet.
    std::atomic_ref(*guardian.decision).store(undecided, std::memory_order_release);
    return true;
}

// The GPU does the same from its side, by PCIe's atomic operations.
bool GuardianRing::take_back(const Guardian& guardian) {
    std::uint32_t found = undecided;
    return std::atomic_ref(*guardian.decision).compare_exchange_strong(found, skip);
}

Result<std::unique_ptr<GuardianRing>> GuardianPool::acquire(const hip::Functions& hip,
                                                            hip::Stream stream) {
    const int device = device_of_copies(hip, stream);
    {
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find_if(
            free_, [device](const auto& ring) { return ring->device() == device; });
        if (found != free_.end()) {
            auto ring = std::move(*found);
            free_.erase(found);
            return ring;
        }
    }
    if (hip.host_malloc == nullptr)
        return fail(ENOENT, Op::find_hip);
    const hip::AsideOfCaptures aside(hip);
    void* decisions = nullptr;
    TRY(hip::check(hip.host_malloc(&decisions, ring_bytes,
                                   hip::host_malloc_portable | hip::host_malloc_coherent)));
    void* copies = nullptr;
    // In the stream's order, so before the first kernel looks. Launches count from 1.
    if (device >= 0 && hip.malloc(&copies, ring_bytes) == hip::success)
        TRY(hip::check(hip.memset_async(copies, 0, ring_bytes, stream)));
    return std::make_unique<GuardianRing>(static_cast<std::uint32_t*>(decisions),
                                          static_cast<std::uint32_t*>(copies), device, resets_);
}

void GuardianPool::give_back(std::unique_ptr<GuardianRing> ring) {
    const std::lock_guard lock(mutex_);
    if (ring->resets() == resets_)
        free_.push_back(std::move(ring));
}

void GuardianPool::note_reset() {
    const std::lock_guard lock(mutex_);
    ++resets_;
    free_.clear();
}

} // namespace xpreempt::backend
