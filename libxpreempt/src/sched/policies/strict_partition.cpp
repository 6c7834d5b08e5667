// SPDX-License-Identifier: MIT
// Slots are laid out when a frame begins; a decision finds the slot of the moment.
#include "sched/policies/strict_partition.hpp"

#include "sched/turns.hpp"

#include <array>
#include <bit>
#include <numeric>
#include <tuple>

namespace xpreempt::sched {

namespace {

constexpr std::int64_t parts_of_frame = std::int64_t{1} << 20;
// Keeps the product of a frame and its parts from overflowing.
constexpr Duration longest_frame = std::chrono::hours{1};

template <class Value> using OfNodes = std::array<Value, max_nodes>;

// Nodes that jobs on several nodes connect with these.
std::uint64_t connected(std::span<const JobView> jobs, std::uint64_t nodes) {
    for (std::uint64_t before = 0; before != nodes;) {
        before = nodes;
        for (const JobView& job : jobs)
            if ((job.nodes & nodes) != 0)
                nodes |= job.nodes;
    }
    return nodes;
}

} // namespace

StrictPartition::StrictPartition(const Parameters& parameters) : parameters_(parameters) {
    parameters_.slice =
        std::clamp<Duration>(parameters_.slice, Duration{parts_of_frame}, longest_slice);
}

Duration StrictPartition::time_of(std::int64_t parts) const {
    return frame_ * parts / parts_of_frame;
}

void StrictPartition::begin_frame(const Snapshot& snapshot) {
    if (frame_ != Duration{0} && snapshot.now - begin_ < frame_)
        return;
    if (frame_ == Duration{0})
        begin_ = snapshot.now;
    else
        begin_ += (snapshot.now - begin_) / frame_ * frame_;
    OfNodes<std::int64_t> counts{};
    for (const JobView& job : snapshot.jobs)
        if (job.utilization != 0)
            for_each_node(job.nodes, [&](std::size_t node) { ++counts[node]; });
    const std::int64_t most = std::max(std::int64_t{1}, *std::ranges::max_element(counts));
    frame_ = std::min<Duration>(turn_of(parameters_.slice, snapshot) * most, longest_frame);
    begin_ += (snapshot.now - begin_) / frame_ * frame_; // the last one may have been longer
    lay_out(snapshot.jobs);
}

void StrictPartition::lay_out(std::span<const JobView> jobs) {
    OfNodes<std::int64_t> sums{}, ends{};
    for (const JobView& job : jobs)
        for_each_node(job.nodes, [&](std::size_t node) { sums[node] += utilization_of(job); });
    const auto order = seats_.sequence();
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t rank) {
        return std::tuple(-std::popcount(jobs[seats_.index(rank)].nodes), rank);
    });
    for (const std::uint32_t rank : order) {
        const JobView& job = jobs[seats_.index(rank)];
        Slot& slot = seats_[rank];
        std::int64_t sum = 100;
        slot = {0, 0, job.nodes};
        for_each_node(job.nodes, [&](std::size_t node) {
            sum = std::max(sum, sums[node]);
            slot.begin = std::max(slot.begin, ends[node]);
        });
        slot.end = slot.begin + parts_of_frame * utilization_of(job) / sum;
        for_each_node(job.nodes, [&](std::size_t node) { ends[node] = slot.end; });
    }
    for (std::size_t rank = 0; rank < seats_.size(); ++rank)
        if (seats_[rank].end > parts_of_frame)
            shorten(jobs, connected(jobs, seats_[rank].nodes));
}

void StrictPartition::shorten(std::span<const JobView> jobs, std::uint64_t nodes) {
    std::int64_t last = parts_of_frame;
    for (const auto [rank, index, job, slot] : seats_.visit(jobs))
        if ((job.nodes & nodes) != 0)
            last = std::max(last, slot.end);
    for (const auto [rank, index, job, slot] : seats_.visit(jobs)) {
        if ((slot.nodes & nodes) == 0)
            continue;
        slot.begin = slot.begin * parts_of_frame / last;
        slot.end = slot.end * parts_of_frame / last;
    }
}

Time StrictPartition::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    begin_frame(snapshot);
    Time next = at_next_event;
    for (const auto [rank, i, job, slot] : seats_.visit(snapshot.jobs)) {
        verdicts[i] = Verdict::run;
        if (job.nodes != slot.nodes)
            slot = {}; // from the next frame on
        if (!job.schedulable() || (slot.end - slot.begin == parts_of_frame))
            continue;
        const Time begin = begin_ + time_of(slot.begin), end = begin_ + time_of(slot.end);
        if (snapshot.now < begin || snapshot.now >= end)
            verdicts[i] = Verdict::hold;
        next = std::min(next, snapshot.now < begin ? begin
                              : snapshot.now < end ? end
                                                   : begin_ + frame_);
    }
    return next;
}

} // namespace xpreempt::sched
