// SPDX-License-Identifier: MIT
// The daemon over queues in memory, in virtual time, with a server before a batch job.
#pragma once

#include "fake_provider.hpp"
#include "scheduling/daemon.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace test {

constexpr pid_t server = 10, batch = 20;

// For tests of mechanisms, whose figures don't follow the defaults.
inline xpreemptd::sched::Bands::Parameters bands_of_test() {
    xpreemptd::sched::Bands::Parameters bands;
    bands.floor_percent = 10;
    bands.floor_turn = std::chrono::milliseconds{10};
    bands.resume_grace = std::chrono::milliseconds{5};
    bands.max_rate = 200;
    return bands;
}

inline xpreemptd::Rules rules_of_test() {
    xpreemptd::Rules rules;
    rules.parameters.bands = bands_of_test();
    xpreemptd::Rule high;
    high.executable = "/server";
    high.set.band = xpreemptd::sched::Band::high;
    rules.rules.push_back(high);
    return rules;
}

// Both outlive the daemon. Its log goes to `lines`.
inline xpreemptd::Daemon daemon_over(FakeProvider& gpu, std::vector<std::string>& lines,
                                     xpreemptd::Rules rules = rules_of_test()) {
    return xpreemptd::Daemon(
        gpu, std::move(rules), [&gpu](pid_t pid) { return gpu.read_facts(pid); },
        [&gpu](pid_t pid) { return gpu.origin(pid); }, [&gpu] { return gpu.now; },
        [&lines](xpreemptd::LogLevel, const std::string& line) { lines.push_back(line); });
}

class DaemonFixture : public testing::Test {
protected:
    explicit DaemonFixture(xpreemptd::Rules rules = rules_of_test())
        : daemon(daemon_over(gpu, lines, std::move(rules))) {}

    void add(pid_t pid, const std::string& executable) {
        gpu.create_queue(pid, 1);
        gpu.running.at(pid).executable = executable;
        gpu.running.at(pid).cgroup = "/job" + std::to_string(pid);
    }
    void start_two() {
        add(server, "/server");
        add(batch, "/batch");
        daemon.start();
        gpu.submit(batch, 1);
        events();
        pass(std::chrono::milliseconds{50});
    }
    void events() {
        if (!gpu.events.empty())
            daemon.on_events();
    }
    void pass(std::chrono::nanoseconds time) { pass(daemon, time); }
    // As the loop of main() does it.
    void pass(xpreemptd::Daemon& of, std::chrono::nanoseconds time) {
        const Time end = gpu.now + time;
        for (;;) {
            if (!gpu.events.empty())
                of.on_events();
            const Time next = of.next();
            if (next > end)
                break;
            ASSERT_GE(next, last_time) << "the daemon would spin";
            turns = next == gpu.now ? turns + 1 : 0;
            ASSERT_LT(turns, 10) << "the daemon would spin";
            gpu.now = std::max(gpu.now, next);
            last_time = gpu.now;
            of.on_time();
        }
        gpu.now = std::max(gpu.now, end);
    }
    [[nodiscard]] xpreemptd::JobReport job(pid_t pid) const { return job(daemon, pid); }
    [[nodiscard]] static xpreemptd::JobReport job(const xpreemptd::Daemon& of, pid_t pid) {
        for (const xpreemptd::JobReport& report : of.jobs())
            if (std::ranges::find(report.pids, pid) != report.pids.end())
                return report;
        return {};
    }

    FakeProvider gpu;
    std::vector<std::string> lines;
    xpreemptd::Daemon daemon;
    Time last_time{};
    int turns = 0;
};

} // namespace test
