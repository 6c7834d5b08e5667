// SPDX-License-Identifier: MIT
// Lv1 on the virtual-time device: how long a suspend waits, and what keeping that short costs.
#include "suites.hpp"

#include "preemption_run.hpp"

namespace bench {

namespace {

constexpr double to_us = 1e-3;

void add(const Options& options, const DeviceCosts& costs, const std::string& suffix,
         const xpreempt::xqueue::LaunchConfig& config, bool has_target, Run& run) {
    const PreemptionRun measured = run_preemptions(costs, config, options.seed, options.samples);
    const double command_us = static_cast<double>(costs.command_ns) * to_us;
    const std::string how = config.latency_budget_ns != 0 ? "adaptive threshold, budget 40 us, "
                                                          : "threshold 8, batch 4, ";
    const std::string device = "device: marker " + std::to_string(costs.marker_ns) +
                               " ns, launch " + std::to_string(costs.launch_ns) + " ns, wake-up " +
                               std::to_string(static_cast<int>(costs.wake_median_ns)) +
                               " ns, p99 " + std::to_string(static_cast<int>(costs.wake_p99_ns)) +
                               " ns; " + std::to_string(measured.threshold) +
                               " in flight at the end";
    Figure latency{"lv1_suspend_over_T_" + suffix, "T", Kind::emulated,
                   how +
                       "suspend at a random moment until all that was launched has completed, "
                       "over the time of a command; " +
                       device};
    if (has_target) {
        latency.target_of = Statistic::p99;
        latency.target = 2.0;
    }
    for (const std::uint64_t ns : measured.latencies_ns)
        latency.samples.push_back(static_cast<double>(ns) * to_us / command_us);
    run.figures.push_back(std::move(latency));
    Figure overhead{"lv1_overhead_" + suffix, "%", Kind::emulated,
                    how + "time of 500 commands over that when all are launched at once, less one"};
    if (has_target) {
        overhead.target_of = Statistic::p50;
        overhead.target = 2.0;
    }
    overhead.samples.push_back(measured.overhead * 100);
    run.figures.push_back(std::move(overhead));
}

} // namespace

Failure run_virtual(const Options& options, Run& run) {
    for (const std::uint64_t us : {20, 50, 100, 200, 500, 1000, 2000}) {
        const DeviceCosts costs{.command_ns = us * 1000, .marker_ns = options.marker_ns};
        const std::string suffix = std::to_string(us) + "us";
        add(options, costs, suffix, {16, 8, 65536, 40000}, true, run);
        add(options, costs, suffix + "_fixed_8_4", {8, 4, 65536, 0}, false, run);
    }
    return {};
}

} // namespace bench
