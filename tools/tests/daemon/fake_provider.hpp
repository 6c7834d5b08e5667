// SPDX-License-Identifier: MIT
// Queues in memory, with doorbells that fault as those of a watched process do. Answers as the
// driver does: uapi/tests/driver_answers.h.
#pragma once

#include "driver/provider.hpp"
#include "driver/queue_reading.hpp"
#include "jobs/process_facts.hpp"
#include "scheduling/plugin_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace test {

using xpreemptd::Arming;
using xpreemptd::Change;
using xpreemptd::Event;
using xpreemptd::EventKind;
using xpreemptd::QueueFound;
using xpreemptd::QueueReading;
using xpreemptd::Switch;
using xpreemptd::Time;
template <typename T> using Result = xpreempt::Result<T>;

class FakeProvider final : public xpreemptd::Provider {
public:
    struct Queue {
        std::uint32_t gpu_id = 1;
        bool compute = true;
        std::uint64_t uid = 0;
        std::uint64_t packets = 0; // not taken yet
        std::uint64_t written = 0; // ever
        bool signal = false;       // that of the last packet says that it isn't done
        bool readable_ring = true; // or the driver cannot tell whether the last packet has a signal
        bool known = true;
        bool held = false;
        bool held_by_other = false;
        bool held_by_program = false; // such as a daemon that has ended
        Time pending_until{};         // a stop that was late is confirmed then
    };
    struct Process {
        std::map<std::uint32_t, Queue> queues;
        std::uint64_t cookie = 0;
        std::uint32_t watch_id = 0;
        bool gives = false;
        std::uint64_t wants = 0;          // an allocation that waits
        std::optional<bool> refused = {}; // how the last one that has waited ended
        bool armed = false;
        bool blind = false;
        bool locked = false; // for longer than a call waits
        bool flaps = false;  // locked for each call, and for none that only asks
        pid_t parent = 1;
        std::uint64_t generation = 0; // another process with the same pid
        std::string cgroup;
        uid_t uid = 0;
        std::string executable;
        std::int32_t cpu_priority = 0;
    };

    Time now{std::chrono::hours{1}};
    bool has_watch = true;
    std::size_t most_watched = 4096;
    std::map<pid_t, Process> running;
    std::map<pid_t, pid_t> waiting; // pid and parent
    uid_t waiting_uid = 0;          // of all of them
    std::map<pid_t, std::vector<std::string>> run_marks;
    std::deque<Event> events;
    // Why a call fails that the driver could carry out. ETIME: a stop is confirmed late_by later.
    std::chrono::nanoseconds late_by{std::chrono::milliseconds{20}};
    std::function<int(const Switch&)> refuse = [](const Switch&) { return 0; };
    std::uint64_t calls = 0;                    // of change()
    std::chrono::nanoseconds cpu_of_changes{0}; // to be subtracted from that of a caller
    std::uint64_t reads = 0, arms = 0;
    std::uint64_t descriptions = 0, facts_read = 0, origins = 0;
    std::chrono::nanoseconds read_takes{0}, arm_takes{0}, change_takes{0}, description_takes{0},
        facts_take{0};
    std::vector<Switch> last;
    // VRAM of each process on GPU 1, and what of it is away.
    std::map<pid_t, xpreemptd::VramUse> vram;
    std::uint64_t vram_size = 0; // 0: memory can't move
    std::uint64_t host_room = UINT64_MAX;
    std::vector<xpreemptd::Move> moving;
    std::function<void()> before_arm = [] {};

    void create_queue(pid_t pid, std::uint32_t id, std::uint32_t gpu_id = 1, bool compute = true) {
        Process& process = running[pid];
        process.queues[id] = {gpu_id, compute, ++last_uid_};
        if (process.cookie != 0)
            add_event({EventKind::queues_changed, process.cookie, now, gpu_id, id});
    }
    void destroy_queue(pid_t pid, std::uint32_t id) {
        Process& process = running.at(pid);
        const std::uint32_t gpu_id = process.queues.at(id).gpu_id;
        process.queues.erase(id);
        if (process.cookie != 0)
            add_event({EventKind::queues_changed, process.cookie, now, gpu_id, id});
    }
    void create_process(pid_t pid, pid_t parent) { waiting[pid] = parent; } // no queues yet
    std::optional<xpreemptd::ProcessOrigin> origin(pid_t pid) {
        ++origins;
        const auto of = facts(pid);
        return of ? std::optional(
                        xpreemptd::ProcessOrigin{of->parent, of->start_ticks, of->cpu_priority})
                  : std::nullopt;
    }
    // A store of packets, and to the doorbell.
    void submit(pid_t pid, std::uint32_t id, std::uint64_t packets = 1) {
        running.at(pid).queues.at(id).packets += packets;
        running.at(pid).queues.at(id).written += packets;
        ring(pid, id);
    }
    void ring(pid_t pid, std::uint32_t id) {
        Process& process = running.at(pid);
        if (std::exchange(process.armed, false))
            add_event({EventKind::rang, process.cookie, now, process.queues.at(id).gpu_id, 8 * id});
    }
    void finish(pid_t pid, std::uint32_t id) { running.at(pid).queues.at(id).packets = 0; }
    void exit(pid_t pid) {
        if (running.at(pid).cookie != 0)
            add_event({EventKind::exited, running.at(pid).cookie, now, 0, 0});
        running.erase(pid);
    }
    [[nodiscard]] bool held(pid_t pid, std::uint32_t id = 1) const {
        return running.at(pid).queues.at(id).held;
    }

    Result<xpreemptd::ProcessFacts> read_facts(pid_t pid) {
        ++facts_read;
        now += facts_take;
        return facts(pid);
    }
    // Each costs a call of the kernel or some.
    [[nodiscard]] std::uint64_t dear_calls() const {
        return reads + descriptions + facts_read + origins;
    }

    Result<xpreemptd::ProcessFacts> facts(pid_t pid) const {
        const auto found = running.find(pid);
        if (found == running.end() && waiting.contains(pid)) {
            xpreemptd::ProcessFacts facts;
            facts.pid = pid;
            facts.start_ticks = start_ticks_of(pid);
            facts.parent = waiting.at(pid);
            facts.uid = waiting_uid;
            facts.run_marks = marks_of(pid);
            return facts;
        }
        if (found == running.end())
            return xpreempt::fail(ESRCH, xpreempt::Op::read_proc);
        const Process& process = found->second;
        return xpreemptd::ProcessFacts{pid,
                                       start_ticks_of(pid) + process.generation,
                                       process.parent,
                                       process.uid,
                                       "test",
                                       process.executable,
                                       process.cgroup,
                                       {},
                                       process.cpu_priority,
                                       marks_of(pid)};
    }

    Result<std::vector<pid_t>> processes() override {
        std::vector<pid_t> pids;
        for (const auto& [pid, process] : running)
            pids.push_back(pid);
        return pids;
    }
    Result<std::vector<std::uint32_t>> queue_ids(pid_t pid) override {
        if (!running.contains(pid))
            return xpreempt::fail(ESRCH, xpreempt::Op::read_sysfs);
        std::vector<std::uint32_t> ids;
        for (const auto& [id, queue] : running.at(pid).queues)
            ids.push_back(id);
        return ids;
    }
    Result<QueueFound> describe(pid_t pid, std::uint32_t id) override {
        const Queue* queue = find(pid, id);
        ++descriptions;
        now += description_takes;
        if (queue == nullptr)
            return xpreempt::fail(ENOENT, xpreempt::Op::read_sysfs);
        return QueueFound{queue->gpu_id, queue->compute};
    }
    Result<QueueReading> read(pid_t pid, std::uint32_t id) override {
        const Queue* queue = find(pid, id);
        if (is_moving(pid))
            ADD_FAILURE() << "a call about pid " << pid << " would wait for a move";
        ++reads;
        now += read_takes;
        if (queue == nullptr)
            return xpreempt::fail(running.contains(pid) ? ENOENT : ESRCH,
                                  xpreempt::Op::queue_status);
        if (waits_for(pid))
            return xpreempt::fail(EBUSY, xpreempt::Op::queue_status);
        return xpreemptd::reading_of(status_of(*queue, id, vram_size != 0 && vram[pid].away != 0));
    }
    [[nodiscard]] int event_fd() const override { return has_watch ? 100 : -1; }
    Result<std::uint32_t> watch(pid_t pid, std::uint64_t cookie, bool gives) override {
        if (!has_watch)
            return xpreempt::fail(ENOTTY, xpreempt::Op::watch);
        const auto watched =
            std::ranges::count_if(running, [](const auto& of) { return of.second.watch_id != 0; });
        if (static_cast<std::size_t>(watched) >= most_watched)
            return xpreempt::fail(ENOMEM, xpreempt::Op::watch);
        running.at(pid).cookie = cookie;
        running.at(pid).gives = gives;
        return running.at(pid).watch_id = ++last_watch_;
    }
    // Its events that were not read are gone.
    void unwatch(std::uint32_t watch_id) override {
        for (auto& [pid, process] : running) {
            if (process.watch_id != watch_id)
                continue;
            std::erase_if(events, [&](const Event& of) { return of.cookie == process.cookie; });
            process.cookie = process.watch_id = 0;
            process.armed = process.gives = false;
        }
    }
    Result<void> arm(std::span<Arming> entries) override {
        before_arm();
        ++arms;
        now += arm_takes;
        for (Arming& entry : entries) {
            const auto found = std::ranges::find_if(running, [&](const auto& process) {
                return process.second.watch_id == entry.watch_id;
            });
            if (found == running.end()) {
                entry.result = ESRCH;
                continue;
            }
            found->second.armed = !found->second.blind;
            entry.blind = found->second.blind;
            for (const auto& [id, queue] : found->second.queues)
                entry.busy = entry.busy || queue.packets != 0 || !queue.known;
        }
        return {};
    }
    Result<std::size_t> take_events(std::span<Event> to) override {
        std::size_t count = 0;
        for (; count < to.size() && !events.empty(); ++count) {
            to[count] = events.front();
            events.pop_front();
        }
        return count;
    }
    // A call about a process that is locked waits, and gives up.
    bool waits_for(pid_t pid) {
        const auto process = running.find(pid);
        const bool waits =
            process != running.end() && (process->second.locked || process->second.flaps);
        if (waits)
            wait(lock_wait);
        return waits;
    }
    void wait(std::chrono::nanoseconds time) {
        now += time;
        waited += time;
    }
    std::chrono::nanoseconds lock_wait{std::chrono::milliseconds{100}};
    std::chrono::nanoseconds waited{0};
    bool is_locked(pid_t pid) override {
        const bool is_locked = running.contains(pid) && running.at(pid).locked;
        if (is_locked)
            wait(std::chrono::milliseconds{2});
        return is_locked;
    }
    Result<void> change(std::span<Switch> switches) override {
        ++calls;
        const auto began = xpreemptd::thread_cpu_time();
        (void)std::ranges::any_of(switches, [this](const Switch& of) { return waits_for(of.pid); });
        for (Switch& wanted : switches) {
            if (is_moving(wanted.pid))
                ADD_FAILURE() << "a call about pid " << wanted.pid << " would wait for a move";
            Queue* queue = find(wanted.pid, wanted.queue_id);
            wanted.result = queue == nullptr                 ? error_of_missing(wanted.pid)
                            : is_busy(wanted.pid)            ? EBUSY
                            : queue->uid != wanted.queue_uid ? ESTALE
                            : wanted.change == Change::stop  ? stop(*queue, wanted)
                                                             : start(*queue, wanted);
            wanted.held_by_others =
                wanted.result == 0 && wanted.change == Change::start && queue->held_by_other;
        }
        now += change_takes;
        last.assign(switches.begin(), switches.end());
        cpu_of_changes += xpreemptd::thread_cpu_time() - began;
        return {};
    }

    [[nodiscard]] bool can_move_memory() const override { return vram_size != 0; }
    Result<xpreemptd::VramUse> vram_of(pid_t pid, std::uint32_t id) override {
        if (is_moving(pid))
            ADD_FAILURE() << "a call about pid " << pid << " would wait for a move";
        if (find(pid, id) == nullptr)
            return xpreempt::fail(ESRCH, xpreempt::Op::queue_status);
        if (waits_for(pid))
            return xpreempt::fail(EBUSY, xpreempt::Op::queue_status);
        xpreemptd::VramUse use = vram[pid];
        use.gpu_id = running.at(pid).queues.at(id).gpu_id;
        return use;
    }
    Result<std::uint64_t> free_vram(std::uint32_t /*gpu_id*/) override {
        std::uint64_t used = 0;
        for (const auto& [pid, use] : vram)
            if (running.contains(pid))
                used += use.resident + use.stays;
        return vram_size - std::min(used, vram_size);
    }
    // Waits if there is no room.
    void allocate(pid_t pid, std::uint64_t bytes) {
        Process& process = running.at(pid);
        process.refused.reset();
        if (bytes <= *free_vram(1)) {
            vram[pid].resident += bytes;
        } else if (!process.gives) {
            process.refused = true;
        } else {
            process.wants = bytes;
            add_event({EventKind::wants_memory, process.cookie, now, 1, 0, bytes});
        }
    }
    [[nodiscard]] bool can_give_memory() const override { return can_move_memory(); }
    void answer(std::uint32_t watch_id, bool may_fail) override {
        for (auto& [pid, process] : running) {
            if (process.watch_id != watch_id || process.wants == 0)
                continue;
            const std::uint64_t bytes = std::exchange(process.wants, 0);
            if (bytes > *free_vram(1) && may_fail)
                process.refused = true;
            else
                allocate(pid, bytes);
        }
    }
    void begin(xpreemptd::Move move) override { moving.push_back(std::move(move)); }
    [[nodiscard]] int moved_fd() const override { return can_move_memory() ? 101 : -1; }
    std::vector<xpreemptd::Move> take_moved() override {
        std::vector<xpreemptd::Move> moves = std::exchange(moving, {});
        for (xpreemptd::Move& move : moves) {
            for (Switch& wanted : move.switches)
                stop_for_move(wanted);
            for (Switch& wanted : move.switches)
                move_memory(wanted);
        }
        return moves;
    }
    [[nodiscard]] bool is_moving(pid_t pid) const {
        return std::ranges::any_of(moving, [pid](const xpreemptd::Move& move) {
            return std::ranges::find(move.switches, pid, &Switch::pid) != move.switches.end();
        });
    }

private:
    // Events of one kind of a process and GPU that were not read are one event.
    void add_event(const Event& event) {
        const auto same = std::ranges::find_if(events, [&](const Event& other) {
            return other.kind == event.kind && other.cookie == event.cookie &&
                   other.gpu_id == event.gpu_id;
        });
        if (same == events.end())
            events.push_back(event);
        else
            *same = event;
    }

    [[nodiscard]] int error_of_missing(pid_t pid) const {
        return running.contains(pid) ? ENOENT : ESRCH;
    }
    // A repeated stop waits for a late one.
    int stop(Queue& queue, const Switch& wanted) {
        if (queue.held && queue.pending_until <= now)
            return EALREADY;
        const int error = refuse(wanted);
        if (error == 0 || error == ETIME) {
            queue.held = true;
            queue.held_by_program = false; // a worker of the driver drops that one
        }
        queue.pending_until = error == ETIME ? now + late_by : Time{};
        return error;
    }
    int start(Queue& queue, const Switch& wanted) {
        if (!queue.held)
            return EALREADY;
        if (vram_size != 0 && vram[wanted.pid].away != 0)
            ADD_FAILURE() << "the loop would move the memory of pid " << wanted.pid;
        if (queue.pending_until > now)
            return EBUSY;
        const int error = refuse(wanted);
        if (error == 0 || error == ETIME)
            queue.held = false;
        return error;
    }

    void stop_for_move(const Switch& wanted) {
        Queue* queue = find(wanted.pid, wanted.queue_id);
        if (wanted.change == Change::stop && queue != nullptr && queue->uid == wanted.queue_uid)
            queue->held = true;
    }
    // As the driver does it, one process after the other.
    void move_memory(Switch& wanted) {
        Queue* queue = find(wanted.pid, wanted.queue_id);
        if (queue == nullptr || queue->uid != wanted.queue_uid) {
            wanted.result = queue == nullptr ? ESRCH : ESTALE;
            return;
        }
        xpreemptd::VramUse& use = vram[wanted.pid];
        if (wanted.change == Change::stop) {
            const bool all = std::ranges::all_of(running.at(wanted.pid).queues, [](const auto& of) {
                return !of.second.compute || of.second.held || of.second.held_by_other ||
                       of.second.held_by_program;
            });
            if (!all) {
                wanted.result = EBUSY;
                return;
            }
            if (use.resident > host_room) {
                wanted.result = ENOMEM;
                return;
            }
            use.away += std::exchange(use.resident, 0);
        } else if (use.away > *free_vram(queue->gpu_id)) {
            wanted.result = ENOSPC;
            return;
        } else {
            use.resident += std::exchange(use.away, 0);
            queue->held = false;
        }
        wanted.result = 0;
    }

    // As the driver answers.
    static kfd_ioctl_preempt_status_args status_of(const Queue& queue, std::uint32_t id,
                                                   bool is_away) {
        kfd_ioctl_preempt_status_args status{};
        status.queue_uid = queue.uid;
        status.doorbell = 8 * id;
        status.holds = queue.held_by_other                     ? KFD_PREEMPT_HOLD_STICKY
                       : (queue.held || queue.held_by_program) ? KFD_PREEMPT_HOLD_OPERATOR
                                                               : 0;
        status.status = is_away ? KFD_PREEMPT_STATUS_YIELDED : 0;
        if (!queue.known)
            return status;
        status.valid = KFD_PREEMPT_VALID_INDEXES;
        status.write_index = queue.written;
        status.read_index = queue.written - queue.packets;
        if (!queue.readable_ring && queue.written != 0) {
            status.valid |= KFD_PREEMPT_UNREAD_SIGNAL;
        } else if (queue.written != 0) {
            status.valid |= KFD_PREEMPT_VALID_SIGNAL;
            status.last_signal = queue.packets != 0 || queue.signal ? 1 : 0;
        }
        return status;
    }

    [[nodiscard]] bool is_busy(pid_t pid) const {
        return running.at(pid).locked || running.at(pid).flaps;
    }
    Queue* find(pid_t pid, std::uint32_t id) {
        const auto process = running.find(pid);
        if (process == running.end())
            return nullptr;
        const auto queue = process->second.queues.find(id);
        return queue == process->second.queues.end() ? nullptr : &queue->second;
    }

    [[nodiscard]] std::vector<std::string> marks_of(pid_t pid) const {
        const auto found = run_marks.find(pid);
        return found == run_marks.end() ? std::vector<std::string>() : found->second;
    }
    static std::uint64_t start_ticks_of(pid_t pid) { return static_cast<std::uint64_t>(pid) * 100; }

    std::uint64_t last_uid_ = 0;
    std::uint32_t last_watch_ = 0;
};

} // namespace test
