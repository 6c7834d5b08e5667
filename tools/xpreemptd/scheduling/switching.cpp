// SPDX-License-Identifier: MIT
// From verdicts to a list of queues, and from the answers to their state.
#include "scheduling/switching.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace xpreemptd {

namespace {

// The first by band, then by priority, as hints change them, then by age.
std::uint64_t first_that_runs_on(std::uint64_t nodes, const JobTable& table,
                                 std::span<const sched::Verdict> verdicts, Time now) {
    const Job* first = nullptr;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        const Job& job = *table.jobs()[i];
        if (verdicts[i] != sched::Verdict::run || !(job.ready || job.announced(now)) ||
            (table.nodes_of(job) & nodes) == 0)
            continue;
        if (first == nullptr ||
            std::tuple(job.band(), -job.priority()) < std::tuple(first->band(), -first->priority()))
            first = &job;
    }
    return first == nullptr ? 0 : first->id;
}

} // namespace

// Asked before a start: an operator may have sent it away while we held the queues, or only a part
// of the job's memory has left. MemoryTurns brings it back. One that is locked is as good as away.
bool Switching::is_away(Process& process) const {
    if (!provider_.can_move_memory())
        return false;
    const Queue* last = nullptr;
    for (Queue& queue : process.queues) {
        if (!queue.held || (last != nullptr && last->gpu_id == queue.gpu_id))
            continue;
        last = &queue;
        const Time began = clock_();
        const auto reading = provider_.read(process.facts.pid, queue.id);
        if (!reading && reading.error().errno_value == EBUSY)
            process.lock.note_wait(began, clock_());
        queue.away = reading && reading->away;
        if (queue.away || process.lock.is_locked())
            return true;
    }
    return false;
}

void Switching::want(Job& job, Change change) {
    for (const auto& process : job.processes) {
        // One that is locked follows after the scan that finds it free.
        if (process->moving || process->lock.is_locked() ||
            (change == Change::start && is_away(*process)))
            continue;
        for (Queue& queue : process->queues) {
            const bool wanted =
                change == Change::stop ? queue.stoppable() && !queue.held : queue.held;
            if (!wanted)
                continue;
            switches_.push_back({change, process->facts.pid, queue.id, queue.uid});
            queues_.push_back(&queue);
            processes_.push_back(process.get());
            process->scan_once = change == Change::stop;
            if (switched_.empty() || switched_.back().job != job.id)
                switched_.push_back({job.id, change});
            ++switched_.back().queues;
        }
    }
}

// The queues of a job are neighbours.
void Switching::note_results() {
    std::size_t at = 0;
    for (Switched& of : switched_)
        for (std::uint32_t queue = 0; queue < of.queues; ++queue, ++at)
            of.failed += switches_[at].result != 0 && switches_[at].result != EALREADY ? 1U : 0U;
}

// A call in which the driver refused or gave up something says nothing about what a switch costs.
void Switching::note_cost() {
    if (std::ranges::any_of(switches_, [](const Switch& done) { return done.result != 0; }))
        return;
    cost_.note(switches_.front().change == Change::stop, called_at_, returned_at_ - called_at_);
}

// EBUSY has other reasons, too, for which the driver doesn't wait.
void Switching::note_locks() {
    constexpr std::chrono::milliseconds least_wait{50};
    if (returned_at_ - called_at_ < least_wait)
        return;
    for (std::size_t i = 0; i < switches_.size(); ++i)
        if (switches_[i].result == EBUSY && !processes_[i]->lock.is_locked())
            processes_[i]->lock.note_wait(called_at_, returned_at_);
}

bool Switching::note(Queue& queue, const Switch& done) {
    const bool stop = done.change == Change::stop;
    switch (done.result) {
    case 0:
    case EALREADY: // as we wanted it, though we didn't know
    case ETIME:    // requested; the driver keeps trying
        queue.held = stop;
        queue.held_by_others = done.held_by_others;
        ++(stop ? counts_.stops : counts_.starts);
        return !stop && done.result == ETIME;
    case ENOENT:
    case ESRCH:
    case ESTALE: // destroyed meanwhile: an event or the next scan removes it
        queue.held = false;
        queue.busy = false;
        return false;
    case EIO:
        queue.held = false;
        queue.refusal = "lost in a GPU reset";
        break;
    case EPERM:
    case EOPNOTSUPP:
        // The driver never refuses a start to the operator who stopped the queue.
        queue.refusal =
            fmt::format("the driver cannot stop its queues: {}; `kfd-preempt doctor` shows why",
                        std::strerror(done.result));
        break;
    default: // EBUSY, ENOMEM, ENOSPC: something is in the way
        ++counts_.refusals;
        return true;
    }
    ++counts_.refusals;
    return false;
}

bool Switching::carry_out(JobTable& table, std::span<const sched::Verdict> verdicts) {
    switches_.clear();
    queues_.clear();
    processes_.clear();
    switched_.clear();
    // Stops first: where one call can't take all, the important job doesn't wait for starts.
    for (const sched::Verdict verdict : {sched::Verdict::hold, sched::Verdict::run})
        for (std::size_t i = 0; i < verdicts.size(); ++i)
            if (verdicts[i] == verdict)
                want(*table.jobs()[i],
                     verdict == sched::Verdict::hold ? Change::stop : Change::start);
    if (switches_.empty())
        return false;
    ++counts_.calls;
    called_at_ = clock_();
    // Each entry has its own result, also when the call failed as a whole.
    (void)provider_.change(switches_);
    returned_at_ = clock_();
    all_stopped_ = std::ranges::none_of(switches_, [](const Switch& done) {
        return done.change == Change::stop && done.result != 0 && done.result != EALREADY;
    });
    note_results();
    note_cost();
    note_locks();
    // Thousands of jobs use the same few sets of nodes.
    std::map<std::uint64_t, std::uint64_t> first_on;
    for (Switched& of : switched_) {
        if (of.change != Change::stop)
            continue;
        const std::uint64_t nodes = table.nodes_of(*table.find_id(of.job));
        const auto [first, is_new] = first_on.try_emplace(nodes);
        if (is_new)
            first->second = first_that_runs_on(nodes, table, verdicts, called_at_);
        of.for_job = first->second;
    }
    bool again = false;
    for (std::size_t i = 0; i < switches_.size(); ++i)
        again = note(*queues_[i], switches_[i]) || again;
    return again;
}

} // namespace xpreemptd
