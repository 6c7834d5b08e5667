// SPDX-License-Identifier: MIT
// Properties of the policies that run one job at a time: FIFO, RR, CFS, MLFQ.
#include "sim/turns_properties.hpp"

#include <utility>

namespace {

using namespace test;
using xpreempt::sched::Fair;
using xpreempt::sched::FirstInFirstOut;
using xpreempt::sched::MultilevelFeedback;
using xpreempt::sched::RoundRobin;

bool is_earlier(const JobView& left, const JobView& right) {
    return std::pair(left.ready_since, left.id) < std::pair(right.ready_since, right.id);
}

// No job is overtaken by a later one unless that takes a node that it can't use yet.
TEST(PropertiesOfFifo, jobs_start_in_the_order_of_arrival) {
    for_events(FirstInFirstOut{}, {}, [](RandomRun& run, const auto& verdicts) {
        one_at_a_time(run, verdicts);
        EXPECT_EQ(at_next_event, run.jobs.next);
        for (std::size_t waits = 0; waits < verdicts.size(); ++waits) {
            const JobView& job = run.job(waits).view;
            if (verdicts[waits] != Verdict::hold)
                continue;
            bool overtaken = false, blocked = false,
                 preempted_by_earlier = !run.ran(run.job(waits));
            for (std::size_t i = 0; i < verdicts.size(); ++i) {
                const JobView& other = run.job(i).view;
                if (!runs_after(other, verdicts[i]) || (other.nodes & job.nodes) == 0)
                    continue;
                const bool starts = !run.ran(run.job(i));
                overtaken |= starts && is_earlier(job, other);
                blocked |= !starts || is_earlier(other, job);
                preempted_by_earlier |= is_earlier(other, job);
            }
            EXPECT_TRUE(!overtaken || blocked) << "job " << job.id;
            EXPECT_TRUE(preempted_by_earlier) << "job " << job.id;
        }
    });
}

TEST(PropertiesOfFifo, no_job_is_stopped_on_one_node) {
    for_events(FirstInFirstOut{}, one_node, nullptr,
               [](const RandomRun& run) { EXPECT_EQ(0U, run.preemptions); });
}

TEST(PropertiesOfFifo, a_job_that_was_idle_between_two_decisions_comes_again) {
    VirtualJobs jobs(FirstInFirstOut{});
    jobs.work(jobs.add(1), endless);
    jobs.decide();
    jobs.advance(1ms);
    jobs.work(jobs.add(2), endless);
    jobs.decide();
    jobs.advance(1ms);
    jobs.of(1).view.ready_since = jobs.now;
    ++jobs.of(1).view.ready_edges;
    jobs.decide();
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_TRUE(jobs.of(1).view.held);
}

TEST(PropertiesOfRr, one_job_at_a_time_and_a_bounded_rate) {
    for_events(RoundRobin{}, {}, one_at_a_time, [](const RandomRun& run) {
        EXPECT_LE(run.timers, 3U * static_cast<unsigned>(run.elapsed() / 5ms));
        EXPECT_LE(run.preemptions, run.timers + run.happenings + run.ends);
    });
}

TEST(PropertiesOfRr, a_job_waits_for_a_quantum_of_each_other_job) {
    expect_bounded_waits(RoundRobin{}, (most_jobs - 1) * 5ms);
}

TEST(PropertiesOfRr, shares_are_equal) {
    expect_shares(RoundRobin{},
                  {[](VirtualJobs&, JobView&) {}, [](const JobView&) { return 1.0; }});
}

TEST(PropertiesOfCfs, one_job_at_a_time_and_a_bounded_rate) {
    for_events(Fair{}, {}, one_at_a_time, [](const RandomRun& run) {
        EXPECT_LE(run.timers, 3U * static_cast<unsigned>(run.elapsed() / 5ms));
        EXPECT_LE(run.preemptions, run.timers + run.happenings + run.ends);
    });
}

TEST(PropertiesOfCfs, shares_follow_the_weights) {
    expect_shares(Fair{},
                  {[](VirtualJobs& jobs, JobView& job) { job.weight = 20 + jobs.below(400); },
                   [](const JobView& job) { return job.weight; }});
}

TEST(PropertiesOfMlfq, one_job_at_a_time_and_a_bounded_rate) {
    for_events(MultilevelFeedback{}, {}, one_at_a_time, [](const RandomRun& run) {
        const auto promotions = most_jobs * static_cast<unsigned>(run.elapsed() / 200ms);
        EXPECT_LE(run.timers, 3U * static_cast<unsigned>(run.elapsed() / 10ms) + promotions);
        EXPECT_LE(run.preemptions, run.timers + run.happenings + run.ends);
    });
}

// Up by a level after each 200 ms, then a slice of each job before it.
TEST(PropertiesOfMlfq, no_job_starves) {
    expect_bounded_waits(MultilevelFeedback{}, 3 * 200ms + (most_jobs - 1) * 10ms);
}

// The lengths of the turns of a job among others that are always ready too.
std::vector<Duration> turns_of(VirtualJobs& jobs, std::uint64_t id, std::size_t count) {
    std::vector<Duration> turns;
    VirtualJob& job = jobs.of(id);
    while (turns.size() < count && !::testing::Test::HasFailure()) {
        const Duration before = job.ran;
        while (job.view.held)
            jobs.advance(1ms);
        while (!job.view.held)
            jobs.advance(1ms);
        turns.push_back(job.ran - before);
    }
    return turns;
}

TEST(PropertiesOfMlfq, a_long_request_gets_longer_turns) {
    MultilevelFeedback::Parameters parameters;
    parameters.promote_after = 1h;
    VirtualJobs jobs{MultilevelFeedback(parameters)};
    for (const std::uint64_t id : {1U, 2U, 3U})
        jobs.work(jobs.add(id), endless);
    jobs.decide();
    for (const std::uint64_t id : {1U, 2U, 3U})
        jobs.of(id).ran = Duration{0};
    EXPECT_EQ((std::vector<Duration>{10ms, 20ms, 40ms, 80ms, 80ms}), turns_of(jobs, 1, 5));
}

TEST(PropertiesOfMlfq, a_job_that_waits_goes_up_again) {
    VirtualJobs jobs{MultilevelFeedback{}};
    jobs.work(jobs.add(1), endless);
    jobs.decide();
    jobs.advance(1s); // to the last level
    jobs.add(2);
    const Time begin = jobs.now;
    while (jobs.now - begin < 610ms && !HasFailure()) {
        jobs.work(jobs.of(2), 5ms); // never idle for long, and never for its whole slice
        jobs.decide();
        if (jobs.of(1).runs())
            break;
        jobs.advance(5ms);
    }
    EXPECT_TRUE(jobs.of(1).runs());
    EXPECT_EQ(600ms, jobs.now - begin);
}

TEST(PropertiesOfMlfq, a_short_request_starts_at_once_among_long_ones) {
    for_each_seed(30, [](std::uint32_t seed) {
        VirtualJobs jobs(MultilevelFeedback{}, seed);
        for (std::uint64_t id = 1; id <= 3; ++id)
            jobs.work(jobs.add(id), endless);
        VirtualJob& job = jobs.add(4);
        jobs.decide();
        jobs.advance(45ms); // one at level 0 for 10 ms, then at level 1 for 20 ms
        for (int request = 0; request < 50; ++request) {
            const Duration work{1 + jobs.below(9'000'000)};
            jobs.work(job, work);
            jobs.decide();
            const Time begin = jobs.now;
            while (jobs.of(4).view.ready)
                jobs.advance(100us);
            // Those that have waited for 600 ms may come first.
            EXPECT_LE(jobs.now - begin, work + 3 * 10ms + 100us);
            jobs.advance(Duration{jobs.below(30'000'000)});
        }
    });
}

TEST(PropertiesOfMlfq, a_job_that_was_away_begins_at_the_first_level) {
    VirtualJobs jobs{MultilevelFeedback{}};
    jobs.work(jobs.add(1), 500ms);
    jobs.decide();
    jobs.advance(700ms); // to the last level, then idle for 200 ms
    jobs.work(jobs.add(2), endless);
    jobs.decide();
    jobs.advance(15ms); // level 1
    jobs.work(jobs.of(1), endless);
    jobs.decide();
    EXPECT_TRUE(jobs.of(1).runs());
    EXPECT_TRUE(jobs.of(2).view.held);
}

} // namespace
