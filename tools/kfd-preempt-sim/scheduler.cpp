// SPDX-License-Identifier: MIT
// Edges become a snapshot, verdicts become a call of the driver.
#include "scheduler.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sim {

namespace {

constexpr double p99_in_sigmas = 2.3263; // of a normal distribution

sched::Time clock_time(Time now) {
    return sched::Time(sched::Duration(now));
}

} // namespace

Scheduler::Scheduler(const Scenario& scenario, std::span<const JobSpec> jobs, sched::Policy policy,
                     Gpu& gpu)
    : model_(scenario.gpu), jobs_(jobs), policy_(std::move(policy)), gpu_(gpu),
      random_(scenario.seed, "/sensing"), views_(jobs.size()), verdicts_(jobs.size()),
      seen_(jobs.size()), counts_(jobs.size()) {
    const bool trap = model_.sensing == Sensing::trap;
    median_ = static_cast<double>(trap ? model_.trap_p50 : model_.poll_p50);
    const auto p99 = static_cast<double>(trap ? model_.trap_p99 : model_.poll_p99);
    sigma_ = median_ > 0 ? std::log(p99 / median_) / p99_in_sigmas : 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        sched::JobView& view = views_[i];
        view.id = i + 1;
        view.nodes = jobs[i].nodes;
#define JOB_ATTRIBUTE(kind, name, least, most, initial, field, ...) view.field = jobs[i].name;
#define ATTRIBUTE JOB_ATTRIBUTE
#define VIEW_ATTRIBUTE(type, field, initial) view.field = jobs[i].field;
#include "base/attributes.def"
    }
}

void Scheduler::reset_counts() {
    counts_.assign(counts_.size(), {});
}

void Scheduler::on_work(std::size_t job, Time now) {
    Seen& seen = seen_[job];
    if (!seen.armed)
        return;
    seen.armed = false;
    seen.rang = now;
    seen.rings_at = now + round_time(median_ > 0 ? random_.lognormal(median_, sigma_) : 0);
    next_ring_ = std::min(next_ring_, seen.rings_at);
}

void Scheduler::on_announcement(std::size_t job, Time now, Time until) {
    views_[job].soon_since = clock_time(now);
    views_[job].soon_until = clock_time(until);
    due_ = true;
}

Time Scheduler::next() const {
    if (gpu_.in_call())
        return never;
    return due_ ? 0 : std::min({next_ring_, next_poll_, timer_});
}

void Scheduler::become_ready(std::size_t job, Time since) {
    sched::JobView& view = views_[job];
    view.ready = true;
    view.ready_since = clock_time(since);
    ++view.ready_edges;
    ++counts_[job].edges;
    view.soon_until = {};
}

bool Scheduler::take_rings(Time now) {
    bool edge = false;
    next_ring_ = never;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        Seen& seen = seen_[i];
        if (seen.rings_at > now) {
            next_ring_ = std::min(next_ring_, seen.rings_at);
            continue;
        }
        seen.rings_at = never;
        if (!gpu_.is_busy(i))
            continue; // it has ended already; the next poll arms the job
        become_ready(i, seen.rang);
        edge = true;
    }
    return edge;
}

// Returns true if a job is idle now, or has got work that made no edge.
bool Scheduler::poll(Time now) {
    bool edge = false;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        if (seen_[i].armed || seen_[i].rings_at != never)
            continue;
        const bool busy = gpu_.is_busy(i);
        seen_[i].armed = !busy;
        if (busy == views_[i].ready)
            continue;
        if (busy)
            become_ready(i, now);
        views_[i].ready = busy;
        edge = true;
    }
    return edge;
}

// As the daemon's: soon while a decision depends on it.
void Scheduler::plan_poll(Time now) {
    std::size_t ready = 0;
    bool polled = false, to_arm = false;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
        ready += views_[i].ready ? 1U : 0U;
        const bool watched = seen_[i].armed || seen_[i].rings_at != never;
        polled = polled || !watched;
        to_arm = to_arm || (!watched && !views_[i].ready);
    }
    if (!polled)
        next_poll_ = never;
    else
        next_poll_ = now + (ready > 1 || to_arm ? model_.hurried_poll : model_.calm_poll);
}

// A preemption is for the most important job that runs on the nodes of one that is stopped.
void Scheduler::count() {
    std::size_t first = jobs_.size();
    for (const Gpu::Change& change : changes_) {
        if (!change.stop)
            continue;
        ++counts_[change.job].stops;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            const sched::JobView& view = views_[i];
            if (verdicts_[i] != sched::Verdict::run || (view.nodes & views_[change.job].nodes) == 0)
                continue;
            if (!view.ready && view.soon_until == sched::Time{})
                continue;
            if (first == jobs_.size() ||
                std::tuple(view.band, -view.priority) <
                    std::tuple(views_[first].band, -views_[first].priority))
                first = i;
        }
    }
    if (first != jobs_.size())
        ++counts_[first].preemptions;
}

void Scheduler::note_cost() {
    if (!std::exchange(cost_noted_, true) && model_.measure_switches)
        cost_.note(std::ranges::any_of(changes_, &Gpu::Change::stop),
                   sched::Duration(gpu_.call_took()));
}

void Scheduler::decide(Time now) {
    due_ = false;
    note_cost();
    for (std::size_t i = 0; i < views_.size(); ++i)
        views_[i].held = gpu_.is_held(i);
    std::ranges::fill(verdicts_, sched::Verdict::run);
    const sched::Time next =
        sched::decide(policy_, {clock_time(now), views_, cost_.value()}, verdicts_);
    if (const sched::PluginFault* const fault = sched::fault_of(policy_))
        fault_ = fault->text();
    timer_ = next == sched::at_next_event ? never : next.time_since_epoch().count();
    timer_ = std::max(timer_, now + 1);
    changes_.clear();
    for (std::size_t i = 0; i < views_.size(); ++i)
        if (const bool stop = verdicts_[i] == sched::Verdict::hold; stop != views_[i].held)
            changes_.push_back({i, stop});
    if (changes_.empty())
        return;
    count();
    if (keeps_calls_)
        calls_.push_back({now, changes_});
    gpu_.begin_call(changes_, now);
    cost_noted_ = false;
}

void Scheduler::on_time(Time now) {
    bool edge = next_ring_ <= now && take_rings(now);
    const bool polls = next_poll_ <= now;
    edge = (polls && poll(now)) || edge;
    const bool decides = edge || due_ || timer_ <= now;
    if (decides)
        decide(now);
    if (decides || polls || next_poll_ == never)
        plan_poll(now);
}

} // namespace sim
