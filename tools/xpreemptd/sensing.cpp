// SPDX-License-Identifier: MIT
// Scans, events and polls; each ends by arming what is idle.
#include "sensing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace xpreemptd {

namespace {

constexpr std::size_t events_at_once = 64;

bool is_gone(const xpreempt::Error& error) {
    return error.errno_value == ENOENT || error.errno_value == ESRCH;
}

} // namespace

void Sensing::note(Job& job, Queue& queue, const QueueReading& reading) {
    queue.uid = reading.uid;
    queue.doorbell = reading.doorbell;
    // A queue whose memory could not be read keeps its state: it is busy until it was read once.
    if (reading.known)
        queue.busy = reading.busy;
    // We hold it no more though we did not resume it: an operator has, by force.
    if (queue.held && !reading.held) {
        queue.held = false;
        job.overruled = true;
    }
    queue.held_by_others = reading.held && !queue.held;
}

void Sensing::look(Job& job, Process& process, Which which) {
    bool changed = false;
    for (Queue& queue : process.queues) {
        if (which == Which::running && (!queue.busy || queue.held))
            continue;
        const auto reading = provider_.read(process.facts.pid, queue.id);
        if (reading) {
            // The id is another queue's by now.
            changed = changed || (queue.uid != 0 && queue.uid != reading->uid);
            note(job, queue, *reading);
        } else if (is_gone(reading.error())) {
            changed = true;
        } else if (reading.error().errno_value == EPERM) {
            queue.refusal = "not allowed: run xpreemptd as root";
            queue.busy = false;
        }
    }
    if (changed)
        (void)find_queues(process);
}

// sysfs has the queues. Those that stay keep their state.
bool Sensing::find_queues(Process& process) {
    const auto found = provider_.queues_of(process.facts.pid);
    if (!found)
        return false; // the process ends
    std::vector<Queue> queues;
    bool changed = found->size() != process.queues.size();
    for (const QueueFound& of_driver : *found) {
        const auto reading = provider_.read(process.facts.pid, of_driver.id);
        const auto known = std::ranges::find_if(process.queues, [&](const Queue& queue) {
            return queue.id == of_driver.id && (!reading || queue.uid == reading->uid);
        });
        if (known != process.queues.end()) {
            queues.push_back(*known);
        } else {
            changed = true;
            queues.push_back({of_driver.id, of_driver.gpu_id, of_driver.compute});
        }
        if (reading)
            note(*table_.find(process.cookie).job, queues.back(), *reading);
    }
    process.queues = std::move(queues);
    return changed;
}

void Sensing::add(pid_t pid) {
    auto facts = facts_(pid);
    if (!facts)
        return; // it ends; the next scan asks again if not
    const Member member = table_.add(std::move(*facts));
    if (auto id = provider_.watch(pid, member.process->cookie))
        member.process->watch_id = *id;
    else
        member.process->blind = true;
    (void)find_queues(*member.process);
}

void Sensing::remove(const Member& member) {
    if (member.process->watch_id)
        provider_.unwatch(*member.process->watch_id);
    table_.remove(member.process->cookie);
}

// True if another process has its pid by now. A watched process has an event for its end.
bool Sensing::is_replaced(const Process& process) const {
    if (process.watch_id)
        return false;
    const auto facts = facts_(process.facts.pid);
    return facts && facts->start_ticks != process.facts.start_ticks;
}

bool Sensing::find_processes() {
    const auto pids = provider_.processes();
    if (!pids)
        return false;
    bool changed = false;
    std::vector<Member> gone;
    for (const auto& job : table_.jobs())
        for (const auto& process : job->processes)
            if (!std::ranges::binary_search(*pids, process->facts.pid) || is_replaced(*process))
                gone.push_back({job.get(), process.get()});
    for (const Member& member : gone)
        remove(member);
    for (const pid_t pid : *pids)
        if (table_.find_pid(pid).process == nullptr) {
            add(pid);
            changed = true;
        }
    return changed || !gone.empty();
}

// One call for all that match; the answers are in arming_. False: there are none.
bool Sensing::arm_each(bool (*matches)(const Process&)) {
    arming_.clear();
    armed_members_.clear();
    for (const auto& job : table_.jobs())
        for (const auto& process : job->processes)
            if (matches(*process)) {
                arming_.push_back({.watch_id = *process->watch_id});
                armed_members_.push_back({job.get(), process.get()});
            }
    return !arming_.empty() && provider_.arm(arming_);
}

// Work that made no event: a GPU has rung.
void Sensing::audit_armed() {
    if (!arm_each([](const Process& process) { return process.armed; }))
        return;
    for (std::size_t i = 0; i < arming_.size(); ++i) {
        if (!arming_[i].busy)
            continue;
        Process& process = *armed_members_[i].process;
        look(*armed_members_[i].job, process, Which::all);
        if (process.busy()) {
            process.armed = false;
            ++counts_.late_edges;
        }
    }
}

bool Sensing::scan(Time now) {
    bool due = find_processes();
    // Those of an armed process come and go with events.
    for (const auto& job : table_.jobs())
        for (const auto& process : job->processes)
            if (!process->armed && find_queues(*process))
                due = true;
    audit_armed();
    return poll(now) || due;
}

void Sensing::poll_job(Job& job) {
    for (const auto& process : job.processes) {
        if (process->armed)
            continue;
        look(job, *process, process->look_once ? Which::all : Which::running);
        process->look_once = false;
        // Work may have come to another queue of it.
        if (!process->busy())
            look(job, *process, Which::all);
    }
}

bool Sensing::poll(Time now) {
    for (const auto& job : table_.jobs())
        poll_job(*job);
    arm_idle();
    return update_jobs(now);
}

bool Sensing::look_at(Job& job, Time now) {
    poll_job(job);
    arm_idle();
    return update_jobs(now);
}

void Sensing::arm_idle() {
    if (!arm_each([](const Process& process) {
            return !process.armed && process.watch_id && !process.busy();
        }))
        return;
    for (std::size_t i = 0; i < arming_.size(); ++i) {
        Process& process = *armed_members_[i].process;
        process.blind = arming_[i].blind;
        process.armed = arming_[i].result == 0 && !arming_[i].blind;
        if (!process.armed || !arming_[i].busy)
            continue;
        // Work came between the look and the call: see it now, not at the next poll. Where the
        // queue was only not at hand, the process stays armed.
        look(*armed_members_[i].job, process, Which::all);
        process.armed = !process.busy();
    }
}

bool Sensing::update_jobs(Time now) {
    bool edge = false;
    for (const auto& job : table_.jobs())
        edge = JobTable::update_ready(*job, now) || edge;
    return edge;
}

void Sensing::look_at_rung(Job& job, Process& process, const Event& event) {
    const auto rung = std::ranges::find_if(process.queues, [&](const Queue& queue) {
        return queue.gpu_id == event.gpu_id && queue.doorbell == event.doorbell && queue.uid != 0;
    });
    if (rung != process.queues.end()) {
        if (const auto reading = provider_.read(process.facts.pid, rung->id);
            reading && reading->uid == rung->uid)
            note(job, *rung, *reading);
        if (rung->busy)
            return;
    } else {
        (void)find_queues(process);
    }
    look(job, process, Which::all);
}

bool Sensing::take(const Event& event, Time now) {
    const Member member = table_.find(event.cookie);
    if (member.process == nullptr)
        return false;
    switch (event.kind) {
    case EventKind::exited: remove(member); return true;
    case EventKind::queues_changed:
        member.process->armed = false;
        return find_queues(*member.process);
    case EventKind::rang: break;
    }
    member.process->armed = false;
    look_at_rung(*member.job, *member.process, event);
    if (member.process->busy()) {
        ++counts_.edges;
        if (!last_ring_) {
            last_ring_ = event.when;
            last_rung_ = member.job->id;
        }
    } else {
        ++counts_.spurious;
    }
    // The time of the ring, not that of its discovery, unless the clock says otherwise.
    return JobTable::update_ready(*member.job, std::min(event.when, now));
}

bool Sensing::take_events(Time now) {
    std::array<Event, events_at_once> events{};
    bool due = false;
    last_ring_.reset();
    for (;;) {
        const auto count = provider_.take_events(events);
        if (!count || *count == 0)
            break;
        for (const Event& event : std::span(events).first(*count))
            due = take(event, now) || due;
        if (*count < events.size())
            break;
    }
    // A ring without work is armed again by the next poll: a program that rings in a loop must not
    // keep us busy.
    return due;
}

} // namespace xpreemptd
