// SPDX-License-Identifier: MIT
// Records for `kfd-preempt trace`: decisions, stops, resumes, and the phases of jobs.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace xpreemptd {

// The daemon among the processes of a trace file, whose numbers are those of jobs otherwise.
// Viewers take 0 for the idle task of the kernel; older files have it for the daemon.
constexpr std::uint64_t daemon_in_trace = 1'000'000'000;

// Phase of a job: whether it has work, and whether that runs. JobReport::state shows who holds it.
enum class Phase : std::uint8_t {
    idle,    // has no work
    running, // has work, and its queues are on the GPU
    waiting, // has work, and the daemon holds it
    held,    // has work, and is held by others
    gone,
};
inline constexpr std::array<std::string_view, 5> phase_names{"idle", "running", "waiting", "held",
                                                             "gone"};

// Why a decision was made.
enum class Cause : std::uint8_t {
    ring,    // a doorbell: the job became ready
    change,  // processes or queues came or went
    poll,    // a poll or a scan saw work begin or end
    timer,   // the time came that the policy had asked for
    retry,   // of what the driver refused
    request, // attributes of a job were changed, or hints of it came or ended
    policy,  // another policy, or other rules
    ejected, // the policy held a job for nothing
    moved,   // memory has left VRAM, or is back in it
};
inline constexpr std::array<std::string_view, 9> cause_names{
    "ring", "change", "poll", "timer", "retry", "request", "policy", "ejected", "moved"};

enum class Happening : std::uint8_t { decision, stop, resume, phase };
inline constexpr std::array<std::string_view, 4> happening_names{"decision", "stop", "resume",
                                                                 "phase"};

struct TraceRecord {
    std::chrono::nanoseconds at{0}; // CLOCK_MONOTONIC; never less than that of the record before
    Happening what = Happening::phase;
    std::uint64_t job = 0;            // decision: the one that rang; 0: none
    Cause cause = Cause::poll;        // decision
    Phase phase = Phase::idle;        // phase
    std::uint64_t nodes = 0;          // phase: a bit for each GPU, in the daemon
    std::uint64_t for_job = 0;        // stop: the first one that runs instead; 0: none
    std::uint32_t queues = 0;         // stop, resume: that were asked for
    std::uint32_t failed = 0;         // stop, resume: of those
    std::chrono::nanoseconds took{0}; // stop, resume: the call of the driver

    bool operator==(const TraceRecord&) const = default;
};

struct ShownRecord {
    TraceRecord record;
    std::vector<std::uint32_t> gpu_ids; // of its nodes
};

struct TracePage {
    std::chrono::nanoseconds now{0};
    std::uint64_t first = 0; // number of the first record here
    std::uint64_t next = 0;  // of the first one that isn't: ask for it
    std::uint64_t lost = 0;  // records between what was asked for and the first one
    std::vector<ShownRecord> records;
};

} // namespace xpreemptd
