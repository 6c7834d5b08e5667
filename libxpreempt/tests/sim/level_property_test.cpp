// SPDX-License-Identifier: MIT
// Properties of the policies that compare levels: BAND, HPF, HHPF, CHPF, AWF, LAX.
#include "sim/properties.hpp"

#include <deque>
#include <map>

namespace {

using namespace test;
using xpreempt::sched::CpuHighestPriorityFirst;
using xpreempt::sched::FocusFirst;
using xpreempt::sched::HeterogeneousHighestPriorityFirst;
using xpreempt::sched::HighestPriorityFirst;
using xpreempt::sched::TwoLevel;

bool meet(const JobView& left, const JobView& right) {
    return (left.nodes & right.nodes) != 0;
}

constexpr HighestPriorityFirst::Parameters no_linger{0ns};

// Events other than time alone stop jobs.
void expect_no_timers(const RandomRun& run) {
    EXPECT_EQ(0U, run.timers);
    EXPECT_LE(run.preemptions, run.happenings + run.ends);
}

void expect_levels(const Policy& policy, const Holds& holds) {
    for_events(
        policy, {},
        [&](RandomRun& run, const auto& verdicts) { expect_held_by(run, verdicts, holds); },
        expect_no_timers);
}

TEST(PropertiesOfHpf, exactly_those_below_a_running_job_of_their_nodes_wait) {
    expect_levels(HighestPriorityFirst(no_linger),
                  [](const JobView& held, const JobView& runs, Time) {
                      return runs.priority > held.priority && meet(runs, held);
                  });
}

TEST(PropertiesOfHhpf, exactly_those_below_a_running_job_of_the_machine_wait) {
    expect_levels(HeterogeneousHighestPriorityFirst(no_linger),
                  [](const JobView& held, const JobView& runs, Time) {
                      return runs.priority > held.priority;
                  });
}

TEST(PropertiesOfHhpf, work_is_not_conserved) {
    VirtualJobs jobs(HeterogeneousHighestPriorityFirst{});
    jobs.add(1, 0b01).view.priority = 1;
    jobs.add(2, 0b10);
    for (VirtualJob& job : jobs.jobs)
        jobs.work(job, endless);
    jobs.decide();
    EXPECT_TRUE(jobs.of(2).view.held); // its node is idle
}

TEST(PropertiesOfChpf, exactly_those_below_by_cpu_priority_wait) {
    expect_levels(CpuHighestPriorityFirst(no_linger),
                  [](const JobView& held, const JobView& runs, Time) {
                      return runs.cpu_priority > held.cpu_priority && meet(runs, held);
                  });
}

TEST(PropertiesOfChpf, the_whole_range_of_priorities_is_ordered) {
    VirtualJobs jobs(CpuHighestPriorityFirst{});
    jobs.add(1).view.cpu_priority = std::numeric_limits<std::int32_t>::min();
    jobs.add(2).view.cpu_priority = std::numeric_limits<std::int32_t>::max();
    for (VirtualJob& job : jobs.jobs)
        jobs.work(job, endless);
    jobs.decide();
    EXPECT_TRUE(jobs.of(1).view.held);
    EXPECT_TRUE(jobs.of(2).runs());
}

TEST(PropertiesOfAwf, exactly_those_behind_a_focused_job_wait) {
    expect_levels(FocusFirst(no_linger), [](const JobView& held, const JobView& runs, Time) {
        return runs.focused && !held.focused && meet(runs, held);
    });
}

TEST(PropertiesOfAwf, focused_jobs_run_together) {
    VirtualJobs jobs(FocusFirst{});
    for (const std::uint64_t id : {1U, 2U, 3U}) {
        jobs.add(id).view.focused = id != 3;
        jobs.work(jobs.of(id), endless);
    }
    jobs.decide();
    jobs.advance(1s);
    EXPECT_EQ(1s, jobs.of(1).ran);
    EXPECT_EQ(1s, jobs.of(2).ran);
    EXPECT_EQ(0s, jobs.of(3).ran);
}

bool is_critical(const JobView& job, Time now) {
    return job.lax != endless && now - job.ready_since >= job.lax;
}

TEST(PropertiesOfLax, exactly_those_that_are_not_critical_wait_for_those_that_are) {
    for_events(
        TwoLevel{}, {},
        [](RandomRun& run, const auto& verdicts) {
            expect_held_by(run, verdicts, [](const JobView& held, const JobView& runs, Time now) {
                return is_critical(runs, now) && !is_critical(held, now) && meet(runs, held);
            });
            Time next = at_next_event;
            for (const VirtualJob& job : run.jobs.jobs)
                if (job.view.schedulable() && job.view.lax != endless &&
                    !is_critical(job.view, run.jobs.now))
                    next = std::min(next, job.view.ready_since + job.view.lax);
            EXPECT_EQ(next, run.jobs.next);
        },
        [](const RandomRun& run) {
            EXPECT_LE(run.timers, run.happenings); // each is about one job
            EXPECT_LE(run.preemptions, 2 * run.happenings);
        });
}

TEST(PropertiesOfLax, a_request_waits_no_longer_than_its_laxity_for_one_without) {
    VirtualJobs jobs(TwoLevel{});
    jobs.add(1);
    jobs.add(2).view.lax = 10ms;
    for (VirtualJob& job : jobs.jobs)
        jobs.work(job, endless);
    jobs.decide();
    jobs.advance(10ms - 1ns);
    EXPECT_TRUE(jobs.of(1).runs());
    EXPECT_TRUE(jobs.of(2).runs());
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(1).view.held);
    EXPECT_TRUE(jobs.of(2).runs());
}

// When each job was last busy, seen from outside.
class BusyJobs {
public:
    void note(const RandomRun& run, const std::vector<Verdict>& verdicts) {
        for (auto& [id, busy] : busy_)
            if (std::exchange(busy, false))
                last_[id] = run.jobs.now;
        for (std::size_t i = 0; i < verdicts.size(); ++i)
            if (const JobView& job = run.job(i).view; runs_after(job, verdicts[i]))
                busy_[job.id] = true;
    }
    // A job of a higher band, one of those that are there, was on one of its nodes, less than
    // `grace` ago.
    [[nodiscard]] bool above(const JobView& job, const RandomRun& run, Duration grace) const {
        return std::ranges::any_of(run.jobs.jobs, [&](const VirtualJob& other) {
            const JobView& higher = other.view;
            if (higher.band >= job.band || !meet(higher, job))
                return false;
            const auto busy = busy_.find(higher.id);
            const auto last = last_.find(higher.id);
            return (busy != busy_.end() && busy->second) ||
                   (last != last_.end() && run.jobs.now - last->second < grace);
        });
    }

private:
    std::map<std::uint64_t, bool> busy_;
    std::map<std::uint64_t, Time> last_;
};

// Past its grace a job of a higher band stops those below; they resume when none was busy for
// resume_grace.
TEST(PropertiesOfBand, exactly_those_wait_that_a_higher_band_holds_or_has_held) {
    Bands::Parameters strict = busy_bands();
    strict.floor_percent = 0;
    strict.max_rate = 0;
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events && !HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        BusyJobs busy;
        RandomRun run(Bands(strict), seed, {}, [&](RandomRun& of, const auto& verdicts) {
            const Time now = of.jobs.now;
            busy.note(of, verdicts);
            for (std::size_t i = 0; i < verdicts.size(); ++i) {
                const JobView& job = of.job(i).view;
                bool waits = job.held && busy.above(job, of, strict.resume_grace);
                for (std::size_t j = 0; j < verdicts.size(); ++j) {
                    const JobView& higher = of.job(j).view;
                    const auto grace = strict.grace.at(static_cast<std::size_t>(higher.band));
                    waits |= higher.band < job.band && meet(higher, job) &&
                             runs_after(higher, verdicts[j]) && higher.ready_since + grace <= now;
                }
                EXPECT_EQ(job.schedulable() && waits, verdicts[i] == Verdict::hold)
                    << "job " << job.id;
            }
        });
        run.go();
        decisions += run.decisions;
    }
}

// The bound is for each node and for each band above.
TEST(PropertiesOfBand, no_second_has_more_than_max_rate_preemptions) {
    Bands::Parameters bounded = busy_bands();
    bounded.max_rate = 1;
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events / 4 && !HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        std::map<std::pair<std::uint64_t, Band>, std::deque<Time>> stops;
        RandomRun run(Bands(bounded), seed, {.gangs = false}, [&](RandomRun& of, const auto& made) {
            for (std::size_t i = 0; i < made.size(); ++i) {
                const JobView& job = of.job(i).view;
                auto& last_second = stops[{job.nodes, job.band}];
                while (!last_second.empty() && of.jobs.now - last_second.front() >= 1s)
                    last_second.pop_front();
                if (made[i] == Verdict::hold && of.ran(of.job(i)) && of.job(i).runs() &&
                    (last_second.empty() || last_second.back() != of.jobs.now))
                    last_second.push_back(of.jobs.now);
                EXPECT_LE(last_second.size(),
                          static_cast<std::size_t>(job.band) * bounded.max_rate);
            }
        });
        run.go();
        decisions += run.decisions;
    }
}

TEST(PropertiesOfBand, the_lowest_band_gets_its_floor) {
    for (const std::uint32_t floor : {3U, 10U, 30U}) {
        Bands::Parameters parameters = busy_bands();
        parameters.floor_percent = floor;
        VirtualJobs jobs{Bands(parameters)};
        jobs.work(jobs.add(1), endless);
        jobs.work(jobs.add(2), endless);
        jobs.of(1).view.band = Band::high;
        jobs.of(2).view.band = Band::idle;
        jobs.decide();
        jobs.advance(10s);
        EXPECT_NEAR(floor / 100.0, seconds_of(jobs.of(2).ran) / 10, 0.01);
        EXPECT_EQ(10s, jobs.of(1).ran);
    }
}

} // namespace
