// SPDX-License-Identifier: MIT
// A recording of xpreemptd as a scenario: the jobs' ready and idle edges as arrivals.
#pragma once

#include "comparison.hpp"
#include "scenario_file.hpp"

namespace sim {

// A request lasts from a ready edge of the job to its idle edge. Its work is the time in between
// that the job ran: more than it would have needed alone, if other jobs ran beside it.
struct RecordedJob {
    std::string name;
    std::uint64_t nodes = 0;
    std::vector<TraceEntry> requests;
    bool goes_on = false; // the last one was under way when the recording ended
    std::vector<Time> latencies;
    std::uint64_t stops = 0;
    Time longest_wait = 0;
};

struct Recording {
    std::vector<RecordedJob> jobs;          // those that had work
    std::vector<ModelProvider::Call> calls; // without other jobs
    std::uint32_t nodes = 1;
    Time duration = 0;
    std::uint64_t lost = 0; // records
};

// A file of `kfd-preempt trace`.
[[nodiscard]] Answer<Recording> parse_recording(std::string_view text, const std::string& file);

// Bands and other attributes aren't in a recording: they come by settings.
[[nodiscard]] Answer<Scenario> scenario_of(const Recording& recording,
                                           std::span<const Setting> settings,
                                           const OptionalPlugin& plugin = {});
// The recorded figures, in the columns of a comparison.
[[nodiscard]] std::vector<Row> rows_of(const Recording& recording, const Scenario& scenario);

} // namespace sim
