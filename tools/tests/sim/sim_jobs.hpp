// SPDX-License-Identifier: MIT
// Scenarios for tests of the simulator.
#pragma once

#include "kfd-preempt-sim/comparison.hpp"
#include "kfd-preempt-sim/scenario_file.hpp"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sim_test {

using namespace sim; // NOLINT(google-build-using-namespace): tests of it

inline JobSpec closed_job(std::string name, Time kernel) {
    JobSpec job;
    job.name = std::move(name);
    job.kernel = kernel;
    return job;
}

inline JobSpec poisson_job(std::string name, double rate, Time kernel) {
    JobSpec job = closed_job(std::move(name), kernel);
    job.arrival = Arrival::poisson;
    job.rate = rate;
    return job;
}

// A model in which nothing costs anything and one job fills the GPU.
inline Scenario plain_scenario(std::vector<JobSpec> jobs, Time duration) {
    Scenario scenario;
    scenario.name = "test";
    scenario.duration = duration;
    scenario.gpu.capacity = 1;
    scenario.gpu.ioctl = scenario.gpu.remap = scenario.gpu.dequeue = 0;
    scenario.gpu.trap_p50 = scenario.gpu.trap_p99 = 0;
    scenario.gpu.state_mb = 0;
    scenario.jobs = std::move(jobs);
    return scenario;
}

inline double mean(const std::vector<Time>& times) {
    return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

inline double share(const RunResult& result, std::size_t job) {
    return result.jobs[job].work / static_cast<double>(result.measured);
}

} // namespace sim_test
