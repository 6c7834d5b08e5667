// SPDX-License-Identifier: MIT
// Processor sharing of what is mapped, the runlist's turns, and the calls of the driver.
#include "gpu.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sim {

namespace {

constexpr std::uint64_t bit_of(std::size_t node) {
    return std::uint64_t{1} << node;
}

} // namespace

Gpu::Gpu(const GpuModel& model, std::span<const JobSpec> jobs)
    : model_(model), jobs_(jobs.size()), nodes_(model.nodes),
      processes_(model.processes == 0 ? model.vmids : std::min(model.processes, model.vmids)) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs_[i].spec = &jobs[i];
        jobs_[i].left.assign(jobs[i].streams, -1);
        for (std::uint64_t left = jobs[i].nodes; left != 0; left &= left - 1)
            nodes_[static_cast<std::size_t>(std::countr_zero(left))].jobs.push_back(i);
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        Node& node = nodes_[n];
        std::uint32_t queues = 0, processes = 0;
        for (const std::size_t job : node.jobs) {
            queues += jobs_[job].spec->queues;
            processes += jobs_[job].spec->processes;
        }
        node.has_room = !model_.hws || (queues <= model_.slots && processes <= processes_);
        full_nodes_ |= node.has_room ? 0 : bit_of(n);
        node.turns.assign(node.jobs.size(), 0);
        for (const std::size_t job : node.jobs)
            jobs_[job].mapped |= node.has_room ? bit_of(n) : 0;
    }
}

Time Gpu::save_time(double occupancy) const {
    return round_time(std::min(occupancy, 1.0) * model_.state_mb * 1e6 / model_.save_gb_s);
}

void Gpu::reset_usage() {
    for (Job& job : jobs_) {
        job.usage = {};
        if (job.waits_since != never)
            job.waits_since = last_;
    }
}

void Gpu::advance(Time now) {
    const auto passed = static_cast<double>(now - last_);
    if (now == last_)
        return;
    for (Job& job : jobs_) {
        if (job.waits_since != never) {
            job.usage.stopped += now - last_;
            job.usage.longest_wait = std::max(job.usage.longest_wait, now - job.waits_since);
        }
        if (job.rate <= 0)
            continue;
        const double work = passed * job.rate;
        for (const std::uint32_t stream : job.streams)
            job.left[stream] -= work;
        job.usage.work += work * static_cast<double>(job.streams.size());
    }
    last_ = now;
}

// Kernels of a gang that is stopped on another node spin, and take their part.
void Gpu::set_rates(Time now) {
    const auto able = [&](const Job& job, std::size_t node) {
        return wants(job, bit_of(node)) && (job.mapped & bit_of(node)) != 0 &&
               job.paused_until <= now;
    };
    for (Job& job : jobs_)
        job.rate = job.busy() ? 1 : 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
        const Node& node = nodes_[n];
        const bool paused = node.paused_until > now;
        double demand = 0;
        for (const std::size_t job : node.jobs)
            if (!paused && able(jobs_[job], n))
                demand += jobs_[job].spec->demand * static_cast<double>(jobs_[job].streams.size());
        const double speed = demand <= model_.capacity ? 1 : model_.capacity / demand;
        for (const std::size_t job : node.jobs)
            jobs_[job].rate =
                std::min(jobs_[job].rate, !paused && able(jobs_[job], n) ? speed : 0.0);
    }
    kernel_end_ = never;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        Job& job = jobs_[i];
        if (job.busy() && job.rate <= 0)
            job.waits_since = std::min(job.waits_since, now);
        else
            job.waits_since = never;
        if (job.rate <= 0)
            continue;
        for (std::size_t at = 0; at < job.streams.size(); ++at) {
            const double left = std::max(job.left[job.streams[at]], 0.0);
            const Time end = now + std::min(ceil_time(left / job.rate), never / 2);
            if (end < kernel_end_) {
                kernel_end_ = end;
                ending_job_ = i;
                ending_at_ = at;
            }
        }
    }
}

void Gpu::plan(Time now) {
    set_rates(now);
    next_ = to_fill_ != 0 ? now : std::min(kernel_end_, call_next_);
    for (const Node& node : nodes_) {
        if (node.paused_until > now)
            next_ = std::min(next_, node.paused_until);
        next_ = std::min(next_, std::max(node.rotation, node.paused_until));
    }
    for (const Job& job : jobs_)
        if (job.paused_until > now)
            next_ = std::min(next_, job.paused_until);
}

bool Gpu::Room::take(const JobSpec& job) {
    // A job that doesn't fit alone is mapped alone.
    if (any && (job.queues > queues || job.processes > processes))
        return false;
    any = true;
    queues -= std::min(queues, job.queues);
    processes -= std::min(processes, job.processes);
    return true;
}

// Maps jobs with work while there is room, first those whose last turn is longest ago. Returns
// false if one is left.
bool Gpu::map_some(std::size_t n, Room room, Time paused_for) {
    Node& node = nodes_[n];
    for (;;) {
        std::size_t first = node.jobs.size();
        for (std::size_t at = 0; at < node.jobs.size(); ++at) {
            const Job& job = jobs_[node.jobs[at]];
            if (wants(job, bit_of(n)) && (job.mapped & bit_of(n)) == 0 &&
                (first == node.jobs.size() || node.turns[at] < node.turns[first]))
                first = at;
        }
        if (first == node.jobs.size())
            return true;
        Job& job = jobs_[node.jobs[first]];
        if (!room.take(*job.spec))
            return false;
        job.mapped |= bit_of(n);
        node.turns[first] = ++node.turn;
        if (paused_for == never)
            continue;
        const bool saved = (job.saved & bit_of(n)) != 0;
        job.paused_until = std::max(
            job.paused_until, paused_for + (saved ? save_time(job.spec->occupancy) : Time{0}));
        job.saved &= ~bit_of(n);
    }
}

// A job that got work, or that another one made room for.
void Gpu::fill(std::size_t n, Time paused_for, Time now) {
    Node& node = nodes_[n];
    if (node.has_room)
        return;
    to_fill_ &= ~bit_of(n);
    Room room{model_.slots, processes_};
    for (const std::size_t job : node.jobs) {
        if (!wants(jobs_[job], bit_of(n)))
            jobs_[job].mapped &= ~bit_of(n);
        if ((jobs_[job].mapped & bit_of(n)) != 0)
            (void)room.take(*jobs_[job].spec);
    }
    if (map_some(n, room, paused_for))
        node.rotation = never;
    else if (node.rotation == never)
        node.rotation = now + model_.quantum;
}

// Saves the waves of all jobs that run. Returns the part of the GPU that they take.
double Gpu::save_all(std::size_t n) {
    double occupied = 0;
    for (const std::size_t i : nodes_[n].jobs) {
        Job& job = jobs_[i];
        if (!wants(job, bit_of(n)) || (job.mapped & bit_of(n)) == 0)
            continue;
        occupied += job.spec->occupancy;
        job.saved |= bit_of(n);
        job.saves += job.busy_queues();
    }
    return occupied;
}

double Gpu::restore_mapped(std::size_t n) {
    double occupied = 0;
    for (const std::size_t i : nodes_[n].jobs) {
        Job& job = jobs_[i];
        if (!wants(job, bit_of(n)) || (job.mapped & job.saved & bit_of(n)) == 0)
            continue;
        occupied += job.spec->occupancy;
        job.saved &= ~bit_of(n);
    }
    return occupied;
}

void Gpu::rotate(std::size_t n, Time now) {
    Node& node = nodes_[n];
    const Time save = save_time(save_all(n));
    for (const std::size_t job : node.jobs)
        jobs_[job].mapped &= ~bit_of(n);
    const bool all = map_some(n, Room{model_.slots, processes_}, never);
    node.paused_until = now + model_.remap + save + save_time(restore_mapped(n));
    node.rotation = all ? never : node.paused_until + model_.quantum;
}

void Gpu::switch_node(std::size_t n, Time now) {
    Node& node = nodes_[n];
    const Time save = save_time(save_all(n));
    for (const Change& change : call_) {
        Job& job = jobs_[change.job];
        job.held = change.stop ? job.held | (job.spec->nodes & bit_of(n)) : job.held & ~bit_of(n);
    }
    fill(n, never, now);
    ++runlists_;
    node.paused_until = now + model_.remap + save + save_time(restore_mapped(n));
}

// Without HWS: stops, then resumes; other jobs aren't affected.
Time Gpu::switch_queues(Time now) {
    Time at = now;
    for (const bool stop : {true, false})
        for (const Change& change : call_) {
            if (change.stop != stop)
                continue;
            Job& job = jobs_[change.job];
            const bool has_waves = stop ? job.busy() && job.held == 0 : job.saved != 0;
            at += model_.dequeue + (has_waves ? save_time(job.spec->occupancy) : Time{0});
            job.saves += stop && has_waves ? job.busy_queues() : 0;
            job.held = stop ? job.spec->nodes : 0;
            job.saved = stop && has_waves ? job.spec->nodes : 0;
            if (!stop)
                job.paused_until = at;
        }
    return at;
}

void Gpu::begin_call(std::span<const Change> changes, Time now) {
    advance(now);
    call_.assign(changes.begin(), changes.end());
    call_nodes_ = 0;
    for (const Change& change : changes)
        call_nodes_ |= jobs_[change.job].spec->nodes;
    in_call_ = true;
    call_began_ = now;
    call_next_ = now + model_.ioctl;
    plan(now);
}

void Gpu::continue_call(Time now) {
    if (call_nodes_ == 0) {
        in_call_ = false;
        call_took_ = now - call_began_;
        call_next_ = never;
        return;
    }
    if (!model_.hws) {
        call_nodes_ = 0;
        call_next_ = switch_queues(now);
        return;
    }
    const auto n = static_cast<std::size_t>(std::countr_zero(call_nodes_));
    if (nodes_[n].paused_until <= now) {
        switch_node(n, now);
        call_nodes_ &= call_nodes_ - 1;
    }
    call_next_ = nodes_[n].paused_until;
}

void Gpu::fill_nodes(std::uint64_t nodes, Time now) {
    for (; nodes != 0; nodes &= nodes - 1)
        fill(static_cast<std::size_t>(std::countr_zero(nodes)), now + model_.remap, now);
}

void Gpu::submit(std::size_t index, std::uint32_t stream, double work, Time now) {
    advance(now);
    Job& job = jobs_[index];
    job.left[stream] = work;
    job.streams.push_back(stream);
    fill_nodes(std::exchange(to_fill_, 0) | (job.spec->nodes & full_nodes_), now);
    plan(now);
}

void Gpu::on_time(Time now) {
    advance(now);
    has_done_ = kernel_end_ <= now;
    if (has_done_) {
        Job& job = jobs_[ending_job_];
        done_ = {ending_job_, job.streams[ending_at_]};
        job.left[done_.stream] = -1;
        job.streams[ending_at_] = job.streams.back();
        job.streams.pop_back();
        // Later: the next kernel may have been in the queue.
        to_fill_ |= job.busy() ? 0 : job.spec->nodes & full_nodes_;
    } else if (to_fill_ != 0) {
        fill_nodes(std::exchange(to_fill_, 0), now);
    } else if (call_next_ <= now) {
        continue_call(now);
    } else {
        for (std::size_t n = 0; n < nodes_.size(); ++n)
            if (nodes_[n].rotation <= now && nodes_[n].paused_until <= now)
                rotate(n, now);
    }
    plan(now);
}

} // namespace sim
