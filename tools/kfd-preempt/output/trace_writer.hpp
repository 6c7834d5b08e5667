// SPDX-License-Identifier: MIT
// Records of xpreemptd as events of a trace that Perfetto and chrome://tracing load.
#pragma once

#include "output/report.hpp"
#include "xpreemptd/protocol/replies.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cli {

// Returns JSON text, piece by piece; together the pieces are one object with "traceEvents". A job
// is a process of the trace, with a track for each of its GPUs, on which a slice lasts as long as a
// phase, and one for its stops and resumes. Process 0 is the daemon: decisions and counters.
// Timestamps never fall, and slices of a track begin and end in turn.
class TraceWriter {
public:
    using Time = std::chrono::nanoseconds; // CLOCK_MONOTONIC

    [[nodiscard]] std::string begin(Time now);
    // Names for the jobs that have none yet.
    [[nodiscard]] std::string names(const std::vector<xpreemptd::ListedJob>& jobs);
    // The same, and the phases that the jobs have before the first record.
    [[nodiscard]] std::string phases(const std::vector<xpreemptd::ListedJob>& jobs, Time now);
    [[nodiscard]] std::string record(const xpreemptd::ShownRecord& shown);
    // Nothing is known of the time since the last event: all slices end there. Call phases() next.
    [[nodiscard]] std::string lost(std::uint64_t records);
    [[nodiscard]] std::string end(Time now);

    // False for a job without a name and without a record.
    [[nodiscard]] bool knows(std::uint64_t job) const { return tracks_.contains(job); }
    [[nodiscard]] std::uint64_t events() const { return events_; }

private:
    using Phase = xpreemptd::Phase;
    struct Track {
        std::string name;
        Phase phase = Phase::idle;
        std::vector<std::uint32_t> gpu_ids; // with an open slice
        std::set<std::uint32_t> named;      // of the tracks
        bool told = false;                  // its phase
    };

    std::string event(const char* type, std::uint64_t process, std::uint64_t thread,
                      const Json& more);
    std::string name_process(std::uint64_t process, const std::string& name);
    std::string name_thread(std::uint64_t process, std::uint64_t thread, const std::string& name);
    std::string close(std::uint64_t job, Track& track);
    std::string open(std::uint64_t job, Track& track, Phase phase,
                     const std::vector<std::uint32_t>& gpu_ids);
    std::string counters();
    [[nodiscard]] std::string name_of_job(std::uint64_t job) const;
    void advance(Time now) { now_ = std::max(now_, now); }

    std::map<std::uint64_t, Track> tracks_; // by the id of the job
    Time now_{0};
    std::uint64_t events_ = 0;
    std::string last_counters_;
};

} // namespace cli
