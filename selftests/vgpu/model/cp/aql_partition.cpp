// SPDX-License-Identifier: MIT
// One AQL queue on several XCCs: who follows whom, and when all are done with a packet.
#include "model/cp/aql_queue.hpp"
#include "model/cp/command_processor.hpp"

#include <algorithm>

namespace vgpu {
namespace {

constexpr std::uint32_t type_dispatch = 2;

} // namespace

// CP_HQD_PQ_RPTR holds 32 bits of a dword count. The packet index has 64: take it as the last one
// at or before the write index that has these low bits.
std::uint64_t AqlQueue::extend(std::uint32_t read_pointer) const {
    const std::uint64_t write = unit_.memory.read64(vmid_, hqd_.pair(hqd::wptr_poll));
    const std::uint64_t low = read_pointer / 16;
    constexpr std::uint64_t mask = (std::uint64_t{1} << 28) - 1;
    return write - ((write - low) & mask);
}

// The same queue on another XCC, null while it isn't connected there. It has the same slot.
AqlQueue* AqlQueue::on(unsigned xcc) const {
    if (xcc == partition_.xcc)
        return const_cast<AqlQueue*>(this);
    return partition_.scheduler.xcc(xcc).aql_queue(slot_, mqd_on(xcc));
}

std::uint64_t AqlQueue::mqd_on(unsigned xcc) const {
    const std::uint64_t first = hqd_.mqd() - std::uint64_t{partition_.xcc} * partition_.mqd_stride;
    return first + std::uint64_t{xcc} * partition_.mqd_stride;
}

// Oldest packet that an XCC isn't done with.
std::uint64_t AqlQueue::read_on(unsigned xcc) const {
    if (const AqlQueue* queue = on(xcc))
        return queue->read_;
    return extend(unit_.memory.read32(0, mqd_on(xcc) + 4ULL * (hqd::mqd_dword + hqd::pq_rptr)));
}

bool AqlQueue::done_on(unsigned xcc, std::uint64_t index) const {
    const AqlQueue* queue = on(xcc);
    return index < read_on(xcc) || (queue != nullptr && queue->done_.contains(index));
}

bool AqlQueue::done_elsewhere(std::uint64_t index) const {
    for (unsigned xcc = 0; xcc < partition_.share.count; ++xcc)
        if (xcc != partition_.xcc && !done_on(xcc, index))
            return false;
    return true;
}

// Oldest packet that isn't complete: read_dispatch_id.
std::uint64_t AqlQueue::consumed() const {
    std::uint64_t oldest = read_;
    for (unsigned xcc = 0; xcc < partition_.share.count; ++xcc)
        if (xcc != partition_.xcc)
            oldest = std::min(oldest, read_on(xcc));
    return oldest;
}

bool AqlQueue::follow() {
    bool progress = false;
    if (!stopping_)
        see_write();
    for (;;) {
        const AqlQueue* leader = on(0);
        if (stopping_ || leader == nullptr || next_ >= leader->next_)
            return progress;
        const auto packet = load(next_);
        if (!packet)
            return progress;
        // Only a leader that was reset leaves an invalid packet behind it.
        const bool dispatch = !packet->invalid() && (packet->words[0] & 0xff) == type_dispatch;
        const Start result = dispatch ? launch(*packet) : Start::done;
        if (result == Start::wait)
            return progress;
        progress = true;
        ++next_;
        note_work();
        if (result == Start::done)
            complete(*packet);
    }
}

// Completes packets that were done here, but not on every XCC, when the queue was saved, and that
// all XCCs are done with by now. A packet that another XCC has completed meanwhile is invalid.
void AqlQueue::complete_restored() {
    if (!shared())
        return;
    const std::set<std::uint64_t> before = done_;
    for (const std::uint64_t index : before)
        if (const auto packet = load(index); packet && done_.contains(index))
            complete(*packet);
}

} // namespace vgpu
