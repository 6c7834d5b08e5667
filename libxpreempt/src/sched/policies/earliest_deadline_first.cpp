// SPDX-License-Identifier: MIT
// From the earliest deadline on; each node counts the jobs that run.
#include "sched/policies/earliest_deadline_first.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace xpreempt::sched {

namespace {

using Counts = std::array<std::uint32_t, max_nodes>;

bool is_full(const Counts& running, std::uint64_t nodes, std::uint32_t k) {
    bool full = false;
    for_each_node(nodes, [&](std::size_t node) { full |= running[node] >= k; });
    return full;
}

} // namespace

EarliestDeadlineFirst::EarliestDeadlineFirst(const Parameters& parameters)
    : parameters_(parameters), linger_(parameters.linger) {
    parameters_.k = std::max(parameters_.k, 1U);
    parameters_.least_period = std::max(parameters_.least_period, Duration{1});
}

EarliestDeadlineFirst::Seat EarliestDeadlineFirst::deadline_of(const JobView& job, Time now) const {
    if (job.relative_deadline >= at_next_event - job.ready_since)
        return {job.deadline, false};
    Time deadline = job.ready_since + std::max(job.relative_deadline, Duration{0});
    if (deadline <= now) {
        const Duration period = std::max(job.relative_deadline, parameters_.least_period);
        const std::int64_t passed = (now - deadline) / period + 1;
        if (period >= at_next_event - (deadline + (passed - 1) * period))
            return {job.deadline, false};
        deadline += passed * period;
    }
    return job.deadline <= deadline ? Seat{job.deadline, false} : Seat{deadline, true};
}

Time EarliestDeadlineFirst::decide(const Snapshot& given, std::span<Verdict> verdicts) {
    const Snapshot snapshot = linger_.extend(given);
    const auto order = seats_.sequence();
    std::size_t count = 0;
    for (const auto [rank, index, job, seat] : seats_.visit(snapshot.jobs)) {
        verdicts[index] = Verdict::run;
        seat = {};
        if (!job.schedulable())
            continue;
        seat = deadline_of(job, snapshot.now);
        order[count++] = static_cast<std::uint32_t>(rank);
    }
    const auto ready = order.first(count);
    std::ranges::sort(ready, {}, [&](std::uint32_t rank) {
        return std::tuple(seats_[rank].deadline, snapshot.jobs[seats_.index(rank)].ready_since,
                          rank);
    });
    Counts running{};
    std::uint64_t wanted = 0; // nodes for which a job waits
    for (const std::uint32_t rank : ready) {
        const std::uint32_t i = seats_.index(rank);
        if (is_full(running, snapshot.jobs[i].nodes, parameters_.k)) {
            verdicts[i] = Verdict::hold;
            wanted |= snapshot.jobs[i].nodes;
        } else {
            for_each_node(snapshot.jobs[i].nodes, [&](std::size_t node) { ++running[node]; });
        }
    }
    // A new period puts a job behind others, so only those matter that run while another one waits.
    Time next = at_next_event;
    for (const std::uint32_t rank : ready) {
        const std::uint32_t i = seats_.index(rank);
        if (seats_[rank].renews && verdicts[i] == Verdict::run &&
            (snapshot.jobs[i].nodes & wanted) != 0)
            next = std::min(next, seats_[rank].deadline);
    }
    return std::min(next, linger_.settle(given, verdicts));
}

} // namespace xpreempt::sched
