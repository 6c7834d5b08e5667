// SPDX-License-Identifier: MIT
// A scenario: a GPU, jobs and their arrivals, and published figures to compare with.
#pragma once

#include "model/time.hpp"
#include "sched/snapshot.hpp"
#include "xpreemptd/toml/policy_parameters.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

namespace attribute = xpreempt::attribute;
namespace sched = xpreempt::sched;

enum class Sensing : std::uint8_t { trap, poll };

// Defaults and sources: constants.cpp.
struct GpuModel {
    std::uint32_t nodes = 1;
    double capacity = 1.07;
    bool hws = true;
    std::uint32_t slots = 24, vmids = 8;
    std::uint32_t processes = 0; // that the firmware maps at once; 0: as many as there are VMIDs
    Time quantum = 10 * ms;
    Time ioctl = 5 * us, remap = 12 * us, dequeue = 10 * us;
    double state_mb = 186, save_gb_s = 4240;
    Sensing sensing = Sensing::trap;
    Time trap_p50 = 20 * us, trap_p99 = 50 * us, poll_p50 = 150 * us, poll_p99 = 300 * us;
    Time hurried_poll = 1 * ms, calm_poll = 10 * ms;
    bool measure_switches = true;
    std::uint64_t vram = std::uint64_t{192} << 30U; // of a node
};

enum class Arrival : std::uint8_t { closed, periodic, poisson, gamma, bursts, trace };

struct TraceEntry {
    Time at = 0;
    Time work = 0; // 0: drawn
    std::uint32_t context = 0, generated = 0;
};

// Continuous batching of a language model server.
struct Serving {
    bool enabled = false;
    double context_median = 1000, context_sigma = 1, generated_median = 100, generated_sigma = 1;
    std::uint32_t most_tokens = 8192, batch = 32;
    Time prefill = 5 * ms, prefill_token = 50 * us, decode = 15 * ms, decode_request = 100 * us;
    Time bubble = 500 * us;
};

struct JobSpec {
    std::string name;
#define JOB_ATTRIBUTE(kind, name, least, most, initial, ...)                                       \
    attribute::kind::Seen name = attribute::kind::seen(initial);
#define ATTRIBUTE JOB_ATTRIBUTE
#define VIEW_ATTRIBUTE(type, view, initial) type view = initial;
#include "base/attributes.def"
    std::uint64_t nodes = 1;
    std::uint64_t vram = 0;
    std::uint32_t processes = 1, queues = 5, streams = 1;
    double demand = 1, occupancy = 1;

    Arrival arrival = Arrival::closed;
    double rate = 1;   // of requests, or of bursts, a second
    double jitter = 0; // periodic and bursts: part of the interval
    double shape = 1;  // gamma
    Time start = 0, think = 0;
    std::uint32_t burst = 1;
    Time spacing = 0; // in a burst
    std::vector<TraceEntry> trace;
    bool newest = false; // a request that waits is replaced by the next one
    Time announce = 0;   // the job hints so long before it submits

    std::uint32_t kernels = 1;
    Time kernel = 1 * ms;
    double sigma = 0; // of the logarithm of a kernel's time
    bool exponential = false;
    Time gap = 0; // of the host, between two kernels
    Serving serving;
};

// A figure of a paper, in the columns that it has.
struct Published {
    std::string system, hardware, jobs, source;
    std::optional<double> mean_over_alone, p99_over_alone, throughput_over_free, preemptions;
    std::optional<double> first_token_over_alone, token_over_alone;
};

struct Scenario {
    std::string name, about;
    Time duration = 10 * second, warmup = 0;
    std::uint64_t seed = 1;
    GpuModel gpu;
    xpreemptd::PolicyParameters policies;
    std::vector<JobSpec> jobs;
    std::vector<Published> published;
};

} // namespace sim
