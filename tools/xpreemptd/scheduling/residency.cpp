// SPDX-License-Identifier: MIT
// Chooses who enters VRAM, and who leaves it for that.
#include "scheduling/residency.hpp"

#include <algorithm>
#include <tuple>

namespace xpreemptd {

namespace {

// By then the memory of each process has been read anew.
constexpr std::chrono::seconds stranded_after{10};

std::uint64_t bytes(const MemoryView& memory, std::uint64_t GpuBytes::* which) {
    std::uint64_t sum = 0;
    for (const GpuBytes& of : memory.on)
        sum += of.*which;
    return sum;
}

std::uint64_t resident_on(const MemoryView& memory, std::uint32_t gpu) {
    const auto found = std::ranges::find(memory.on, gpu, &GpuBytes::gpu);
    return found == memory.on.end() ? 0 : found->resident;
}

bool is_over_limit(const MemoryView& memory) {
    return std::ranges::any_of(
        memory.on, [&](const GpuBytes& of) { return of.resident + of.away > memory.limit; });
}

// An allocation that waits would bring the job above its limit: no other job leaves for it.
bool claims_too_much(const MemoryView& memory) {
    return std::ranges::any_of(memory.on, [&](const GpuBytes& of) {
        return of.wanted != 0 && of.resident + of.away + of.wanted > memory.limit;
    });
}

bool share_a_gpu(const MemoryView& a, const MemoryView& b) {
    return std::ranges::any_of(a.on, [&](const GpuBytes& of) {
        return std::ranges::find(b.on, of.gpu, &GpuBytes::gpu) != b.on.end();
    });
}

std::uint64_t to_allocate(const GpuBytes& on) {
    return on.wanted;
}

std::uint64_t to_return(const GpuBytes& on) {
    return on.away;
}

std::uint64_t to_enter(const GpuBytes& on) {
    return on.away + on.wanted;
}

// Those on the way out, or on the way in, change what is free.
bool meets_a_move(const auto& jobs, const MemoryView& memory) {
    return std::ranges::any_of(jobs, [&](const auto& other) {
        return other.memory.moving && share_a_gpu(other.memory, memory);
    });
}

// Whether there would be room if all jobs left for which leaves() is true.
bool fits_without(const auto& jobs, const MemoryView& memory, const auto& needed, const auto& free,
                  const auto& leaves) {
    return std::ranges::all_of(memory.on, [&](const GpuBytes& on) {
        std::uint64_t room = needed(on) == 0 ? 0 : free(on.gpu);
        for (const auto& other : jobs)
            if (other.memory.moving || other.state.leaves || leaves(other))
                room += resident_on(other.memory, on.gpu);
        return room >= needed(on);
    });
}

} // namespace

Residency::Jobs Residency::note(const sched::Snapshot& snapshot,
                                std::span<const MemoryView> memory) {
    std::map<std::uint64_t, State> states;
    Jobs jobs;
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
        const sched::JobView& view = snapshot.jobs[i];
        const auto known = states_.find(view.id);
        State& state = states[view.id];
        if (known == states_.end())
            state.since = state.idle_since = snapshot.now;
        else
            state = known->second;
        if (state.ready && !view.ready)
            state.idle_since = snapshot.now;
        state.ready = view.ready;
        state.leaves = false;
        const bool is_there = !memory[i].moving && bytes(memory[i], &GpuBytes::away) == 0;
        // It had nothing to take away, or an operator has brought it back.
        if (view.ready && is_there)
            state.is_away = false;
        // A wait of before counts no longer.
        if (is_there || !view.schedulable())
            state.stuck_since = Time::max();
        state.stranded = state.stranded && !is_there;
        jobs.push_back({view, memory[i], state});
    }
    states_ = std::move(states); // its elements keep their addresses
    return jobs;
}

// Time::max(): not for that job.
Time Residency::may_leave_at(const Job& job, const Job& for_job, Time now) const {
    const sched::JobView& view = job.view;
    if (view.id == for_job.view.id || !job.memory.may_leave || job.memory.moving ||
        job.state.leaves || view.held_by_others || view.announced(now))
        return Time::max();
    const bool is_higher = view.band < for_job.view.band;
    if (is_higher && view.ready && !is_over_limit(job.memory))
        return Time::max();
    if (view.band > for_job.view.band)
        return job.state.rests_until;
    const sched::Duration stay =
        std::max(parameters_.least_stay, job.memory.last_moves * parameters_.stay);
    const bool idle_counts = is_higher && !view.ready;
    const Time from =
        idle_counts ? std::max(job.state.since, job.state.idle_since) : job.state.since;
    return std::max(from + stay, job.state.rests_until);
}

// The first is the first to leave.
std::vector<const Residency::Job*> Residency::who_may_leave(const Jobs& jobs, const Job& for_job,
                                                            ResidencyPlan& plan, Time now) const {
    std::vector<const Job*> may;
    for (const Job& job : jobs) {
        if (!share_a_gpu(job.memory, for_job.memory))
            continue;
        const Time at = may_leave_at(job, for_job, now);
        if (at <= now)
            may.push_back(&job);
        else
            plan.next = std::min(plan.next, at);
    }
    std::ranges::sort(may, {}, [](const Job* job) {
        return std::tuple(!is_over_limit(job->memory), job->view.ready,
                          -static_cast<int>(job->view.band), job->view.priority,
                          job->view.ready ? job->state.since : job->state.idle_since, job->view.id);
    });
    return may;
}

// False: there isn't enough, whoever leaves now.
bool Residency::make_room(const Jobs& jobs, const Job& entering, const FreeBytes& free,
                          ResidencyPlan& plan, Time now) const {
    const std::vector<const Job*> may = who_may_leave(jobs, entering, plan, now);
    std::vector<const Job*> leave;
    for (const GpuBytes& on : entering.memory.on) {
        const std::uint64_t needed = on.away + on.wanted;
        std::uint64_t room = needed == 0 ? 0 : free(on.gpu);
        for (const Job* job : leave)
            room += resident_on(job->memory, on.gpu);
        for (const Job* job : may) {
            if (room >= needed)
                break;
            const std::uint64_t gained = resident_on(job->memory, on.gpu);
            if (gained == 0 || std::ranges::find(leave, job) != leave.end())
                continue;
            leave.push_back(job);
            room += gained;
        }
        if (room < needed)
            return false;
    }
    Exchange exchange{{}, entering.view.id};
    for (const Job* job : leave) {
        job->state.leaves = true;
        exchange.leave.push_back(job->view.id);
    }
    plan.exchanges.push_back(std::move(exchange));
    return true;
}

// Whether there would be room without those that leave for it now, or after their stay in VRAM.
bool Residency::fits_soon(const Jobs& jobs, const Job& job, const FreeBytes& free, Time now) const {
    return !claims_too_much(job.memory) &&
           fits_without(jobs, job.memory, to_enter, free, [&](const Job& other) {
               return may_leave_at(other, job, now) != Time::max();
           });
}

// Whether there would be room without all that may leave: a more important job that works now, or
// that an operator holds, leaves later.
bool Residency::fits_ever(const Jobs& jobs, const Job& job, Needed needed,
                          const FreeBytes& free) const {
    return fits_without(jobs, job.memory, needed, free, [&](const Job& other) {
        return other.view.id != job.view.id && other.memory.may_leave;
    });
}

void Residency::find_stranded(const Jobs& jobs, const Job& job, const FreeBytes& free,
                              ResidencyPlan& plan, Time now) const {
    if (job.state.stranded)
        return;
    const bool waits = bytes(job.memory, &GpuBytes::away) != 0 && !job.state.enters;
    if (!waits || fits_ever(jobs, job, to_return, free)) {
        job.state.stuck_since = Time::max();
        return;
    }
    job.state.stuck_since = std::min(job.state.stuck_since, now);
    const Time report_at = job.state.stuck_since + stranded_after;
    if (report_at > now) {
        plan.next = std::min(plan.next, report_at);
        return;
    }
    job.state.stranded = true;
    plan.stranded.push_back(job.view.id);
}

void Residency::park(const Jobs& jobs, ResidencyPlan& plan, Time now) const {
    for (const Job& job : jobs) {
        if (job.memory.park_after == sched::Duration::max() || job.view.ready ||
            job.view.held_by_others || job.view.announced(now) || !job.memory.may_leave ||
            job.memory.moving || job.state.leaves || job.state.is_away ||
            bytes(job.memory, &GpuBytes::resident) == 0)
            continue;
        const Time at =
            std::max(job.state.idle_since + job.memory.park_after, job.state.rests_until);
        if (at > now) {
            plan.next = std::min(plan.next, at);
            continue;
        }
        job.state.leaves = true;
        plan.exchanges.push_back({{job.view.id}, 0});
    }
}

ResidencyPlan Residency::decide(const sched::Snapshot& snapshot, std::span<const MemoryView> memory,
                                const FreeBytes& free) {
    const Time now = snapshot.now;
    ResidencyPlan plan;
    const Jobs jobs = note(snapshot, memory);

    // A job that waits for longer comes first on each GPU, also while there is no room for it yet.
    // If there can be none, it lets others pass.
    std::vector<const Job*> waiting;
    for (const Job& job : jobs)
        if (!job.memory.moving && !job.state.enters &&
            (bytes(job.memory, &GpuBytes::wanted) != 0 ||
             (bytes(job.memory, &GpuBytes::away) != 0 &&
              (job.view.schedulable() || job.view.announced(now)))))
            waiting.push_back(&job);
    std::ranges::sort(waiting, {}, [](const Job* job) {
        const bool allocates = bytes(job->memory, &GpuBytes::wanted) != 0;
        return std::tuple(job->view.band, -job->view.priority,
                          allocates ? job->memory.wanted_since : job->view.ready_since,
                          job->view.id);
    });
    for (auto at = waiting.begin(); at != waiting.end(); ++at) {
        const Job& job = **at;
        const bool queues = std::any_of(waiting.begin(), at, [&](const Job* before) {
            return share_a_gpu(before->memory, job.memory) &&
                   (before->state.enters || fits_soon(jobs, *before, free, now));
        });
        if (job.state.rests_until > now)
            plan.next = std::min(plan.next, job.state.rests_until);
        else if (!queues && !meets_a_move(jobs, job.memory) && !claims_too_much(job.memory))
            job.state.enters = make_room(jobs, job, free, plan, now);
        find_stranded(jobs, job, free, plan, now);
        if (job.state.enters || bytes(job.memory, &GpuBytes::wanted) == 0)
            continue;
        const Time end = job.memory.wanted_since + parameters_.longest_wait;
        const Time all_known = job.memory.wanted_since + parameters_.known_after;
        const bool hopeless =
            claims_too_much(job.memory) || !fits_ever(jobs, job, to_allocate, free);
        if (end <= now || (hopeless && all_known <= now))
            plan.hopeless.push_back(job.view.id);
        else
            plan.next = std::min(plan.next, hopeless ? all_known : end);
    }
    park(jobs, plan, now);

    for (const Job& job : jobs) {
        job.state.is_away = job.state.is_away || job.state.leaves;
        // An operator who has sent memory away also brings it back.
        const bool is_away = bytes(job.memory, &GpuBytes::away) != 0 && !job.view.held_by_others &&
                             (job.state.is_away || job.view.ready);
        plan.out.push_back(job.memory.moving || job.state.leaves || is_away);
    }
    return plan;
}

void Residency::left(std::uint64_t id, bool all, Time now) {
    const auto found = states_.find(id);
    if (found == states_.end())
        return;
    found->second.is_away = all;
    found->second.rests_until = all ? Time{} : now + parameters_.retry;
}

void Residency::entered(std::uint64_t id, bool all, Time now) {
    const auto found = states_.find(id);
    if (found == states_.end())
        return;
    State& state = found->second;
    state.is_away = !all;
    state.enters = false;
    if (all)
        state.since = now;
    state.rests_until = all ? Time{} : now + parameters_.retry;
}

} // namespace xpreemptd
