// SPDX-License-Identifier: MIT
// Queues in memory, with doorbells that fault as those of a watched process do.
#pragma once

#include "process_facts.hpp"
#include "provider.hpp"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <functional>
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
        std::uint64_t packets = 0; // not done yet
        bool known = true;
        bool held = false;
        bool held_by_other = false;
    };
    struct Process {
        std::map<std::uint32_t, Queue> queues;
        std::uint64_t cookie = 0;
        std::uint32_t watch_id = 0;
        bool armed = false;
        bool blind = false;
        pid_t parent = 1;
        std::uint64_t generation = 0; // another process with the same pid
        std::string cgroup;
        uid_t uid = 0;
        std::string executable;
    };

    Time now{std::chrono::hours{1}};
    bool has_watch = true;
    std::map<pid_t, Process> running;
    std::map<pid_t, pid_t> waiting; // pid and parent
    std::deque<Event> events;
    std::function<int(const Switch&)> refuse = [](const Switch&) { return 0; };
    std::uint64_t calls = 0; // of change()
    std::uint64_t reads = 0;
    std::uint64_t descriptions = 0, facts_read = 0, origins = 0;
    std::chrono::nanoseconds read_takes{0}, change_takes{0}, description_takes{0}, facts_take{0};
    std::vector<Switch> last;
    std::function<void()> before_arm = [] {};

    void create_queue(pid_t pid, std::uint32_t id, std::uint32_t gpu_id = 1, bool compute = true) {
        Process& process = running[pid];
        process.queues[id] = {gpu_id, compute, ++last_uid_};
        if (process.cookie != 0)
            events.push_back({EventKind::queues_changed, process.cookie, now, gpu_id, id});
    }
    void create_process(pid_t pid, pid_t parent) { waiting[pid] = parent; } // no queues yet
    std::optional<xpreemptd::ProcessOrigin> origin(pid_t pid) {
        ++origins;
        const auto of = facts(pid);
        return of ? std::optional(xpreemptd::ProcessOrigin{of->parent, of->start_ticks})
                  : std::nullopt;
    }
    // A store of packets, and to the doorbell.
    void submit(pid_t pid, std::uint32_t id, std::uint64_t packets = 1) {
        running.at(pid).queues.at(id).packets += packets;
        ring(pid, id);
    }
    void ring(pid_t pid, std::uint32_t id) {
        Process& process = running.at(pid);
        if (std::exchange(process.armed, false))
            events.push_back(
                {EventKind::rang, process.cookie, now, process.queues.at(id).gpu_id, 8 * id});
    }
    void finish(pid_t pid, std::uint32_t id) { running.at(pid).queues.at(id).packets = 0; }
    void exit(pid_t pid) {
        if (running.at(pid).cookie != 0)
            events.push_back({EventKind::exited, running.at(pid).cookie, now, 0, 0});
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
                                       process.cgroup};
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
        ++reads;
        now += read_takes;
        if (queue == nullptr)
            return xpreempt::fail(running.contains(pid) ? ENOENT : ESRCH,
                                  xpreempt::Op::queue_status);
        return QueueReading{queue->uid, 8 * id, queue->known, queue->known && queue->packets != 0,
                            queue->held || queue->held_by_other};
    }
    [[nodiscard]] int event_fd() const override { return has_watch ? 100 : -1; }
    Result<std::uint32_t> watch(pid_t pid, std::uint64_t cookie) override {
        if (!has_watch)
            return xpreempt::fail(ENOTTY, xpreempt::Op::watch);
        running.at(pid).cookie = cookie;
        return running.at(pid).watch_id = ++last_watch_;
    }
    void unwatch(std::uint32_t /*watch_id*/) override {}
    Result<void> arm(std::span<Arming> entries) override {
        before_arm();
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
    Result<void> change(std::span<Switch> switches) override {
        ++calls;
        for (Switch& wanted : switches) {
            Queue* queue = find(wanted.pid, wanted.queue_id);
            if (queue == nullptr || queue->uid != wanted.queue_uid) {
                wanted.result = ESTALE;
                continue;
            }
            wanted.result = refuse(wanted);
            if (wanted.result == 0 || wanted.result == ETIME)
                queue->held = wanted.change == Change::stop;
            wanted.held_by_others = wanted.change == Change::start && queue->held_by_other;
        }
        now += change_takes;
        last.assign(switches.begin(), switches.end());
        return {};
    }

private:
    Queue* find(pid_t pid, std::uint32_t id) {
        const auto process = running.find(pid);
        if (process == running.end())
            return nullptr;
        const auto queue = process->second.queues.find(id);
        return queue == process->second.queues.end() ? nullptr : &queue->second;
    }

    static std::uint64_t start_ticks_of(pid_t pid) { return static_cast<std::uint64_t>(pid) * 100; }

    std::uint64_t last_uid_ = 0;
    std::uint32_t last_watch_ = 0;
};

} // namespace test
