// SPDX-License-Identifier: MIT
// Policy PARK: holds jobs that have been idle for long.
#pragma once

#include "sched/seats.hpp"

#include <chrono>

namespace xpreempt::sched {

// Goal: a GPU whose jobs are all idle reaches its low clocks and its idle power, although their
// queues stay open.
// Definition: all ready jobs run. A job that has been idle for park_after is held until it is ready
// or announces work. The only policy that holds jobs without work.
// Parameters: park_after, at least 1 ms.
// Use it for servers that wait most of the day. Don't use it to share a GPU, nor where the first
// request after a pause must not wait for a resume.
// Work-conserving. No job starves: none with work is held. Preemptions: at most one of a job for
// each ready edge.
class IdleParking {
public:
    struct Parameters {
        Duration park_after = std::chrono::seconds{2};
        bool operator==(const Parameters&) const = default;
    };

    IdleParking() : IdleParking(Parameters{}) {}
    explicit IdleParking(const Parameters& parameters);

    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    bool operator==(const IdleParking&) const = default;

private:
    struct Seat {
        bool idle = false;
        Time idle_since{}; // or since the job came
        bool operator==(const Seat&) const = default;
    };

    Parameters parameters_;
    Seats<Seat> seats_;
};

} // namespace xpreempt::sched
