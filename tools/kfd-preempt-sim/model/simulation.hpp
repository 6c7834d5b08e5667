// SPDX-License-Identifier: MIT
// One run of a scenario under a policy, or under none.
#pragma once

#include "kfd-preempt-sim/scenario.hpp"
#include "model_provider.hpp"
#include "source.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

struct RunOptions {
    std::optional<std::string> policy = {};    // none: every job runs, nothing is stopped
    std::optional<std::size_t> only_job = {};  // alone on the GPU
    std::optional<sched::Band> only_band = {}; // alone with the other jobs of its band
    bool keep_calls = false;
};

struct JobResult {
    bool ran = false;
    Record record;
    double work = 0; // kernel time done, in ns
    Time longest_wait = 0;
    std::uint64_t edges = 0;       // that the daemon saw it become ready
    std::uint64_t stops = 0;       // of the job
    std::uint64_t preemptions = 0; // decisions that stopped others so that it could run
    std::uint64_t saves = 0;       // Gpu::saves_of(), with the warmup
};

struct RunResult {
    std::vector<JobResult> jobs; // as in the scenario
    Time measured = 0;           // without the warmup
    std::uint64_t events = 0;
    std::vector<ModelProvider::Call> calls; // of the driver, if they are kept
    std::uint64_t runlists = 0;             // Gpu::runlists()
    // Why the daemon ejected the policy, and when: then the run ended. Empty: it didn't.
    std::string fault;
    Time ended = 0;
};

[[nodiscard]] RunResult simulate(const Scenario& scenario, const RunOptions& options);

} // namespace sim
