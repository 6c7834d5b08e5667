// SPDX-License-Identifier: MIT
// Faults of a policy that random events don't show: each test names the one that it is for.
#include "sched/switch_cost.hpp"
#include "sim/virtual_jobs.hpp"

namespace {

using namespace test;
using xpreempt::sched::Fair;
using xpreempt::sched::HighestPriorityFirst;
using xpreempt::sched::MultilevelFeedback;
using xpreempt::sched::ProcessUtilizationPartition;
using xpreempt::sched::RoundRobin;
using xpreempt::sched::StrictPartition;
using xpreempt::sched::SwitchCost;
using xpreempt::sched::UtilizationPartition;

// One decision of a policy; verdicts in the order of the jobs.
struct Decided {
    std::vector<Verdict> verdicts;
    Time next;
};
Decided decide(Policy& policy, Time now, const std::vector<JobView>& jobs,
               Duration switch_cost = Duration{0}) {
    Decided decided{std::vector<Verdict>(jobs.size(), Verdict::run), {}};
    decided.next = xpreempt::sched::decide(policy, {now, jobs, switch_cost}, decided.verdicts);
    return decided;
}

JobView ready(std::uint64_t id, Time since, Band band = Band::normal) {
    JobView job;
    job.id = id;
    job.nodes = 1;
    job.band = band;
    job.ready = true;
    job.ready_since = since;
    return job;
}

constexpr Time start = Time{} + 1h;

// The floor for held jobs only. A caller that is late by several turns owes them to a job that runs
// by then: it isn't stopped, only to be resumed at the next decision.
TEST(BandFaults, floor_that_is_owed_to_a_running_job_is_paid_without_a_stop) {
    Policy policy = Bands{busy_bands()};
    std::vector<JobView> jobs{ready(1, start, Band::high), ready(2, start, Band::idle)};
    EXPECT_EQ(decide(policy, start, jobs).verdicts[1], Verdict::hold);
    jobs[1].held = true;
    jobs[0].ready = false;
    Time now = start + 80ms;                                         // before its turn
    EXPECT_EQ(decide(policy, now, jobs).verdicts[1], Verdict::hold); // resume grace
    now += 400ms;                                                    // late: 48 ms are owed
    EXPECT_EQ(decide(policy, now, jobs).verdicts[1], Verdict::run);
    jobs[1].held = false;
    now += 1ms;
    jobs[0] = ready(1, now, Band::high);
    EXPECT_EQ(decide(policy, now, jobs).verdicts[1], Verdict::run);
    // When it has had what was owed, it is stopped, and the floor begins anew.
    now += 60ms;
    EXPECT_EQ(decide(policy, now, jobs).verdicts[1], Verdict::hold);
}

// Holds of others ignored, by the floor: an operator's hold is no debt of the higher jobs, and the
// time in it pays none back.
TEST(BandFaults, time_in_a_hold_of_others_neither_adds_to_the_floor_nor_takes_from_it) {
    for (const bool interrupted : {false, true}) {
        Policy policy = Bands{busy_bands()};
        std::vector<JobView> jobs{ready(1, start, Band::high), ready(2, start, Band::idle)};
        EXPECT_EQ(decide(policy, start, jobs).verdicts[1], Verdict::hold);
        jobs[1].held = true;
        Time now = start + 50ms;
        EXPECT_EQ(decide(policy, now, jobs).next, start + 90ms); // 10 ms are owed then
        if (interrupted) {
            now += 20ms; // both held it meanwhile
            jobs[1].held_by_others = true;
            EXPECT_EQ(decide(policy, now, jobs).verdicts[1], Verdict::run);
            jobs[1].held = false;
            now += 300ms;
            EXPECT_EQ(decide(policy, now, jobs).verdicts[1], Verdict::run);
            jobs[1].held_by_others = false;
        }
        const Decided again = decide(policy, now, jobs);
        EXPECT_EQ(again.verdicts[1], Verdict::hold);
        EXPECT_EQ(again.next, now + 40ms) << interrupted;
    }
}

// Holds of others ignored, by the turns: the job that an operator holds neither keeps its node nor
// uses up its slice.
TEST(TurnFaults, hold_of_others_frees_the_node_and_stops_the_slice) {
    for (Policy policy : {Policy{RoundRobin{}}, Policy{Fair{}}}) {
        std::vector<JobView> jobs{ready(1, start), ready(2, start + 1ms)};
        EXPECT_EQ(decide(policy, start + 1ms, jobs).verdicts,
                  (std::vector{Verdict::run, Verdict::hold}));
        jobs[1].held = true;
        jobs[0].held_by_others = true;
        Time now = start + 3ms;
        EXPECT_EQ(decide(policy, now, jobs).verdicts, (std::vector{Verdict::run, Verdict::run}));
        jobs[1].held = false;
        now += 3ms;
        jobs[0].held_by_others = false;
        // It comes back behind the one that runs, whose slice continues.
        const Decided back = decide(policy, now, jobs);
        EXPECT_EQ(back.verdicts, (std::vector{Verdict::hold, Verdict::run}));
        EXPECT_EQ(back.next, now + 2ms);
    }
}

// And isn't charged for the time in which an operator may have held it.
TEST(FairFaults, time_before_a_hold_of_others_is_seen_is_not_charged) {
    Policy policy = Fair{};
    std::vector<JobView> jobs{ready(1, start), ready(2, start), ready(3, start)};
    EXPECT_EQ(decide(policy, start, jobs).verdicts[0], Verdict::run);
    jobs[1].held = jobs[2].held = true;
    jobs[0].held_by_others = true;
    EXPECT_EQ(decide(policy, start + 4ms, jobs).verdicts[1], Verdict::run);
    jobs[1].held = false;
    jobs[0].held_by_others = false;
    EXPECT_EQ(decide(policy, start + 4ms, jobs).verdicts[0], Verdict::hold);
    jobs[0].held = true;
    EXPECT_EQ(decide(policy, start + 9ms, jobs).verdicts,
              (std::vector{Verdict::run, Verdict::hold, Verdict::hold}));
}

// A resume that the driver refused: what is still held uses nothing of its slice.
TEST(TurnFaults, slice_begins_when_the_job_runs) {
    for (Policy policy : {Policy{RoundRobin{}}, Policy{Fair{}}}) {
        std::vector<JobView> jobs{ready(1, start), ready(2, start)};
        jobs[0].held = true;
        EXPECT_EQ(decide(policy, start, jobs).verdicts[0], Verdict::run);
        EXPECT_EQ(decide(policy, start + 3ms, jobs).next, start + 8ms);
        jobs[0].held = false;
        EXPECT_EQ(decide(policy, start + 4ms, jobs).next, start + 8ms);
    }
}

// Holds of others ignored, by priority.
TEST(PriorityFaults, job_that_others_hold_stops_nobody) {
    Policy policy = HighestPriorityFirst{};
    std::vector<JobView> jobs{ready(1, start), ready(2, start)};
    jobs[0].priority = 5;
    EXPECT_EQ(decide(policy, start, jobs).verdicts, (std::vector{Verdict::run, Verdict::hold}));
    jobs[0].held_by_others = true;
    EXPECT_EQ(decide(policy, start, jobs).verdicts, (std::vector{Verdict::run, Verdict::run}));
}

// Weight: by what a job is charged for each time that it ran.
TEST(FairFaults, each_slice_is_charged_by_the_weight) {
    Policy policy = Fair{};
    std::vector<JobView> jobs{ready(1, start), ready(2, start)};
    jobs[0].weight = 400;
    std::vector<std::uint64_t> slices;
    Time now = start;
    for (int slice = 0; slice < 10; ++slice) {
        const Decided decided = decide(policy, now, jobs);
        for (std::size_t i = 0; i < 2; ++i) {
            jobs[i].held = decided.verdicts[i] == Verdict::hold;
            if (!jobs[i].held)
                slices.push_back(jobs[i].id);
        }
        ASSERT_EQ(decided.next, now + 5ms);
        now = decided.next;
    }
    EXPECT_EQ(std::ranges::count(slices, 1U), 8);
}

// The decision that ends a slice may come late: the time beyond it belongs to the others.
TEST(FairFaults, time_beyond_a_slice_is_given_to_the_others) {
    Policy policy = Fair{};
    std::vector<JobView> jobs{ready(1, start), ready(2, start)};
    EXPECT_EQ(decide(policy, start, jobs).verdicts, (std::vector{Verdict::run, Verdict::hold}));
    jobs[1].held = true;
    for (const auto passed : {20ms, 25ms, 30ms, 35ms}) {
        EXPECT_EQ(decide(policy, start + passed, jobs).verdicts,
                  (std::vector{Verdict::hold, Verdict::run}))
            << passed.count();
        jobs[0].held = true;
        jobs[1].held = false;
    }
}

// The slice timer: events within a slice don't make it longer.
TEST(TurnFaults, slice_ends_when_it_is_used_whatever_happens_meanwhile) {
    for (Policy policy : {Policy{RoundRobin{}}, Policy{Fair{}}}) {
        std::vector<JobView> jobs{ready(1, start), ready(2, start)};
        EXPECT_EQ(decide(policy, start, jobs).next, start + 5ms);
        jobs[1].held = true;
        EXPECT_EQ(decide(policy, start + 2ms, jobs).next, start + 5ms);
        EXPECT_EQ(decide(policy, start + 4999us, jobs).next, start + 5ms);
        EXPECT_EQ(decide(policy, start + 5ms, jobs).verdicts,
                  (std::vector{Verdict::hold, Verdict::run}));
    }
}

TEST(TurnFaults, no_turn_is_shorter_than_20_switch_costs) {
    const std::vector<JobView> jobs{ready(1, start), ready(2, start)};
    for (const Policy& kind :
         {Policy(RoundRobin{{.quantum = 10ms}}), Policy(Fair{{.slice = 10ms}}),
          Policy(UtilizationPartition{{.slice = 10ms}}),
          Policy(ProcessUtilizationPartition{{.slice = 10ms}}),
          Policy(StrictPartition{{.slice = 10ms}}), Policy(MultilevelFeedback{{.slice = 10ms}})}) {
        SCOPED_TRACE(name_of(kind));
        Policy policy = kind;
        EXPECT_EQ(decide(policy, start, jobs).next, start + 10ms);
        policy = kind;
        EXPECT_EQ(decide(policy, start, jobs, 400us).next, start + 10ms);
        policy = kind;
        EXPECT_EQ(decide(policy, start, jobs, 1ms).next, start + 20ms);
    }
}

// A host that is busy, or a stop with many waves, makes single calls long.
TEST(SwitchCostFaults, it_is_the_cheapest_stop_and_the_cheapest_resume_of_the_last_16) {
    SwitchCost cost;
    EXPECT_EQ(cost.value(start), 0ms);
    for (const Duration took : {9ms, 3ms, 20ms})
        cost.note(true, start, took);
    EXPECT_EQ(cost.value(start), 3ms);
    for (const Duration took : {40ms, 2ms})
        cost.note(false, start, took);
    EXPECT_EQ(cost.value(start), 5ms);
    for (int i = 0; i < 14; ++i)
        cost.note(true, start, 8ms);
    EXPECT_EQ(cost.value(start), 5ms);
    for (int i = 0; i < 2; ++i)
        cost.note(true, start, 8ms);
    EXPECT_EQ(cost.value(start), 10ms);
    for (int i = 0; i < 16; ++i)
        cost.note(true, start, 10s);
    EXPECT_EQ(cost.value(start), SwitchCost::most);
}

// A policy may make no calls because they were dear: then none corrects the value.
TEST(SwitchCostFaults, calls_of_long_ago_say_nothing_of_the_next_one) {
    SwitchCost cost;
    cost.note(true, start, 30ms);
    cost.note(false, start + 1s, 20ms);
    EXPECT_EQ(cost.value(start + SwitchCost::counts_for), 50ms);
    EXPECT_EQ(cost.value(start + SwitchCost::counts_for + 1ns), 20ms);
    EXPECT_EQ(cost.value(start + SwitchCost::counts_for + 2s), 0ms);
    EXPECT_EQ(cost.last_known(), 50ms);
}

// Ids that aren't sorted: verdicts, ties and accounts belong to the job, not to its place.
TEST(SeatFaults, accounts_follow_the_ids_in_any_order) {
    Accounts accounts;
    std::vector<JobView> jobs{ready(9, start), ready(4, start), ready(6, start)};
    const auto note = [&](Time now, const std::vector<Verdict>& verdicts) {
        if (!accounts.matches(jobs)) {
            accounts.admit(jobs);
            ASSERT_TRUE(accounts.matches(jobs));
        }
        accounts.note({now, jobs}, verdicts);
        for (std::size_t i = 0; i < jobs.size(); ++i)
            jobs[i].held = verdicts[i] == Verdict::hold;
    };
    note(start, {Verdict::run, Verdict::hold, Verdict::hold});
    std::swap(jobs[0], jobs[2]);
    note(start + 3ms, {Verdict::hold, Verdict::run, Verdict::hold}); // 6, 4, 9
    note(start + 5ms, {Verdict::run, Verdict::run, Verdict::run});
    std::vector<xpreempt::sched::Account> all(3);
    accounts.read_all(all);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Duration run = jobs[i].id == 9 ? 3ms : jobs[i].id == 4 ? 2ms : 0ms;
        EXPECT_EQ(all[i].run, run) << jobs[i].id;
        EXPECT_EQ(all[i].held, 5ms - run) << jobs[i].id;
        EXPECT_EQ(all[i].preemptions, 1U) << jobs[i].id;
    }
}
TEST(SeatFaults, ties_go_to_the_lower_id_in_any_order) {
    for (const Policy& initial : {Policy{RoundRobin{}}, Policy{Fair{}}}) {
        Policy policy = initial;
        const std::vector<JobView> jobs{ready(9, start), ready(4, start), ready(6, start)};
        EXPECT_EQ(decide(policy, start, jobs).verdicts,
                  (std::vector{Verdict::hold, Verdict::run, Verdict::hold}));
    }
}

// State of jobs that stay is lost when others come or go.
TEST(SeatFaults, slice_goes_on_when_another_job_comes_and_goes) {
    for (Policy policy : {Policy{RoundRobin{}}, Policy{Fair{}}}) {
        std::vector<JobView> jobs{ready(7, start), ready(8, start)};
        EXPECT_EQ(decide(policy, start, jobs).next, start + 5ms);
        jobs[1].held = true;
        jobs.insert(jobs.begin(), JobView{.id = 3, .nodes = 1}); // idle
        EXPECT_EQ(decide(policy, start + 2ms, jobs).next, start + 5ms);
        jobs.erase(jobs.begin());
        EXPECT_EQ(decide(policy, start + 4ms, jobs).next, start + 5ms);
    }
}
TEST(SeatFaults, floor_goes_on_when_another_job_comes_and_goes) {
    Policy policy = Bands{busy_bands()};
    std::vector<JobView> jobs{ready(7, start, Band::high), ready(8, start, Band::idle)};
    EXPECT_EQ(decide(policy, start, jobs).next, start + 90ms);
    jobs[1].held = true;
    jobs.insert(jobs.begin(), JobView{.id = 3, .nodes = 1});
    EXPECT_EQ(decide(policy, start + 50ms, jobs).next, start + 90ms);
    jobs.erase(jobs.begin());
    EXPECT_EQ(decide(policy, start + 60ms, jobs).next, start + 90ms);
}
TEST(SeatFaults, accounts_stay_when_another_job_comes_and_goes) {
    Accounts accounts;
    std::vector<JobView> jobs{ready(7, start)};
    Time now = start;
    for (int step = 0; step < 4; ++step, now += 10ms) {
        if (step % 2 == 1)
            jobs.insert(jobs.begin(), ready(3, now));
        else if (step > 0)
            jobs.erase(jobs.begin());
        accounts.admit(jobs);
        ASSERT_TRUE(accounts.matches(jobs));
        accounts.note({now, jobs}, std::vector<Verdict>(jobs.size(), Verdict::run));
    }
    std::vector<xpreempt::sched::Account> all(2);
    accounts.read_all(all);
    EXPECT_EQ(all[1].run, 30ms);
    EXPECT_EQ(all[0].run, 0ms); // it went, so this is another one's first time
}

} // namespace
