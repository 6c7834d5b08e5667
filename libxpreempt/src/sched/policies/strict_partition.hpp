// SPDX-License-Identifier: MIT
// Policy SPUP: each job has a fixed part of the time, whether it uses it or not.
#pragma once

#include "sched/seats.hpp"

#include <chrono>
#include <cstdint>

namespace xpreempt::sched {

// Goal: a job gets its part of the time and never more, so that what others do can't be seen in
// its speed: the fixed share of a virtual GPU.
// Definition: time is divided into frames, and a frame has one slot for each job on a node, also
// for an idle one. A slot is `utilization` percent of the frame, or its part of the sum where the
// jobs of one of its nodes have more than 100 together. Nothing runs on the nodes of a job in its
// slot but this job, and nothing in the rest of a frame. Slots are in the order of the number of
// nodes, the most first, then of ids; a job on several nodes has the same slot on all. If such jobs
// leave gaps, for which a frame is too short, all slots on the nodes that they connect are
// shortened by the same factor. A frame takes a slice for each job of the node that has the most of
// them. New jobs and new utilizations count from the next frame on. A job with utilization 0 never
// runs. Parameters: slice, at least 20 switch costs and at most 10 s. Use it to sell parts of a
// GPU. Don't use it to keep a GPU busy, nor with many jobs that are mostly idle: each one's part
// is reserved as long as it has queues. Not work-conserving. No job with a utilization above 0
// starves: each has a slot in each frame. Preemptions: one for each job and frame.
class StrictPartition {
public:
    struct Parameters {
        Duration slice = std::chrono::milliseconds{5};
        bool operator==(const Parameters&) const = default;
    };

    StrictPartition() : StrictPartition(Parameters{}) {}
    explicit StrictPartition(const Parameters& parameters);

    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    bool operator==(const StrictPartition&) const = default;

private:
    struct Slot {
        std::int64_t begin = 0, end = 0; // in parts of the frame
        std::uint64_t nodes = 0;         // as it was laid out for
        bool operator==(const Slot&) const = default;
    };

    void begin_frame(const Snapshot& snapshot);
    void lay_out(std::span<const JobView> jobs);
    void shorten(std::span<const JobView> jobs, std::uint64_t nodes);
    [[nodiscard]] Duration time_of(std::int64_t parts) const;

    Parameters parameters_;
    Seats<Slot> seats_;
    Time begin_{};
    Duration frame_{0}; // 0: there was none
};

} // namespace xpreempt::sched
