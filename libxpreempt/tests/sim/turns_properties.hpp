// SPDX-License-Identifier: MIT
// Bounds on waits, and shares: for policies that run one job at a time.
#pragma once

#include "sim/properties.hpp"

#include <utility>

namespace test {

inline constexpr RandomRun::Shape one_node{.nodes = 1};
constexpr int most_jobs = 9; // as happen() makes them

inline void one_at_a_time(RandomRun& run, const std::vector<Verdict>& verdicts) {
    expect_one_at_a_time(run.jobs.jobs, verdicts);
}

// A job that a check exempts now is exempt for what it has waited so far.
class Waits {
public:
    using Exempt = std::function<bool(const JobView& job)>;
    explicit Waits(Duration longest, Exempt exempt = nullptr)
        : longest_(longest), exempt_(std::move(exempt)) {}
    void check(const RandomRun& run) {
        for (const VirtualJob& job : run.jobs.jobs) {
            const Time now = run.jobs.now;
            if (!job.view.held || !job.view.schedulable() || (exempt_ && exempt_(job.view)))
                since_[job.view.id] = now;
            EXPECT_LE(now - since_[job.view.id], longest_) << "job " << job.view.id;
        }
    }

private:
    Duration longest_;
    Exempt exempt_;
    std::map<std::uint64_t, Time> since_;
};

// On one node.
inline void expect_bounded_waits(const Policy& policy, Duration longest,
                                 const Waits::Exempt& exempt = nullptr) {
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        Waits waits(longest, exempt);
        RandomRun run(policy, seed, one_node, [&](RandomRun& of, const auto&) { waits.check(of); });
        run.go();
        decisions += run.decisions;
    }
}

// Jobs that are always ready, on one node: their parts of each of three seconds.
struct Shares {
    std::function<void(VirtualJobs& jobs, JobView& job)> prepare;
    std::function<double(const JobView& job)> part; // in proportion to it
    Duration slice{5ms};
};

inline void expect_shares(const Policy& policy, const Shares& shares) {
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events / 2 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        VirtualJobs jobs(policy, seed);
        const std::uint32_t count = 2 + jobs.below(5);
        double sum = 0;
        for (std::uint64_t id = 1; id <= count; ++id) {
            VirtualJob& job = jobs.add(id);
            shares.prepare(jobs, job.view);
            sum += shares.part(job.view);
            jobs.work(job, endless);
        }
        jobs.decide();
        jobs.advance(Duration{1 + jobs.below(500'000'000)});
        jobs.timers = 0;
        for (int second = 0; second < 3; ++second) {
            for (VirtualJob& job : jobs.jobs)
                job.ran = Duration{0};
            jobs.advance(1s);
            for (const VirtualJob& job : jobs.jobs)
                EXPECT_NEAR(shares.part(job.view) / sum, seconds_of(job.ran), 0.02)
                    << "job " << job.view.id;
        }
        EXPECT_LE(jobs.timers, static_cast<std::uint64_t>(3s / shares.slice) + count);
        decisions += jobs.record.size() / 2;
    }
}

} // namespace test
