// SPDX-License-Identifier: MIT
// Random runs for the property tests of the policies, and their counters.
#pragma once

#include "sim/virtual_jobs.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace test {

using xpreempt::sched::default_weight;
using xpreempt::sched::name_of;
using xpreempt::sched::policy_named;
using xpreempt::sched::policy_names;

struct PropertyOptions {
    std::uint64_t events = 20'000; // of each random test: decisions that an event caused
    std::uint32_t seed = 1;        // the first one
};
extern PropertyOptions property_options;

// Random jobs on random nodes, and what happened to them.
class RandomRun {
public:
    // Sees each decision that an event caused, before it takes effect.
    using Check = std::function<void(RandomRun& run, const std::vector<Verdict>& verdicts)>;

    struct Shape {
        std::uint32_t nodes = 3;
        bool gangs = true;
        int happenings = 250;
        Duration pause = 8ms; // the longest between two of them
    };

    RandomRun(const Policy& policy, std::uint32_t seed, const Shape& shape, Check check)
        : jobs(policy, seed), shape_(shape), check_(std::move(check)), relabelled_(policy) {
        jobs.check = [this](Time, const auto&, const auto& verdicts) { note(verdicts); };
        jobs.asked = [this](const auto& views, const auto& verdicts) {
            expect_same_for_other_ids(views, verdicts);
        };
    }

    void go() {
        begin = jobs.now;
        for (int i = 0; i < shape_.happenings && !::testing::Test::HasFailure(); ++i) {
            happen(jobs, last_id_, shape_.nodes);
            if (!shape_.gangs)
                for (VirtualJob& job : jobs.jobs)
                    job.view.nodes &= ~job.view.nodes + 1;
            ++happenings;
            happened_ = true;
            jobs.decide();
            jobs.advance(
                Duration{1 + jobs.below(static_cast<std::uint32_t>(shape_.pause.count()))});
        }
    }

    [[nodiscard]] const VirtualJob& job(std::size_t i) const { return jobs.jobs[i]; }
    [[nodiscard]] bool ran(const VirtualJob& job) const { return ran_.contains(job.view.id); }
    // In virtual time, since the run began.
    [[nodiscard]] Duration elapsed() const { return jobs.now - begin; }

    VirtualJobs jobs;
    Time begin{};
    std::uint64_t decisions = 0;  // that an event caused
    std::uint64_t happenings = 0; // of happen()
    std::uint64_t ends = 0;       // jobs that became idle by themselves
    std::uint64_t timers = 0;     // decisions for which only a timer was due
    // Decisions that stopped a job that ran, had still work, and was ours to schedule.
    std::uint64_t preemptions = 0, preemptions_by_timer = 0;

private:
    void note(const std::vector<Verdict>& verdicts);
    void expect_same_for_other_ids(std::vector<JobView> views,
                                   const std::vector<Verdict>& verdicts);

    Shape shape_;
    Check check_;
    Policy relabelled_;
    std::uint64_t last_id_ = 0;
    bool happened_ = false;
    std::set<std::uint64_t> ran_;   // after the last decision
    std::set<std::uint64_t> ready_; // then
};

// Runs with growing seeds until the decisions of all are property_options.events, or `events`.
void for_events(const Policy& policy, const RandomRun::Shape& shape, const RandomRun::Check& check,
                const std::function<void(const RandomRun& run)>& at_end = nullptr);

// Each job that is ready runs or is held by `holds`, and by nothing else.
using Holds = std::function<bool(const JobView& held, const JobView& runs, Time now)>;
void expect_held_by(const RandomRun& run, const std::vector<Verdict>& verdicts, const Holds& holds);

// Ready jobs that a check may treat alike.
[[nodiscard]] inline bool runs_after(const JobView& job, Verdict verdict) {
    return job.schedulable() && verdict == Verdict::run;
}

[[nodiscard]] inline double seconds_of(Duration time) {
    return static_cast<double>(time.count()) / 1e9;
}

} // namespace test
