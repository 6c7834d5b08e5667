// SPDX-License-Identifier: MIT
// The daemon over queues in memory: a policy may hold a job for the reason that it claims, however
// long, and is ejected for a hold without one.
#include "daemon_fixture.hpp"

namespace {

using namespace xpreemptd;
using sched::HoldReason;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::batch;
using test::server;

constexpr Caller root{1, 0, 1};
constexpr seconds max_hold{10};

class HoldsTest : public test::DaemonFixture {
protected:
    void set_utilization(pid_t pid, std::uint32_t utilization) {
        AttributeChange change;
        change.utilization = utilization;
        ASSERT_TRUE(daemon.change(root, pid, change));
    }
    void start_under(const char* policy) {
        start_two();
        ASSERT_TRUE(daemon.set_policy(root, policy));
    }
    [[nodiscard]] std::size_t warnings() const {
        return static_cast<std::size_t>(std::ranges::count_if(lines, [](const std::string& line) {
            return line.find("utilization is") != std::string::npos;
        }));
    }
};

// The batch job is held for another 100 ms, or what a test sets, after the work of the server.
class GraceTest : public HoldsTest {
protected:
    GraceTest() {
        rules.parameters.bands.floor_percent = 0;
        rules.parameters.bands.resume_grace = milliseconds{100};
        rules.max_hold = milliseconds{200};
    }
    void start() {
        start_two();
        daemon.reload(rules);
    }
    void serve_for(std::chrono::nanoseconds time) {
        gpu.submit(server, 1);
        events();
        pass(time);
        ASSERT_TRUE(gpu.held(batch));
        gpu.finish(server, 1);
    }
    void expect_resumed_after(std::chrono::nanoseconds grace) {
        pass(grace - milliseconds{1});
        EXPECT_TRUE(gpu.held(batch));
        pass(milliseconds{50});
        EXPECT_FALSE(gpu.held(batch));
        EXPECT_EQ(daemon.status().ejected, "");
    }
    Rules rules = test::rules_of_test();
};

TEST_F(GraceTest, may_be_longer_than_max_hold) {
    rules.parameters.bands.resume_grace = seconds{2};
    start();
    serve_for(seconds{1});
    expect_resumed_after(seconds{2});
}

TEST_F(GraceTest, of_policies_that_linger_may_be_longer_than_max_hold) {
    rules.parameters.linger = seconds{2};
    start();
    ASSERT_TRUE(daemon.change(root, server, {.priority = 1}));
    for (const char* policy : {"HPF", "HHPF"}) {
        SCOPED_TRACE(policy);
        ASSERT_TRUE(daemon.set_policy(root, policy));
        serve_for(seconds{1});
        expect_resumed_after(seconds{2});
    }
}

TEST_F(GraceTest, of_dear_switches_may_be_longer_than_max_hold) {
    rules.max_hold = milliseconds{100};
    start();
    gpu.change_takes = milliseconds{20}; // a stop and a resume take 40 ms, five of them 200 ms
    serve_for(seconds{1});
    expect_resumed_after(milliseconds{100});
    serve_for(seconds{1});
    expect_resumed_after(milliseconds{200});
}

// The host was busy when the first calls were made. The gaps between the requests are shorter than
// a grace that follows from those.
TEST_F(GraceTest, of_slow_first_switches_keeps_no_job_held_for_good) {
    rules.parameters.bands.resume_grace = milliseconds{1};
    start();
    gpu.change_takes = milliseconds{40};
    for (const Time end = gpu.now + seconds{60}; gpu.now < end;) {
        serve_for(milliseconds{20});
        pass(milliseconds{200});
        if (gpu.calls >= 3)
            gpu.change_takes = milliseconds{1};
    }
    EXPECT_GT(job(batch).account.preemptions, 100U);
}

TEST_F(HoldsTest, hhpf_may_hold_a_job_for_one_on_another_gpu) {
    add(server, "/server");
    gpu.create_queue(batch, 1, 2);
    gpu.running.at(batch).cgroup = "/batch";
    daemon.start();
    ASSERT_TRUE(daemon.set_policy(root, "HHPF"));
    ASSERT_TRUE(daemon.change(root, server, {.priority = 1}));
    gpu.submit(batch, 1);
    gpu.submit(server, 1);
    pass(2 * max_hold);
    EXPECT_EQ(daemon.status().ejected, "");
    EXPECT_TRUE(gpu.held(batch));
    gpu.finish(server, 1);
    pass(milliseconds{20});
    EXPECT_FALSE(gpu.held(batch));
}

// An operator resumes a lower job that has work, so nothing else changes.
TEST_F(HoldsTest, end_of_a_hold_of_others_is_seen_by_the_next_poll) {
    start_two();
    gpu.running.at(batch).queues.at(1).held_by_other = true;
    gpu.submit(server, 1);
    events();
    pass(milliseconds{230}); // the next scan is not near
    ASSERT_FALSE(gpu.held(batch));
    gpu.running.at(batch).queues.at(1).held_by_other = false;
    pass(milliseconds{5});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(HoldsTest, job_without_utilization_waits_under_up_and_pup_while_another_has_work) {
    start_two();
    for (const char* policy : {"UP", "PUP"}) {
        SCOPED_TRACE(policy);
        ASSERT_TRUE(daemon.set_policy(root, policy));
        set_utilization(batch, 0);
        gpu.submit(server, 1);
        pass(2 * max_hold);
        EXPECT_EQ(daemon.status().ejected, "");
        EXPECT_TRUE(gpu.held(batch));
        gpu.finish(server, 1);
        pass(milliseconds{20});
        EXPECT_FALSE(gpu.held(batch));
    }
    EXPECT_EQ(warnings(), 0U);
}

TEST_F(HoldsTest, spup_may_hold_a_job_without_utilization_and_the_log_says_so_once) {
    start_under("SPUP");
    set_utilization(batch, 0);
    pass(3 * max_hold);
    EXPECT_EQ(daemon.status().ejected, "");
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_EQ(warnings(), 1U);
    set_utilization(batch, 50);
    pass(3 * max_hold);
    EXPECT_EQ(daemon.status().ejected, "");
    EXPECT_EQ(warnings(), 1U);
}

TEST_F(HoldsTest, frame_of_spup_may_be_longer_than_max_hold) {
    Rules rules = test::rules_of_test();
    rules.policy_name = "SPUP";
    rules.parameters.strict.slice = seconds{10};
    start_two();
    daemon.reload(rules);
    set_utilization(server, 90);
    set_utilization(batch, 10);
    pass(seconds{60});
    EXPECT_EQ(daemon.status().ejected, "");
    EXPECT_EQ(daemon.status().policy, "SPUP");
    EXPECT_EQ(warnings(), 1U); // of three long waits
}

// Decisions for a policy that holds the batch job, always, and lets the others run.
class DecisionsTest : public testing::TestWithParam<HoldReason> {
protected:
    DecisionsTest()
        : table([](const ProcessFacts& facts) {
              return Placement{std::to_string(facts.pid), "job"};
          }),
          sensing(
              gpu, table, [&](pid_t pid) { return gpu.facts(pid); }, [&] { return gpu.now; }),
          decisions(table, max_hold) {
        gpu.create_queue(batch, 1);
        gpu.submit(batch, 1);
    }
    void hold_the_batch_job(std::chrono::nanoseconds timer) {
        decisions.set_policy(
            "BAD",
            [this, timer](const sched::Snapshot& snapshot, std::span<sched::Verdict> verdicts) {
                for (std::size_t i = 0; i < verdicts.size(); ++i)
                    if (table.jobs()[i]->processes.front()->facts.pid == batch)
                        verdicts[i] = sched::Verdict::hold;
                return timer == timer.zero() ? sched::at_next_event : snapshot.now + timer;
            },
            GetParam());
        (void)sensing.scan(gpu.now);
    }
    bool ejects_after_max_hold() {
        (void)decisions.decide(gpu.now);
        EXPECT_FALSE(decisions.settle());
        EXPECT_LE(decisions.next(), gpu.now + max_hold);
        gpu.now += max_hold - milliseconds{1};
        (void)decisions.decide(gpu.now);
        EXPECT_FALSE(decisions.settle());
        gpu.now += milliseconds{1};
        (void)decisions.decide(gpu.now);
        return decisions.settle();
    }

    test::FakeProvider gpu;
    JobTable table;
    Sensing sensing;
    Decisions decisions;
};

TEST_P(DecisionsTest, policy_that_holds_for_nothing_is_ejected) {
    const bool by_time = GetParam() == HoldReason::reserved_time;
    hold_the_batch_job(by_time ? milliseconds{0} : milliseconds{1});
    ASSERT_TRUE(ejects_after_max_hold());
    EXPECT_NE(decisions.ejected(), "");
    EXPECT_EQ(decisions.policy_name(), "none");
    EXPECT_EQ(decisions.decide(gpu.now)[0], sched::Verdict::run);
    EXPECT_FALSE(decisions.settle());
}

TEST_P(DecisionsTest, work_on_another_gpu_is_a_reason_only_for_a_policy_that_says_so) {
    gpu.create_queue(server, 1, 2);
    gpu.submit(server, 1);
    hold_the_batch_job(milliseconds{0});
    EXPECT_EQ(ejects_after_max_hold(), GetParam() != HoldReason::job_on_any_node);
}

class HeldForAJobTest : public DecisionsTest {};

TEST_P(HeldForAJobTest, wait_is_counted_from_the_end_of_the_work_of_that_job) {
    gpu.create_queue(server, 1);
    gpu.submit(server, 1);
    hold_the_batch_job(milliseconds{0});
    (void)decisions.decide(gpu.now);
    ASSERT_FALSE(decisions.settle());
    gpu.now += max_hold - milliseconds{1};
    gpu.finish(server, 1);
    (void)sensing.scan(gpu.now);
    EXPECT_TRUE(ejects_after_max_hold());
}

TEST_P(DecisionsTest, policy_that_reserves_time_may_hold_while_it_has_a_timer) {
    hold_the_batch_job(milliseconds{1});
    EXPECT_EQ(ejects_after_max_hold(), GetParam() != HoldReason::reserved_time);
    EXPECT_EQ(decisions.take_warnings().size(), GetParam() == HoldReason::reserved_time ? 1U : 0U);
    EXPECT_TRUE(decisions.take_warnings().empty());
}

const char* name_of(const testing::TestParamInfo<HoldReason>& reason) {
    switch (reason.param) {
    case HoldReason::job_on_its_nodes: return "job_on_its_nodes";
    case HoldReason::job_on_any_node: return "job_on_any_node";
    case HoldReason::reserved_time: return "reserved_time";
    }
    return "";
}
INSTANTIATE_TEST_SUITE_P(Reasons, DecisionsTest,
                         testing::Values(HoldReason::job_on_its_nodes, HoldReason::job_on_any_node,
                                         HoldReason::reserved_time),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Reasons, HeldForAJobTest,
                         testing::Values(HoldReason::job_on_its_nodes, HoldReason::job_on_any_node),
                         name_of);

} // namespace
