// SPDX-License-Identifier: MIT
// Jobs of a daemon under whose rules memory yields, on a GPU with 16 GiB.
#pragma once

#include "daemon_fixture.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace test {

constexpr pid_t batch2 = 30;
constexpr std::uint64_t gib = 1 << 30;

inline xpreemptd::Rules rules_with_turns() {
    xpreemptd::Rules rules = rules_of_test();
    rules.defaults.yields = true;
    xpreemptd::Rule parked;
    parked.executable = "/parked";
    parked.set.park_after = std::chrono::seconds{30};
    rules.rules.push_back(parked);
    xpreemptd::Rule stays;
    stays.executable = "/stays";
    stays.set.yields = false;
    rules.rules.push_back(stays);
    return rules;
}

class MemoryTurnsTest : public DaemonFixture {
protected:
    MemoryTurnsTest() {
        gpu.vram_size = 16 * gib; // before the daemon sees these rules
        daemon.reload(rules_with_turns());
    }

    void add(pid_t pid, const std::string& executable, std::uint64_t resident,
             std::uint64_t away = 0) {
        DaemonFixture::add(pid, executable);
        gpu.vram[pid] = {.gpu_id = 1, .resident = resident, .away = away};
    }
    // The move takes `time`; the daemon runs meanwhile.
    void move(std::chrono::nanoseconds time = std::chrono::milliseconds{100}) {
        pass(time);
        for (const xpreemptd::Move& under_way : gpu.moving)
            for (const xpreemptd::Switch& of : under_way.switches)
                gpu.vram[of.pid].last_moves = 2 * time;
        daemon.on_moved();
        pass(std::chrono::milliseconds{10});
    }
    [[nodiscard]] bool away(pid_t pid) { return gpu.vram.at(pid).away != 0; }

    // A batch job has most of VRAM and works; another one is away, and gets work.
    void two_that_do_not_fit() {
        add(batch, "/batch", 12 * gib);
        add(batch2, "/batch2", 0, 12 * gib);
        daemon.start();
        gpu.submit(batch, 1);
        gpu.submit(batch2, 1);
        pass(std::chrono::milliseconds{500});
    }
};

} // namespace test
