// SPDX-License-Identifier: MIT
// Properties of the policies by utilization: UP, PUP, SPUP.
#include "sim/turns_properties.hpp"

#include <bit>

namespace {

using namespace test;
using xpreempt::sched::ProcessUtilizationPartition;
using xpreempt::sched::StrictPartition;
using xpreempt::sched::UtilizationPartition;

const Shares by_utilization{
    [](VirtualJobs& jobs, JobView& job) { job.utilization = 5 + jobs.below(96); },
    [](const JobView& job) { return job.utilization; }};

bool has_none(const JobView& job) {
    return job.utilization == 0;
}

// A job with utilization 0 keeps no node from one with more.
void expect_the_rest_for_those_without(RandomRun& run, const std::vector<Verdict>& verdicts) {
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        const JobView& job = run.job(i).view;
        if (verdicts[i] != Verdict::hold || has_none(job))
            continue;
        bool blocked = false;
        for (std::size_t j = 0; j < verdicts.size(); ++j)
            blocked |= runs_after(run.job(j).view, verdicts[j]) && !has_none(run.job(j).view) &&
                       (run.job(j).view.nodes & job.nodes) != 0;
        EXPECT_TRUE(blocked) << "job " << job.id;
    }
}

void expect_turns(const Policy& policy) {
    for_events(
        policy, {},
        [](RandomRun& run, const auto& verdicts) {
            one_at_a_time(run, verdicts);
            expect_the_rest_for_those_without(run, verdicts);
        },
        [](const RandomRun& run) {
            EXPECT_LE(run.timers, 3U * static_cast<unsigned>(run.elapsed() / 100us));
            EXPECT_LE(run.preemptions, run.timers + run.happenings + run.ends);
        });
}

// Eight jobs with 75 % each, where the ninth has 25 %; 2 % for the least length of a turn.
constexpr Duration longest_turn = most_jobs * 5ms * 75 / (75 + 25 * (most_jobs - 1));
constexpr Duration longest_round = (most_jobs - 1) * longest_turn * 102 / 100;

TEST(PropertiesOfUp, one_job_at_a_time_and_a_bounded_rate) {
    expect_turns(UtilizationPartition{});
}

TEST(PropertiesOfUp, a_job_waits_for_a_budget_of_each_other_job) {
    expect_bounded_waits(UtilizationPartition{}, longest_round, has_none);
}

TEST(PropertiesOfUp, shares_follow_the_utilization) {
    expect_shares(UtilizationPartition{}, by_utilization);
}

TEST(PropertiesOfUp, jobs_that_are_idle_give_their_part_away) {
    VirtualJobs jobs(UtilizationPartition{});
    for (const std::uint64_t id : {1U, 2U, 3U})
        jobs.work(jobs.add(id), id == 3 ? Duration{1ms} : endless);
    jobs.of(1).view.utilization = 30;
    jobs.of(2).view.utilization = 10;
    jobs.decide();
    jobs.advance(1s);
    EXPECT_NEAR(0.75, seconds_of(jobs.of(1).ran), 0.02);
    EXPECT_NEAR(0.25, seconds_of(jobs.of(2).ran), 0.02);
}

// XSched's don't run a queue that has no hint, and give all of them one budget per machine.
TEST(PropertiesOfUp, jobs_without_utilization_run_when_no_other_is_ready) {
    for (const Policy& policy :
         {Policy{UtilizationPartition{}}, Policy{ProcessUtilizationPartition{}}}) {
        VirtualJobs jobs(policy);
        jobs.work(jobs.add(1), endless);
        jobs.work(jobs.add(2), endless);
        jobs.add(3);
        jobs.of(1).view.utilization = jobs.of(2).view.utilization = 0;
        jobs.decide();
        jobs.advance(1s);
        EXPECT_NEAR(0.5, seconds_of(jobs.of(1).ran), 0.02);
        EXPECT_EQ(1s, jobs.of(1).ran + jobs.of(2).ran);
        jobs.work(jobs.of(3), 100ms);
        jobs.decide();
        jobs.advance(200ms);
        EXPECT_EQ(100ms, jobs.of(3).ran);
        EXPECT_EQ(1100ms, jobs.of(1).ran + jobs.of(2).ran);
    }
}

TEST(PropertiesOfUp, more_than_100_percent_count_as_100) {
    for (const Policy& policy :
         {Policy{UtilizationPartition{}}, Policy{ProcessUtilizationPartition{}},
          Policy{StrictPartition{}}}) {
        VirtualJobs jobs(policy);
        jobs.work(jobs.add(1), endless);
        jobs.work(jobs.add(2), endless);
        jobs.of(1).view.utilization = std::numeric_limits<std::uint32_t>::max();
        jobs.decide();
        jobs.advance(1s);
        EXPECT_NEAR(0.5, seconds_of(jobs.of(1).ran), 0.02) << name_of(policy);
        EXPECT_NEAR(0.5, seconds_of(jobs.of(2).ran), 0.02) << name_of(policy);
    }
}

TEST(PropertiesOfPup, one_job_at_a_time_and_a_bounded_rate) {
    expect_turns(ProcessUtilizationPartition{});
}

TEST(PropertiesOfPup, a_job_waits_for_at_most_eleven_budgets_of_each_other_job) {
    expect_bounded_waits(ProcessUtilizationPartition{}, 11 * longest_round, has_none);
}

TEST(PropertiesOfPup, shares_follow_the_utilization) {
    expect_shares(ProcessUtilizationPartition{}, by_utilization);
}

// Requests that end within their turns, then one that doesn't: it runs for its budget and credit.
TEST(PropertiesOfPup, the_rest_of_a_budget_is_kept_and_decays_above_one_budget) {
    constexpr Duration budget = 5ms;
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events / 4 && !HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        VirtualJobs jobs(ProcessUtilizationPartition{}, seed);
        jobs.work(jobs.add(1), endless);
        jobs.add(2);
        jobs.decide();
        Duration credit{0};
        for (std::uint32_t requests = jobs.below(40); requests > 0; --requests) {
            const Duration work{1 + jobs.below(4'000'000)};
            jobs.work(jobs.of(2), work);
            jobs.decide();
            while (jobs.of(2).view.ready)
                jobs.advance(1ms);
            const Duration rest = budget + credit - work;
            credit = rest <= budget ? rest : budget + (rest - budget) * 9 / 10;
            EXPECT_LE(credit, 10 * budget);
        }
        jobs.of(2).ran = Duration{0};
        jobs.work(jobs.of(2), endless);
        jobs.decide();
        while (jobs.of(2).view.held)
            jobs.advance(1ms);
        while (!jobs.of(2).view.held)
            jobs.advance(1ms);
        EXPECT_EQ(budget + credit, jobs.of(2).ran);
        decisions += jobs.record.size() / 2;
    }
}

// No two jobs have a node at once, and a part is the same whether others work or not.
TEST(PropertiesOfSpup, each_job_has_its_part_of_the_time_and_no_more) {
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events && !HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        VirtualJobs jobs(StrictPartition{}, seed);
        jobs.check = [](Time, const auto& all, const auto& verdicts) {
            expect_one_at_a_time(all, verdicts);
        };
        const std::uint32_t count = 1 + jobs.below(6);
        std::int64_t sum = 0;
        for (std::uint64_t id = 1; id <= count; ++id) {
            jobs.add(id).view.utilization = 1 + jobs.below(100);
            sum += jobs.of(id).view.utilization;
        }
        const std::uint64_t tested = 1 + jobs.below(count);
        jobs.work(jobs.of(tested), endless);
        jobs.decide();
        jobs.advance(100ms);
        for (VirtualJob& job : jobs.jobs)
            job.ran = Duration{0};
        for (const Time end = jobs.now + 1s; jobs.now < end;) {
            jobs.work(jobs.jobs[jobs.below(count)], Duration{1 + jobs.below(20'000'000)});
            jobs.decide();
            jobs.advance(std::min<Duration>(end - jobs.now, Duration{1 + jobs.below(20'000'000)}));
        }
        for (const VirtualJob& job : jobs.jobs) {
            const double part = static_cast<double>(job.view.utilization) /
                                static_cast<double>(std::max(sum, std::int64_t{100}));
            EXPECT_LE(seconds_of(job.ran), part + 0.02) << "job " << job.view.id;
            EXPECT_TRUE(job.view.id != tested || seconds_of(job.ran) >= part - 0.02)
                << "job " << job.view.id;
        }
        decisions += jobs.record.size() / 2;
    }
}

TEST(PropertiesOfSpup, one_job_at_a_time_and_a_bounded_rate) {
    for_events(StrictPartition{}, {}, one_at_a_time, [](const RandomRun& run) {
        const auto frames = static_cast<unsigned>(run.elapsed() / 5ms) + 1;
        EXPECT_LE(run.timers, 2U * most_jobs * frames);
        EXPECT_LE(run.preemptions, run.timers + run.happenings + run.ends);
    });
}

// Frames of up to 9 slices; a new job waits for the next one.
TEST(PropertiesOfSpup, a_job_waits_for_at_most_two_frames) {
    expect_bounded_waits(StrictPartition{}, 2 * most_jobs * 5ms, has_none);
}

TEST(PropertiesOfSpup, jobs_on_several_nodes_have_one_slot_on_all) {
    VirtualJobs jobs(StrictPartition{});
    jobs.check = [](Time, const auto& all, const auto& verdicts) {
        expect_one_at_a_time(all, verdicts);
    };
    // Each node has 100 %, but three times 50 % one after the other take 150 %.
    for (const std::uint64_t nodes : {0b0011U, 0b0110U, 0b0101U, 0b1000U})
        jobs.work(jobs.add(nodes, nodes), endless);
    for (const std::uint64_t nodes : {0b0011U, 0b0110U, 0b0101U, 0b1000U})
        jobs.of(nodes).view.utilization = 50;
    jobs.decide();
    jobs.advance(1s);
    for (const std::uint64_t nodes : {0b0011U, 0b0110U, 0b0101U})
        EXPECT_NEAR(1.0 / 3, seconds_of(jobs.of(nodes).ran), 0.02);
    EXPECT_NEAR(0.5, seconds_of(jobs.of(0b1000U).ran),
                0.02); // its node has nothing to do with them
}

// Parts are scaled on the nodes that are too full, and on no others.
TEST(PropertiesOfSpup, a_node_that_is_too_full_takes_nothing_from_its_neighbour) {
    VirtualJobs jobs(StrictPartition{});
    const std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> of_id{
        {1, {0b11, 20}}, {2, {0b01, 90}}, {3, {0b01, 90}}, {4, {0b10, 30}}};
    for (const auto& [id, part] : of_id) {
        jobs.work(jobs.add(id, part.first), endless);
        jobs.of(id).view.utilization = part.second;
    }
    jobs.decide();
    jobs.advance(1s);
    EXPECT_NEAR(0.1, seconds_of(jobs.of(1).ran), 0.02);
    EXPECT_NEAR(0.45, seconds_of(jobs.of(2).ran), 0.02);
    EXPECT_NEAR(0.45, seconds_of(jobs.of(3).ran), 0.02);
    EXPECT_NEAR(0.3, seconds_of(jobs.of(4).ran), 0.02);
}

TEST(PropertiesOfSpup, work_is_not_conserved) {
    VirtualJobs jobs(StrictPartition{});
    jobs.work(jobs.add(1), endless);
    jobs.of(1).view.utilization = 30;
    jobs.decide();
    jobs.advance(1s);
    EXPECT_NEAR(0.3, seconds_of(jobs.of(1).ran), 0.02);
}

TEST(PropertiesOfSpup, a_job_with_the_whole_node_needs_no_timer) {
    VirtualJobs jobs(StrictPartition{});
    jobs.work(jobs.add(1), endless);
    jobs.decide();
    EXPECT_TRUE(jobs.of(1).runs());
    EXPECT_EQ(at_next_event, jobs.next);
}

} // namespace
