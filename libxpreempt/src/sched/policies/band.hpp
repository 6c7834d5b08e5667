// SPDX-License-Identifier: MIT
// Policy BAND: realtime before high before normal before idle, at a bounded rate of preemptions.
#pragma once

#include "sched/turns.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace xpreempt::sched {

// Goal: jobs of a higher band keep their latency, the jobs below take what is left, and the number
// of stops stays small.
// Definition: jobs of one band run together. A ready job claims its nodes after the grace of its
// band, and ready jobs of lower bands on these nodes are held. A held job resumes when no higher
// job on its nodes was ready for resume_grace. A job that is held although it has work gets `floor`
// of the time: it then runs beside the higher jobs, together with the held jobs of its band on the
// same nodes. The higher job is never stopped for it.
// A preemption is a decision that stops at least one job, however many, for a band that claims one
// of its nodes. At most max_rate of them happen in any second for each node and each such band;
// beyond that, lower jobs run on until the window has room. So jobs on one node, or those of a
// lower band, take no preemptions away from others. A job is stopped at most once for each ready
// edge, of a higher job or its own; the end of a floor turn is the exception, and needs floor_turn
// * (100 / floor) since the last one. Hints: a job that announces work claims its nodes after the
// grace of its band as if it were ready, until its work comes or the announcement lapses; lower
// jobs then resume at once. A job that is idle and has finished, or that has ended, imposes no
// resume_grace. So a job gets by hints what it could have by submitting work: it never holds an
// equal or higher band, the floor is paid, and max_rate bounds the preemptions of both. Not
// work-conserving for up to resume_grace: a batch job that resumed in every gap between two decode
// steps of a language model would be stopped up to 211 times a request. Use it by default. Don't
// use it to share a GPU among equals: inside a band nothing is scheduled.
class Bands {
public:
    // tools/kfd-preempt-sim/results/RESULTS.md has the sweeps behind the defaults.
    struct Parameters {
        std::array<Duration, num_bands> grace{Duration{0}, Duration{0},
                                              std::chrono::milliseconds{1}, Duration{0}};
        std::uint32_t floor_percent = 2; // 0: lower bands may starve; at most 99
        Duration floor_turn = std::chrono::milliseconds{50};
        Duration resume_grace = std::chrono::milliseconds{1}; // at least 5 switch costs
        std::uint32_t max_rate = 500; // preemptions a second, of a node and a band; 0: no bound

        bool operator==(const Parameters&) const = default;
    };

    Bands() : Bands(Parameters{}) {}
    explicit Bands(const Parameters& parameters);

    void admit(std::span<const JobView> jobs);
    [[nodiscard]] bool matches(std::span<const JobView> jobs) {
        return seats_.matches(jobs) && has_windows_for(jobs);
    }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    [[nodiscard]] Duration resume_grace() const { return resume_grace_; } // of the last decision
    bool operator==(const Bands&) const = default;

private:
    struct Starving {
        // Time that the floor owes to the job, in ns * 100: grows by floor_percent a ns while it is
        // held, falls by the rest while it isn't.
        std::int64_t owed = 0;
        bool turn = false;  // runs because of the floor
        bool asked = false; // the last verdict was to hold it
        bool busy = false;  // ran, ready, after the last decision
        bool over = false;  // was idle and had finished, then
        Time quiet_until{}; // its own part of the resume grace
        bool operator==(const Starving&) const = default;
    };
    // Nodes, one bit each.
    struct Nodes {
        std::uint64_t claimed = 0; // by ready or announced higher jobs past their grace
        std::uint64_t pending = 0; // by those within it
        std::uint64_t quiet = 0;   // by higher jobs that went idle less than resume_grace ago
    };

    void pay(const Snapshot& snapshot);
    void begin_turns(std::span<const JobView> jobs);
    void join_turn(std::span<const JobView> jobs, std::size_t leader);
    Nodes claims_of(Band band, const Snapshot& snapshot, std::span<const Verdict> verdicts,
                    Time& next);
    std::uint64_t quiet_after(Band band, std::uint64_t busy, const Snapshot& snapshot);
    void decide_band(Band band, const Nodes& above, const Snapshot& snapshot,
                     std::span<Verdict> verdicts);
    // Nodes that the jobs of each band claim.
    using Claims = std::array<std::uint64_t, num_bands>;
    void bound_rate(const Claims& claims, const Snapshot& snapshot, std::span<Verdict> verdicts,
                    Time& next);
    // Those of the nodes on which the band may preempt now; when it may on one of the others.
    [[nodiscard]] std::uint64_t with_room(std::size_t band, std::uint64_t nodes, Time now,
                                          Time& later) const;
    [[nodiscard]] bool has_windows_for(std::span<const JobView> jobs) const;
    [[nodiscard]] Time floor_timer(const Snapshot& snapshot,
                                   std::span<const Verdict> verdicts) const;
    [[nodiscard]] static bool preempts(const Starving& state, const JobView& job, Verdict verdict) {
        return verdict == Verdict::hold && !job.held && !state.asked;
    }

    Parameters parameters_;
    Duration resume_grace_{0};
    Seats<Starving> seats_;
    Stopwatch stopwatch_;
    // Nodes in the resume grace of each band, and the ends of these graces.
    std::array<std::uint64_t, num_bands> quieting_{};
    std::array<std::array<Time, max_nodes>, num_bands> quiet_until_{};
    // The last max_rate preemptions for a band on a node, a ring.
    struct Window {
        std::vector<Time> preemptions;
        std::size_t oldest = 0;
        bool operator==(const Window&) const = default;
    };
    // By node, then by the band that claims it: the lowest band claims nothing from others.
    std::vector<std::array<Window, num_bands - 1>> windows_;
};

} // namespace xpreempt::sched
