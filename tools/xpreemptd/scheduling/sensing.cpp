// SPDX-License-Identifier: MIT
// Scans, events and polls; a poll ends by arming what is idle.
#include "scheduling/sensing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace xpreemptd {

namespace {

constexpr std::size_t events_at_once = 16;
// Processes in one call of ARM.
constexpr std::size_t armed_at_once = 64;
// Between two calls of ARM for rings without work, and how many times as long as the rings and the
// call took.
constexpr std::chrono::microseconds least_rearm_rest{100};
constexpr std::chrono::seconds longest_rearm_rest{1};
constexpr int rearm_rest = 9;
// Queues of one process in one visit.
constexpr std::size_t described_at_once = 16;

bool is_gone(const xpreempt::Error& error) {
    return error.errno_value == ENOENT || error.errno_value == ESRCH;
}

// A program may give the signal of its last packet back once that is done, and the memory may be
// another signal later, which says nothing of this queue.
void note_busy(Queue& queue, const QueueReading& reading) {
    queue.busy = reading.busy && !(reading.by_signal && queue.done == reading.packets);
    if (!queue.busy)
        queue.done = reading.packets;
}

} // namespace

void Sensing::note(Job& job, Queue& queue, const QueueReading& reading) {
    if (queue.uid != reading.uid)
        queue.done = std::nullopt;
    queue.uid = reading.uid;
    queue.doorbell = reading.doorbell;
    // A queue whose memory couldn't be read keeps its state: it is busy until it was read once.
    if (reading.known)
        note_busy(queue, reading);
    // We hold it no more though we didn't resume it: an operator has, by force.
    if (queue.held && !reading.held) {
        queue.held = false;
        job.overruled = true;
    }
    const bool held_by_others = reading.held && !queue.held;
    others_changed_ = others_changed_ || held_by_others != queue.held_by_others;
    queue.held_by_others = held_by_others;
    queue.held_by_programs = reading.by_programs && !queue.held;
    queue.away = reading.away;
}

// One that is locked has the queues and the work of before.
Result<QueueReading> Sensing::read(Process& process, std::uint32_t queue_id) {
    if (process.lock.is_locked())
        return xpreempt::fail(EBUSY, xpreempt::Op::queue_status);
    const Time began = clock_();
    auto reading = provider_.read(process.facts.pid, queue_id);
    if (!reading && reading.error().errno_value == EBUSY)
        process.lock.note_wait(began, clock_());
    return reading;
}

bool Sensing::is_free(Process& process) {
    if (!process.lock.is_suspect())
        return true;
    const Time began = clock_();
    if (process.moving || !process.lock.is_to_be_asked(began))
        return !process.lock.is_locked();
    const bool was_locked = process.lock.is_locked();
    const bool is_locked = provider_.is_locked(process.facts.pid);
    process.lock.note_answer(is_locked, began, clock_());
    if (was_locked && !process.lock.is_locked())
        process.stale = process.scan_once = true;
    return !process.lock.is_locked();
}

void Sensing::scan(Job& job, Process& process, Which which) {
    bool changed = false;
    if (process.moving)
        return;
    for (Queue& queue : process.queues) {
        if (which == Which::running && (!queue.busy || queue.held))
            continue;
        const auto reading = read(process, queue.id);
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

// Those that stay keep their state, and only new ones are described: a process may have a thousand.
bool Sensing::find_queues(Process& process) {
    if (process.moving) {
        process.stale = true; // until then
        return false;
    }
    process.stale = false;
    const auto ids = provider_.queue_ids(process.facts.pid);
    if (!ids) {
        process.stale = !is_gone(ids.error());
        return false;
    }
    std::vector<Queue> queues;
    bool changed = ids->size() != process.queues.size();
    std::size_t described = 0;
    for (const std::uint32_t id : *ids) {
        const auto known = std::ranges::lower_bound(process.queues, id, {}, &Queue::id);
        const bool is_known = known != process.queues.end() && known->id == id;
        if (!is_known && described == described_at_once) {
            process.stale = behind_ = true;
            continue;
        }
        const auto reading = read(process, id);
        if (is_known && (!reading || known->uid == reading->uid)) {
            queues.push_back(*known);
        } else {
            changed = true;
            ++described;
            const auto found = provider_.describe(process.facts.pid, id);
            if (!found) {
                process.stale = process.stale || !is_gone(found.error());
                continue;
            }
            queues.push_back({id, found->gpu_id, found->compute});
        }
        if (reading)
            note(*table_.find(process.cookie).job, queues.back(), *reading);
    }
    process.queues = std::move(queues);
    return changed;
}

void Sensing::add(pid_t pid) {
    discovered_ = true;
    auto facts = facts_(pid);
    if (!facts)
        return; // it ends; the next scan asks again if not
    const Member member = table_.add(std::move(*facts));
    watch(*member.process);
    (void)find_queues(*member.process);
    found_idle_ = true;
}

void Sensing::watch(Process& process) {
    const auto id = provider_.watch(process.facts.pid, process.cookie, gives_);
    process.blind = !id;
    if (id)
        process.watch_id = *id;
}

// The driver has room for some thousands, which others may have used up for a while.
void Sensing::watch_another() {
    if (provider_.event_fd() < 0)
        return;
    for (std::size_t left = table_.size(); left > 0; --left) {
        const Member member = table_.next_in_turn(tried_);
        if (!member.process->watch_id)
            return watch(*member.process);
    }
}

void Sensing::set_gives(bool gives) {
    if (!provider_.can_give_memory() || std::exchange(gives_, gives) == gives)
        return;
    for (const auto& job : table_.jobs())
        for (const auto& process : job->processes) {
            if (process->watch_id)
                provider_.unwatch(*process->watch_id);
            process->watch_id.reset();
            process->armed = false;
            process->wants_bytes = 0;
            watch(*process);
        }
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

// Returns true if processes are gone. Those that came are added by polls.
bool Sensing::list_processes() {
    const auto pids = provider_.processes();
    if (!pids)
        return false;
    std::vector<Member> gone;
    for (const auto& job : table_.jobs())
        for (const auto& process : job->processes) {
            process->unverified = !process->watch_id;
            if (!std::ranges::binary_search(*pids, process->facts.pid))
                gone.push_back({job.get(), process.get()});
        }
    for (const Member& member : gone)
        remove(member);
    arrivals_.clear();
    for (const pid_t pid : *pids)
        if (table_.find_pid(pid).process == nullptr)
            arrivals_.push_back(pid);
    return !gone.empty();
}

// At least one, however late it is.
bool Sensing::add_arrivals() {
    bool added = false;
    while (!arrivals_.empty() && !(added && is_late())) {
        const pid_t pid = arrivals_.front();
        arrivals_.pop_front();
        if (table_.find_pid(pid).process != nullptr)
            continue;
        add(pid);
        added = true;
    }
    return added;
}

// One call for those that match, from the one after `last` on; the answers are in arming_. False:
// there are none.
bool Sensing::arm_some(bool (*matches)(const Process&), std::uint64_t& last) {
    arming_.clear();
    armed_members_.clear();
    for (std::size_t left = table_.size(); left > 0 && arming_.size() < armed_at_once; --left) {
        const Member member = table_.next_in_turn(last);
        if (!matches(*member.process))
            continue;
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): `matches` has checked
        arming_.push_back({.watch_id = *member.process->watch_id});
        armed_members_.push_back(member);
    }
    return !arming_.empty() && provider_.arm(arming_);
}

// Work that made no event: a GPU has rung.
void Sensing::audit_armed() {
    if (!arm_some([](const Process& process) { return process.armed && !process.moving; },
                  audited_))
        return;
    for (std::size_t i = 0; i < arming_.size(); ++i) {
        if (!arming_[i].busy)
            continue;
        Process& process = *armed_members_[i].process;
        scan(*armed_members_[i].job, process, Which::all);
        if (process.busy()) {
            process.armed = false;
            ++counts_.late_edges;
        }
    }
}

// An operator may have resumed it by force, which makes no event, and polls do not read held
// queues. One process each time.
void Sensing::audit_held() {
    for (std::size_t left = table_.size(); left > 0; --left) {
        const Member member = table_.next_in_turn(audited_held_);
        if (std::ranges::any_of(member.process->queues, &Queue::held)) {
            member.process->scan_once = true;
            return;
        }
    }
}

bool Sensing::scan(Time now) {
    const bool due = list_processes();
    watch_another();
    audit_armed();
    audit_held();
    return poll(now) || due;
}

void Sensing::read_queues(Job& job, Process& process) {
    scan(job, process, process.scan_once ? Which::all : Which::running);
    process.scan_once = false;
    // Work may have come to another queue of it.
    if (!process.busy())
        scan(job, process, Which::all);
}

bool Sensing::scan_job(Job& job, Time now) {
    for (const auto& process : job.processes)
        if (!process->armed)
            read_queues(job, *process);
    arm_idle();
    return update_jobs(now);
}

// A process that has ended unseen may have left its pid to one whose queues we took for its own.
// Returns false if one of them is still held, because its owner would wait for ever: also while its
// memory moves, or is away, when the call would wait for that. MemoryTurns brings it back before.
bool Sensing::release(Process& process) {
    if (process.moving)
        return false;
    std::vector<Switch> starts;
    for (const Queue& queue : process.queues)
        if (queue.held)
            starts.push_back({Change::start, process.facts.pid, queue.id, queue.uid});
    if (starts.empty())
        return true;
    if (process.away())
        return false;
    (void)provider_.change(starts);
    return std::ranges::none_of(starts, [](const Switch& done) {
        return done.result == EBUSY || done.result == ENOMEM || done.result == ENOSPC;
    });
}

// Returns true if its job is another one by now, or its queues are others.
bool Sensing::visit(const Member& member) {
    Process& process = *member.process;
    if (!is_free(process))
        return false;
    if (process.unverified && is_replaced(process)) {
        if (!release(process))
            return false;
        arrivals_.push_back(process.facts.pid);
        remove(member);
        return true;
    }
    discovered_ = discovered_ || process.stale;
    const bool changed = (process.unverified || process.stale) && find_queues(process);
    process.unverified = false;
    read_queues(*member.job, process);
    found_idle_ = found_idle_ || !process.busy();
    return changed;
}

// Those that aren't armed, once each until it is late; the next poll continues there.
bool Sensing::visit_in_turn() {
    bool changed = false;
    for (std::size_t left = table_.size(); left > 0; --left) {
        Member member = table_.next_after(visited_);
        if (member.process == nullptr)
            member = table_.next_after(0);
        if (member.process == nullptr)
            break;
        const bool is_due = !member.process->armed || member.process->lock.is_locked();
        if (is_due && is_late()) {
            behind_ = true;
            break;
        }
        visited_ = member.process->cookie;
        if (is_due)
            changed = visit(member) || changed;
    }
    return changed;
}

// Processes that come have most of the turn, or each would wait for a visit to all busy ones.
bool Sensing::poll(Time now) {
    const Time began = clock_();
    end_ = began + (arrivals_.empty() ? longest : longest / 5);
    behind_ = discovered_ = false;
    bool due = visit_in_turn();
    end_ = began + longest;
    due = add_arrivals() || due;
    behind_ = behind_ || !arrivals_.empty();
    if (std::exchange(found_idle_, false))
        arm_idle();
    return update_jobs(now) || due;
}

void Sensing::arm_idle() {
    if (!arm_some(
            [](const Process& process) {
                return !process.armed && !process.stale && process.watch_id && !process.busy();
            },
            armed_))
        return;
    found_idle_ = arming_.size() == armed_at_once; // the next poll arms others
    for (std::size_t i = 0; i < arming_.size(); ++i) {
        Process& process = *armed_members_[i].process;
        process.blind = arming_[i].blind;
        process.armed = arming_[i].result == 0 && !arming_[i].blind;
        if (!process.armed || !arming_[i].busy)
            continue;
        // Work came between the scan and the call: see it now, not at the next poll. Where the
        // queue was only not at hand, the process stays armed.
        scan(*armed_members_[i].job, process, Which::all);
        process.armed = !process.busy();
    }
}

bool Sensing::update_jobs(Time now) {
    bool edge = std::exchange(others_changed_, false);
    for (const auto& job : table_.jobs())
        edge = JobTable::update_ready(*job, now) || edge;
    return edge;
}

void Sensing::scan_rung(Job& job, Process& process, const Event& event) {
    const auto rung = std::ranges::find_if(process.queues, [&](const Queue& queue) {
        return queue.gpu_id == event.gpu_id && queue.doorbell == event.doorbell && queue.uid != 0;
    });
    if (process.moving) {
        process.scan_once = true;
        if (rung != process.queues.end())
            rung->busy = true;
    } else if (rung != process.queues.end()) {
        if (const auto reading = read(process, rung->id); reading && reading->uid == rung->uid)
            note(job, *rung, *reading);
        rung->busy = rung->busy || process.lock.is_locked();
        if (rung->busy)
            return;
    } else {
        (void)find_queues(process);
    }
    scan(job, process, Which::all);
}

bool Sensing::take(const Event& event, Time now) {
    const Member member = table_.find(event.cookie);
    if (member.process == nullptr)
        return false;
    switch (event.kind) {
    case EventKind::exited: remove(member); return true;
    case EventKind::queues_changed:
        // Found by the next poll: a program that creates queues in a loop must not keep us busy.
        member.process->armed = false;
        member.process->stale = behind_ = true;
        return false;
    case EventKind::wants_memory:
        member.process->wants_on = event.gpu_id;
        member.process->wants_bytes = event.bytes;
        member.process->wants_since = now;
        return true;
    case EventKind::rang: break;
    }
    member.process->armed = false;
    scan_rung(*member.job, *member.process, event);
    if (member.process->busy()) {
        ++counts_.edges;
        if (!last_ring_) {
            last_ring_ = event.when;
            last_rung_ = member.job->id;
        }
    } else {
        ++counts_.spurious;
        rang_idle_ = true;
    }
    // The time of the ring, not that of its discovery, unless the clock says otherwise.
    return JobTable::update_ready(*member.job, std::min(event.when, now));
}

// A short kernel is done before we look, and a long one may follow at once: it must not wait until
// polls have rested. A program that rings in a loop must not keep us busy either.
bool Sensing::rearm(Time now) {
    if (now < rearm_at())
        return false;
    rang_idle_ = false;
    arm_idle();
    const Time ended = clock_();
    const auto took = std::exchange(rings_took_, {}) + (ended - now);
    rearm_at_ =
        ended + std::clamp<Time::duration>(rearm_rest * took, least_rearm_rest, longest_rearm_rest);
    return update_jobs(now);
}

bool Sensing::take_events(Time now) {
    std::array<Event, events_at_once> events{};
    bool due = false;
    last_ring_.reset();
    end_ = clock_() + longest;
    while (!is_late()) {
        const auto count = provider_.take_events(events);
        if (!count || *count == 0)
            break;
        for (const Event& event : std::span(events).first(*count))
            due = take(event, now) || due;
        if (*count < events.size())
            break;
    }
    if (rang_idle_) // rings with work ask for no rest
        rings_took_ += clock_() - now;
    return rearm(clock_()) || due;
}

} // namespace xpreemptd
