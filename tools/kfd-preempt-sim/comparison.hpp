// SPDX-License-Identifier: MIT
// Scenarios under several policies, beside the baselines.
#pragma once

#include "model/simulation.hpp"
#include "scenario.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

// Figures of a job, or of all jobs of a band. Times in ms, 0 without requests.
struct Measures {
    std::uint64_t requests = 0;
    double rate = 0; // requests that ended, a second
    double mean = 0, p50 = 0, p99 = 0, max = 0;
    double share = 0;                  // kernel time done, of the time that passed
    double stops = 0, preemptions = 0; // a request
    double longest_wait = 0;
    double first_token_mean = 0, first_token_p99 = 0, token_mean = 0, token_p99 = 0;
    // Over alone and over free sharing; 0: not known. A job alone on the GPU; of a band the mean of
    // its jobs, which are alone together.
    double mean_over_alone = 0, p99_over_alone = 0, throughput_over_free = 0, work_over_free = 0;
    double first_token_over_alone = 0, token_over_alone = 0;
};

struct Row {
    std::string policy; // or a baseline
    std::string jobs;   // a job, a band with the number of its jobs, or "all"
    enum class Of : std::uint8_t { job, band, all } of = Of::job;
    sched::Band band = sched::Band::normal;
    Measures measures;
    std::string_view origin = "simulated"; // or "recorded"
};

struct Comparison {
    std::string name;
    std::vector<Row> rows;
    std::vector<Published> published;
    bool serves = false; // has a language model server
    sched::Band first = sched::Band::idle, last = sched::Band::realtime; // of the bands
    std::uint64_t events = 0;
    std::string fault; // of a plug-in, whose rows then mean nothing; empty: none
};

inline constexpr std::string_view alone_name = "alone", free_name = "free sharing",
                                  slices_name = "HWS slices";

struct CompareOptions {
    std::vector<std::string> policies;
    bool slices = true;
    unsigned threads = 1;
    std::function<void(std::size_t done, std::size_t all)> progress = {}; // of any thread
};

// The rule that the plug-in broke, and when; empty: none.
[[nodiscard]] std::string fault_text(const RunResult& result);

// Without ratios. Its record is sorted.
[[nodiscard]] Measures measure(JobResult& job, Time measured);

// The same result with any number of threads.
[[nodiscard]] std::vector<Comparison> compare(std::span<const Scenario> scenarios,
                                              const CompareOptions& options);

} // namespace sim
