// SPDX-License-Identifier: MIT
// The contract of every policy under random events, and what is said of HPF, RR and CFS.
#include "sim/virtual_jobs.hpp"

namespace {

using namespace test;
using xpreempt::sched::Account;
using xpreempt::sched::Fair;
using xpreempt::sched::HighestPriorityFirst;
using xpreempt::sched::policy_named;
using xpreempt::sched::policy_names;
using xpreempt::sched::RoundRobin;

TEST(Policies, are_found_by_name) {
    for (const std::string_view name : policy_names)
        EXPECT_EQ(name, name_of(*policy_named(name)));
    EXPECT_FALSE(policy_named("EDF"));
    EXPECT_FALSE(policy_named(""));
}

// Determinism, order of jobs, timers, replay: VirtualJobs checks them at each decision.
TEST(Policies, keep_their_contract_under_random_events) {
    for_each_seed(60, [](std::uint32_t seed) {
        for (const std::string_view name : policy_names) {
            SCOPED_TRACE(name);
            random_run(*policy_named(name), seed, nullptr);
        }
    });
}

// Two jobs that are ready together start together.
TEST(Policies, conserve_work_and_never_split_a_gang) {
    for_each_seed(60, [](std::uint32_t seed) {
        random_run(HighestPriorityFirst({0ns}), seed,
                   [](Time, const auto& jobs, const auto& verdicts) {
                       expect_work_conserved(jobs, verdicts);
                       for (std::size_t i = 0; i < jobs.size(); ++i)
                           for (std::size_t j = 0; j < jobs.size(); ++j)
                               if (jobs[i].view.schedulable() && verdicts[i] == Verdict::run &&
                                   jobs[j].view.schedulable() && verdicts[j] == Verdict::run &&
                                   (jobs[i].view.nodes & jobs[j].view.nodes) != 0) {
                                   EXPECT_EQ(jobs[i].view.priority, jobs[j].view.priority);
                               }
                   });
        for (const Policy& policy : {Policy{RoundRobin{}}, Policy{Fair{}}})
            random_run(policy, seed, [](Time, const auto& jobs, const auto& verdicts) {
                expect_work_conserved(jobs, verdicts);
                expect_one_at_a_time(jobs, verdicts);
            });
    });
}

TEST(HighestPriority, of_a_gang_holds_all_or_nothing) {
    VirtualJobs jobs(HighestPriorityFirst({0ns}));
    jobs.add(1, 0b11).view.priority = 1; // gang
    jobs.add(2, 0b01).view.priority = 2;
    jobs.add(3, 0b10).view.priority = 0;
    for (VirtualJob& job : jobs.jobs)
        jobs.work(job, endless);
    jobs.decide();
    EXPECT_TRUE(jobs.of(1).view.held);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_TRUE(jobs.of(3).runs()); // the held gang doesn't block its other node
    jobs.of(2).view.ready = false;
    jobs.decide();
    EXPECT_TRUE(jobs.of(1).runs());
    EXPECT_TRUE(jobs.of(3).view.held);
}

TEST(RoundRobinTurns, give_each_job_a_quantum) {
    for_each_seed(30, [](std::uint32_t seed) {
        VirtualJobs jobs(RoundRobin{}, seed);
        const std::uint64_t count = 2 + jobs.below(7);
        for (std::uint64_t id = 1; id <= count; ++id)
            jobs.add(id);
        for (VirtualJob& job : jobs.jobs) {
            jobs.work(job, endless);
            jobs.decide();
            jobs.advance(Duration{jobs.below(3'000'000)});
        }
        for (VirtualJob& job : jobs.jobs)
            job.ran = Duration{0};
        jobs.advance(2s);
        const auto [least, most] = std::ranges::minmax(jobs.jobs, {}, &VirtualJob::ran);
        EXPECT_LE(most.ran - least.ran, 5ms);
        EXPECT_EQ(
            2s, std::accumulate(jobs.jobs.begin(), jobs.jobs.end(), Duration{0},
                                [](Duration sum, const VirtualJob& job) { return sum + job.ran; }));
        for (const VirtualJob& job : jobs.jobs)
            EXPECT_LE(job.longest_wait, static_cast<int>(count - 1) * 5ms);
        EXPECT_LE(jobs.timers, 2s / 5ms + count);
    });
}

TEST(RoundRobinTurns, are_no_shorter_than_20_switch_costs) {
    VirtualJobs jobs(RoundRobin{});
    jobs.switch_cost = 1ms;
    for (std::uint64_t id = 1; id <= 2; ++id)
        jobs.work(jobs.add(id), endless);
    jobs.decide();
    EXPECT_EQ(jobs.now + 20ms, jobs.next);
}

TEST(RoundRobinTurns, skip_the_idle_and_let_the_alone_run) {
    VirtualJobs jobs(RoundRobin{});
    for (std::uint64_t id = 1; id <= 3; ++id)
        jobs.add(id);
    jobs.work(jobs.of(1), endless);
    jobs.decide();
    EXPECT_EQ(at_next_event, jobs.next); // no job waits
    jobs.advance(1s);
    EXPECT_EQ(1s, jobs.of(1).ran);
    jobs.work(jobs.of(3), 2ms);
    jobs.decide();
    EXPECT_TRUE(jobs.of(3).runs()); // the quantum of the other was over long ago
    jobs.advance(2ms);
    EXPECT_TRUE(jobs.of(1).runs());
    EXPECT_EQ(1U, jobs.of(1).stops);
}

TEST(RoundRobinTurns, start_in_the_order_of_readiness_then_of_ids) {
    VirtualJobs jobs(RoundRobin{});
    for (const std::uint64_t id : {9U, 4U, 6U})
        jobs.work(jobs.add(id), endless);
    jobs.of(9).view.ready_since -= 1ms;
    jobs.decide();
    std::vector<std::uint64_t> turns;
    for (int turn = 0; turn < 4; ++turn) {
        for (const VirtualJob& job : jobs.jobs)
            if (job.runs())
                turns.push_back(job.view.id);
        jobs.advance(5ms);
    }
    EXPECT_EQ((std::vector<std::uint64_t>{9, 4, 6, 9}), turns);
}

// One-node jobs whose turns end at different times must not keep the gang out.
template <class P> void expect_gang_gets_its_turns(P policy, Duration least) {
    VirtualJobs jobs(policy);
    for (std::uint64_t id = 1; id <= 4; ++id) {
        jobs.work(jobs.add(id, id <= 2 ? 0b01 : 0b10), endless);
        jobs.decide();
        jobs.advance(1300us);
    }
    jobs.work(jobs.add(5, 0b11), endless);
    jobs.decide();
    jobs.advance(3s);
    EXPECT_GE(jobs.of(5).ran, least);
    EXPECT_LE(jobs.of(5).longest_wait, 30ms);
    for (std::uint64_t id = 1; id <= 4; ++id)
        EXPECT_GE(jobs.of(id).ran, 700ms) << id;
}
TEST(RoundRobinTurns, include_a_gang) {
    expect_gang_gets_its_turns(RoundRobin{}, 900ms);
}
TEST(FairShares, include_a_gang) {
    expect_gang_gets_its_turns(Fair{}, 900ms);
}

TEST(FairShares, follow_the_weights_within_2_percent_in_a_second) {
    for_each_seed(30, [](std::uint32_t seed) {
        VirtualJobs jobs(Fair{}, seed);
        const std::uint64_t count = 2 + jobs.below(5);
        double sum = 0;
        for (std::uint64_t id = 1; id <= count; ++id) {
            VirtualJob& job = jobs.add(id);
            job.view.weight = 20 + jobs.below(400);
            sum += job.view.weight;
            jobs.work(job, endless);
        }
        jobs.decide();
        jobs.advance(Duration{jobs.below(500'000'000)});
        for (int second = 0; second < 3; ++second) {
            for (VirtualJob& job : jobs.jobs)
                job.ran = Duration{0};
            jobs.advance(1s);
            for (const VirtualJob& job : jobs.jobs)
                EXPECT_NEAR(job.view.weight / sum, static_cast<double>(job.ran.count()) / 1e9, 0.02)
                    << "weight " << job.view.weight;
        }
        EXPECT_LE(jobs.timers, 4s / 5ms);
    });
}

TEST(FairShares, follow_a_weight_that_changes) {
    VirtualJobs jobs(Fair{});
    for (std::uint64_t id = 1; id <= 2; ++id)
        jobs.work(jobs.add(id), endless);
    jobs.decide();
    jobs.advance(10s);
    jobs.of(2).view.weight = 300;
    jobs.of(1).ran = jobs.of(2).ran = Duration{0};
    jobs.decide();
    jobs.advance(1s);
    EXPECT_NEAR(0.75, static_cast<double>(jobs.of(2).ran.count()) / 1e9, 0.02);
}

// XSched's gives a sleeper all the time that it slept.
TEST(FairShares, give_a_sleeper_a_bounded_credit) {
    for (const std::uint32_t weight : {1U, 100U, 10000U}) {
        VirtualJobs jobs(Fair{});
        jobs.work(jobs.add(1), endless);
        jobs.work(jobs.add(2), endless);
        jobs.add(3).view.weight = jobs.add(4).view.weight = weight;
        jobs.work(jobs.of(3), 1ms);
        jobs.decide();
        jobs.advance(20s);
        EXPECT_EQ(1ms, jobs.of(3).ran);
        jobs.work(jobs.of(3), endless);
        jobs.work(jobs.of(4), endless); // new, as good as a long sleep
        jobs.decide();
        jobs.advance(1s);
        const double share = weight / (200.0 + 2.0 * weight);
        for (const std::uint64_t id : {3U, 4U})
            EXPECT_NEAR(static_cast<double>(jobs.of(id).ran.count()) / 1e9, share, 0.02) << weight;
    }
}

// Work in bits, always a moment after it went idle, must not take more than its share.
TEST(FairShares, do_not_grow_by_short_sleeps) {
    VirtualJobs jobs(Fair{});
    jobs.work(jobs.add(1), endless);
    jobs.add(2);
    for (int bit = 0; bit < 4000; ++bit) {
        if (!jobs.of(2).view.ready)
            jobs.work(jobs.of(2), 400us);
        jobs.decide();
        jobs.advance(500us);
    }
    EXPECT_LE(jobs.of(2).ran, 1040ms);
    EXPECT_GE(jobs.of(1).ran, 960ms);
}

// An hour alone on each node, at different weights: their virtual clocks are far apart.
TEST(FairShares, of_nodes_that_never_met_are_shared_by_a_gang_at_once) {
    VirtualJobs jobs(Fair{});
    jobs.work(jobs.add(1, 0b01), endless);
    jobs.work(jobs.add(2, 0b01), endless);
    jobs.work(jobs.add(3, 0b10), endless);
    jobs.of(3).view.weight = 10;
    jobs.decide();
    jobs.advance(60s);
    jobs.work(jobs.add(4, 0b11), endless);
    for (VirtualJob& job : jobs.jobs)
        job.ran = Duration{0}, job.longest_wait = Duration{0}, job.view.weight = 100;
    jobs.decide();
    jobs.advance(2s);
    for (const VirtualJob& job : jobs.jobs) {
        EXPECT_GE(job.ran, 600ms) << job.view.id;
        EXPECT_LE(job.longest_wait, 30ms) << job.view.id;
    }
}

TEST(FairShares, survive_a_month_at_the_least_weight) {
    VirtualJobs jobs(Fair{});
    jobs.work(jobs.add(1), endless);
    jobs.of(1).view.weight = 1;
    for (int hour = 0; hour < 24 * 31; ++hour) {
        jobs.decide();
        jobs.advance(1h);
    }
    jobs.work(jobs.add(2), endless);
    jobs.of(2).view.weight = 1;
    jobs.of(1).ran = Duration{0};
    jobs.decide();
    jobs.advance(1s);
    EXPECT_NEAR(0.5, static_cast<double>(jobs.of(1).ran.count()) / 1e9, 0.02);
}

TEST(AccountsTest, add_up) {
    for_each_seed(20, [](std::uint32_t seed) {
        VirtualJobs jobs(*policy_named(seed % 2 == 0 ? "BAND" : "CFS"), seed);
        for (std::uint64_t id = 1; id <= 4; ++id)
            jobs.add(id).view.band = Band{static_cast<std::uint8_t>(id - 1)};
        const Time begin = jobs.now;
        jobs.decide();
        for (int event = 0; event < 200; ++event) {
            jobs.work(jobs.jobs[jobs.below(4)], Duration{1 + jobs.below(20'000'000)});
            jobs.decide();
            jobs.advance(Duration{jobs.below(8'000'000)});
        }
        jobs.decide();
        std::vector<Account> accounts(jobs.jobs.size());
        jobs.accounts.read_all(accounts);
        for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
            const Account& account = accounts[i];
            EXPECT_EQ(jobs.jobs[i].ran, account.run);
            EXPECT_EQ(account.ready, account.run + account.added_wait);
            EXPECT_EQ(account.held, account.added_wait); // only ready jobs were held
            EXPECT_EQ(jobs.jobs[i].stops, account.preemptions);
            EXPECT_EQ(account.known, jobs.now - begin);
            EXPECT_LE(account.ready, account.known);
        }
    });
}

TEST(Replay, finds_the_first_other_decision) {
    VirtualJobs jobs(RoundRobin{});
    for (std::uint64_t id = 1; id <= 3; ++id)
        jobs.work(jobs.add(id), endless);
    jobs.decide();
    jobs.advance(100ms);
    jobs.expect_replays();
    auto changed = jobs.record;
    changed[7].verdicts[0] = changed[7].verdicts[0] == Verdict::run ? Verdict::hold : Verdict::run;
    const auto difference = test::replay(RoundRobin{}, changed);
    ASSERT_TRUE(difference);
    EXPECT_EQ(7U, difference->decision);
    EXPECT_EQ(jobs.record[7], difference->made);
    EXPECT_TRUE(test::replay(RoundRobin{{6ms}}, jobs.record));
}

} // namespace
