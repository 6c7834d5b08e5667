// SPDX-License-Identifier: MIT
// From plans to moves, and from their results to the state of jobs.
#include "scheduling/memory_turns.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace xpreemptd {

namespace {

constexpr std::chrono::seconds old_after{1};
constexpr double bytes_of_gib = 1 << 30;

bool may_leave(const Job& job) {
    return job.attributes.yields && std::ranges::all_of(job.processes, [](const auto& process) {
               return std::ranges::all_of(process->queues, [](const Queue& queue) {
                   return !queue.compute || queue.stoppable();
               });
           });
}

GpuBytes& bytes_on(MemoryView& view, std::uint32_t gpu_id) {
    const auto on = std::ranges::find(view.on, gpu_id, &GpuBytes::gpu);
    return on == view.on.end() ? view.on.emplace_back(GpuBytes{gpu_id}) : *on;
}

std::string why_not(int error) {
    switch (error) {
    case ENOMEM: return "the host has no room for its memory: free some, or raise ttm.pages_limit";
    case ENOSPC: return "there is no room in VRAM";
    case EBUSY: return "one of its queues was not stopped";
    default: return std::strerror(error);
    }
}

} // namespace

void MemoryTurns::read(Process& process, Time now) {
    if (process.lock.is_locked())
        return;
    std::vector<VramUse> vram;
    for (const Queue& queue : process.queues) {
        if (!queue.compute || std::ranges::find(vram, queue.gpu_id, &VramUse::gpu_id) != vram.end())
            continue;
        const auto before = std::ranges::find(process.vram, queue.gpu_id, &VramUse::gpu_id);
        const Time began = clock_();
        auto use = provider_.vram_of(process.facts.pid, queue.id);
        if (!use && use.error().errno_value == EBUSY)
            return process.lock.note_wait(began, clock_());
        if (use) {
            use->gpu_id = queue.gpu_id;
            vram.push_back(*use);
        } else if (before != process.vram.end()) {
            vram.push_back(*before);
        }
    }
    process.vram_at = now;
    process.vram = std::move(vram);
    for (Queue& queue : process.queues)
        for (const VramUse& use : process.vram)
            if (use.gpu_id == queue.gpu_id)
                queue.away = use.away != 0;
}

void MemoryTurns::scan(Time now) {
    if (!provider_.can_move_memory())
        return;
    Process* oldest = nullptr;
    for (const auto& job : table_.jobs()) {
        if (!job->attributes.yields && !job->away())
            continue;
        for (const auto& process : job->processes)
            if (!process->moving && !process->lock.is_locked() && !process->queues.empty() &&
                (oldest == nullptr || process->vram_at < oldest->vram_at))
                oldest = process.get();
    }
    if (oldest == nullptr || (oldest->vram_at != Time{} && now - oldest->vram_at < old_after))
        return;
    read(*oldest, now);
    if (oldest->was_there && oldest->vram_at == now)
        oldest->was_there = oldest->away() && !take_over(*oldest);
}

// The daemon before has ended while this memory was away. The driver keeps its holds until VRAM has
// room, which may be never; with holds of ours it drops them, and the job waits for its turn. The
// memory that an operator sends away later is left to the operator. False: some were refused.
bool MemoryTurns::take_over(Process& process) {
    std::vector<Switch> stops;
    std::vector<Queue*> queues;
    for (Queue& queue : process.queues)
        if (queue.stoppable() && queue.held_by_programs) {
            stops.push_back({Change::stop, process.facts.pid, queue.id, queue.uid});
            queues.push_back(&queue);
        }
    if (stops.empty())
        return true;
    (void)provider_.change(stops);
    bool all = true;
    for (std::size_t i = 0; i < stops.size(); ++i) {
        (void)switching_.note(*queues[i], stops[i]);
        queues[i]->held_by_others = queues[i]->held_by_others && !queues[i]->held;
        all = all && queues[i]->held;
    }
    return all;
}

MemoryView MemoryTurns::view_of(const Job& job) const {
    MemoryView view;
    view.may_leave = may_leave(job);
    view.moving = job.moving();
    view.park_after = job.attributes.park_after;
    view.limit = job.attributes.vram_limit;
    for (const auto& process : job.processes)
        for (const VramUse& use : process->vram) {
            GpuBytes& on = bytes_on(view, use.gpu_id);
            on.resident += use.resident;
            on.away += use.away;
            view.last_moves = std::max(view.last_moves, use.last_moves);
        }
    for (const auto& process : job.processes)
        if (process->wants_bytes != 0) {
            if (view.wanted_since == Time{} || process->wants_since < view.wanted_since)
                view.wanted_since = process->wants_since;
            bytes_on(view, process->wants_on).wanted += process->wants_bytes;
        }
    return view;
}

// Decisions are frequent, and most machines have no such job.
bool MemoryTurns::is_needed() const {
    return provider_.can_move_memory() && std::ranges::any_of(table_.jobs(), [](const auto& job) {
               return job->attributes.yields || job->moving() || job->away() || job->wants();
           });
}

Decisions::Unfit MemoryTurns::plan(const sched::Snapshot& snapshot) {
    planned_.clear();
    hopeless_.clear();
    stranded_.clear();
    if (!is_needed())
        return {};
    views_.clear();
    for (const auto& job : table_.jobs())
        views_.push_back(view_of(*job));
    ResidencyPlan plan =
        residency_.decide(snapshot, views_, [this](std::uint32_t gpu_id) -> std::uint64_t {
            return provider_.free_vram(gpu_id).value_or(0);
        });
    planned_ = std::move(plan.exchanges);
    hopeless_ = std::move(plan.hopeless);
    stranded_ = std::move(plan.stranded);
    return {std::move(plan.out), plan.next};
}

void MemoryTurns::add(Job& job, Change change, Move& move, UnderWay& under_way) {
    for (const auto& process : job.processes) {
        // One that only waits for an allocation continues.
        if (change == Change::start && !process->away())
            continue;
        process->moving = true;
        for (const Queue& queue : process->queues) {
            if (!queue.stoppable() || (change == Change::start && !queue.held))
                continue;
            move.switches.push_back({change, process->facts.pid, queue.id, queue.uid});
            under_way.cookies.push_back(process->cookie);
        }
    }
}

// last: nothing has left for it, so there is nothing to wait for.
void MemoryTurns::answer(Job& job, bool last) {
    for (const auto& process : job.processes)
        if (std::exchange(process->wants_bytes, 0) != 0 && process->watch_id)
            provider_.answer(*process->watch_id, last);
}

void MemoryTurns::report_stranded() {
    for (const std::uint64_t id : stranded_) {
        const Job& job = *table_.find_id(id);
        log_(LogLevel::warning,
             fmt::format("memory of job {} ({}) stays in system memory: {:.2f} GiB of VRAM are "
                         "missing, and the jobs that yield have less",
                         id, job.name, static_cast<double>(missing(job)) / bytes_of_gib));
    }
    stranded_.clear();
}

void MemoryTurns::begin(Time now) {
    report_stranded();
    for (const std::uint64_t id : hopeless_)
        answer(*table_.find_id(id), true);
    hopeless_.clear();
    for (Exchange& exchange : planned_) {
        Move move{++last_move_, {}};
        UnderWay under_way{std::move(exchange), now, {}};
        for (const std::uint64_t id : under_way.exchange.leave)
            add(*table_.find_id(id), Change::stop, move, under_way);
        if (under_way.exchange.enter != 0)
            add(*table_.find_id(under_way.exchange.enter), Change::start, move, under_way);
        // An allocation fits by now, or the queues have gone since their memory was read.
        if (move.switches.empty()) {
            end(under_way, 0, now);
            continue;
        }
        ++counts_.moves;
        under_way_.emplace(move.id, std::move(under_way));
        provider_.begin(std::move(move));
    }
    planned_.clear();
}

// Returns the first error, of the jobs that leave before that of the one that enters.
int MemoryTurns::note_results(const Move& move, const UnderWay& under_way) {
    int error = 0;
    for (std::size_t i = 0; i < move.switches.size(); ++i) {
        const Switch& done = move.switches[i];
        Process* process = table_.find(under_way.cookies[i]).process;
        if (process == nullptr)
            continue; // it has ended meanwhile
        if (error == 0 && done.result != EALREADY && done.result != ESTALE)
            error = done.result;
        const auto queue = std::ranges::find(process->queues, done.queue_uid, &Queue::uid);
        if (queue == process->queues.end())
            continue;
        // It may be stopped though its memory stays. If not, a start changes nothing.
        const bool stays = done.result == ENOMEM || done.result == EINTR || done.result == EBUSY;
        Switch stopped = done;
        if (done.change == Change::stop && stays)
            stopped.result = 0;
        (void)switching_.note(*queue, stopped);
    }
    return error;
}

void MemoryTurns::report_move(const Job& job, Change change, const UnderWay& under_way,
                              std::uint64_t bytes, int error, Time now) const {
    const char* what = change == Change::stop ? "left VRAM" : "came back to VRAM";
    if (bytes != 0)
        log_(LogLevel::info,
             fmt::format("{:.2f} GiB of job {} ({}) {} in {:.2f} s{}",
                         static_cast<double>(bytes) / bytes_of_gib, job.id, job.name, what,
                         std::chrono::duration<double>(now - under_way.began).count(),
                         change == Change::stop && under_way.exchange.enter != 0
                             ? fmt::format(" for job {}", under_way.exchange.enter)
                             : ""));
    if (error != 0)
        log_(LogLevel::warning,
             fmt::format("memory of job {} ({}) {}: {}", job.id, job.name,
                         change == Change::stop ? "stays in VRAM" : "stays in system memory",
                         why_not(error)));
}

void MemoryTurns::settle(Job& job, Change change, const UnderWay& under_way, int error, Time now) {
    const std::uint64_t away = job.vram(&VramUse::away);
    for (const auto& process : job.processes) {
        process->moving = false;
        process->scan_once = true;
        read(*process, now);
    }
    const std::uint64_t still_away = job.vram(&VramUse::away);
    const bool leaves = change == Change::stop;
    const bool all = leaves ? job.vram(&VramUse::resident) == 0 : still_away == 0;
    const std::uint64_t moved = std::max(away, still_away) - std::min(away, still_away);
    (leaves ? counts_.bytes_out : counts_.bytes_back) += moved;
    leaves ? residency_.left(job.id, all, now) : residency_.entered(job.id, all, now);
    report_move(job, change, under_way, moved, all ? 0 : error, now);
}

void MemoryTurns::end(const UnderWay& under_way, int error, Time now) {
    for (const std::uint64_t id : under_way.exchange.leave)
        if (Job* job = table_.find_id(id))
            settle(*job, Change::stop, under_way, error, now);
    if (Job* job = table_.find_id(under_way.exchange.enter)) {
        settle(*job, Change::start, under_way, error, now);
        answer(*job, under_way.exchange.leave.empty() || error != 0);
    }
}

bool MemoryTurns::take_moved(Time now) {
    if (!provider_.can_move_memory())
        return false;
    const std::vector<Move> moves = provider_.take_moved();
    for (const Move& move : moves) {
        const auto found = under_way_.find(move.id);
        const UnderWay under_way = std::move(found->second);
        under_way_.erase(found);
        const int error = note_results(move, under_way);
        end(under_way, error, now);
    }
    return !moves.empty();
}

std::uint64_t MemoryTurns::missing(const Job& job) const {
    std::uint64_t missing = 0;
    if (!job.away())
        return 0;
    for (const GpuBytes& on : view_of(job).on) {
        const std::uint64_t free = provider_.free_vram(on.gpu).value_or(0);
        missing += on.away - std::min(on.away, free);
    }
    return missing;
}

} // namespace xpreemptd
