// SPDX-License-Identifier: MIT
// Compares the jobs with what was noted last.
#include "scheduling/recorder.hpp"

#include <algorithm>

namespace xpreemptd {

namespace {

Phase phase_of(const Job& job) {
    if (!job.ready)
        return Phase::idle;
    if (job.held())
        return Phase::waiting;
    return job.held_by_others() ? Phase::held : Phase::running;
}

} // namespace

// Both lists are sorted by id. Returns false if no phase and no GPU is another.
bool Recorder::find_changes(const JobTable& table) {
    changed_.clear();
    now_.clear();
    for (const auto& job : table.jobs())
        now_.push_back({job->id, phase_of(*job), table.nodes_of(*job)});
    auto old = known_.begin();
    const auto end_until = [&](std::uint64_t id) {
        for (; old != known_.end() && old->id < id; ++old)
            changed_.push_back({old->id, Phase::gone, old->nodes});
    };
    for (const Known& job : now_) {
        end_until(job.id);
        const bool is_known = old != known_.end() && old->id == job.id;
        const Known before = is_known ? *old++ : Known{};
        if (before.phase != job.phase || (before.nodes != job.nodes && job.phase != Phase::idle))
            changed_.push_back(job);
    }
    end_until(UINT64_MAX);
    known_.swap(now_);
    return !changed_.empty();
}

// The clock of a test may stand still or go back; a reader may rely on the order.
void Recorder::append(TraceRecord record, Time at) {
    last_ = std::max<std::chrono::nanoseconds>(last_, at.time_since_epoch());
    record.at = last_;
    journal_.append(record);
}

void Recorder::note(const Decided& decided, const JobTable& table, const Switching& switching,
                    bool switched) {
    if (!find_changes(table) && !switched)
        return;
    append({.what = Happening::decision, .job = decided.rung, .cause = decided.cause}, decided.at);
    Time after = decided.at;
    if (switched) {
        const auto took = switching.returned_at() - switching.called_at();
        for (const Switched& of : switching.last())
            append({.what = of.change == Change::stop ? Happening::stop : Happening::resume,
                    .job = of.job,
                    .for_job = of.for_job,
                    .queues = of.queues,
                    .failed = of.failed,
                    .took = took},
                   switching.called_at());
        after = switching.returned_at();
    }
    for (const Known& job : changed_)
        append({.what = Happening::phase, .job = job.id, .phase = job.phase, .nodes = job.nodes},
               after);
}

TracePage Recorder::page(std::optional<std::uint64_t> from, Time now, const JobTable& table,
                         std::size_t most) const {
    TracePage page;
    page.now = now.time_since_epoch();
    // A number of the future is one of a daemon before this one.
    const std::uint64_t wanted = std::min(from.value_or(journal_.next()), journal_.next());
    page.first = std::max(wanted, journal_.first());
    page.lost = page.first - wanted;
    page.next = std::min<std::uint64_t>(journal_.next(), page.first + most);
    for (std::uint64_t number = page.first; number < page.next; ++number) {
        const TraceRecord& record = journal_.at(number);
        page.records.push_back({record, table.gpu_ids_of(record.nodes)});
    }
    return page;
}

} // namespace xpreemptd
