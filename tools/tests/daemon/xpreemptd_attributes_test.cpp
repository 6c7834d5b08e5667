// SPDX-License-Identifier: MIT
// The daemon over queues in memory: attributes reach the policies that read them.
#include "daemon_fixture.hpp"

namespace {

using namespace xpreemptd;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::batch;
using test::server;

constexpr Caller root{1, 0, 1};

class AttributesTest : public test::DaemonFixture {
protected:
    void start_under(const char* policy) {
        start_two();
        ASSERT_TRUE(daemon.set_policy(root, policy));
    }
    void set(pid_t pid, const AttributeChange& change) {
        ASSERT_TRUE(daemon.change(root, pid, change));
    }
    void start_both_under(const char* policy) {
        start_under(policy);
        gpu.submit(server, 1);
        pass(milliseconds{1});
    }
};

TEST_F(AttributesTest, earliest_deadline_runs_under_k_edf) {
    start_both_under("K-EDF");
    AttributeChange late, early;
    late.deadline = seconds{2};
    early.deadline = seconds{1};
    set(batch, late); // which has had work for longer
    set(server, early);
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_FALSE(gpu.held(server));
}

TEST_F(AttributesTest, request_is_critical_after_its_laxity_under_lax) {
    start_under("LAX");
    AttributeChange change;
    change.lax = milliseconds{20};
    set(server, change);
    gpu.submit(server, 1);
    pass(milliseconds{19});
    EXPECT_FALSE(gpu.held(batch));
    pass(milliseconds{2});
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_FALSE(gpu.held(server));
}

TEST_F(AttributesTest, utilization_is_the_share_under_spup) {
    start_both_under("SPUP");
    AttributeChange change;
    change.utilization = 25;
    set(server, change);
    change.utilization = 50;
    set(batch, change);
    pass(milliseconds{100});
    const auto server_before = job(server).account, batch_before = job(batch).account;
    pass(seconds{1});
    const auto ran = [](const sched::Account& before, const sched::Account& now) {
        return std::chrono::duration<double>(now.run - before.run).count();
    };
    EXPECT_NEAR(ran(server_before, job(server).account), 0.25, 0.02);
    EXPECT_NEAR(ran(batch_before, job(batch).account), 0.50, 0.02);
}

TEST_F(AttributesTest, highest_cpu_priority_runs_under_chpf) {
    add(server, "/server");
    add(batch, "/batch");
    gpu.running.at(server).cpu_priority = 20; // the lowest nice value
    gpu.running.at(batch).cpu_priority = 101; // real-time
    daemon.start();
    ASSERT_TRUE(daemon.set_policy(root, "CHPF"));
    gpu.submit(batch, 1);
    gpu.submit(server, 1);
    pass(milliseconds{50});
    EXPECT_TRUE(gpu.held(server));
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(AttributesTest, changed_cpu_priority_counts_after_a_second_and_costs_one_file_a_second) {
    start_both_under("CHPF");
    pass(seconds{2});
    EXPECT_FALSE(gpu.held(batch));
    gpu.running.at(server).cpu_priority = 1;
    const std::uint64_t before = gpu.origins;
    pass(milliseconds{1100});
    EXPECT_TRUE(gpu.held(batch));
    pass(milliseconds{1900});
    EXPECT_GE(gpu.origins - before, 4U); // of two processes
    EXPECT_LE(gpu.origins - before, 6U);
}

TEST_F(AttributesTest, cpu_priorities_are_not_read_again_under_another_policy) {
    start_both_under("HPF");
    const std::uint64_t before = gpu.origins;
    pass(seconds{3});
    EXPECT_EQ(gpu.origins, before);
}

TEST_F(AttributesTest, focused_job_runs_first_under_awf_until_the_focus_goes) {
    start_both_under("AWF");
    EXPECT_FALSE(gpu.held(batch));
    ASSERT_TRUE(daemon.focus(root, server));
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_TRUE(job(server).focused);
    ASSERT_TRUE(daemon.focus(root, batch));
    EXPECT_TRUE(gpu.held(server));
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_FALSE(job(server).focused);
    ASSERT_TRUE(daemon.focus(root, std::nullopt));
    EXPECT_FALSE(gpu.held(server));
    EXPECT_FALSE(job(batch).focused);
    ASSERT_TRUE(daemon.focus(root, server));
    gpu.exit(server);
    pass(milliseconds{1});
    EXPECT_FALSE(gpu.held(batch));
}

// Three runs that are always busy, and another job that is.
class RunsTest : public AttributesTest {
protected:
    void start_with_runs_in(const std::string& cgroup, const std::string& program = "") {
        add(batch, "/batch");
        daemon.start();
        for (const pid_t pid : runs) {
            gpu.running[pid].cgroup = cgroup;
            ASSERT_TRUE(daemon.adopt({pid, 0, 1}, {}));
        }
        for (const pid_t pid : runs) {
            gpu.running.at(pid).executable = program;
            gpu.create_queue(pid, 1);
        }
        pass(seconds{1});
        for (const pid_t pid : runs)
            gpu.submit(pid, 1);
        gpu.submit(batch, 1);
    }
    // Returns that of the job beside the runs.
    double share_under(const char* policy) {
        EXPECT_TRUE(daemon.set_policy(root, policy));
        pass(milliseconds{100});
        const auto before = job(batch).account.run;
        pass(seconds{1});
        return std::chrono::duration<double>(job(batch).account.run - before).count();
    }
    const std::vector<pid_t> runs{31, 32, 33};
};

// Else a user would have as many turns as runs.
TEST_F(RunsTest, within_a_unit_share_the_turns_of_one_job) {
    Rules rules = test::rules_of_test();
    rules.parameters.multilevel.levels = 1; // so that turns are short beside a second
    daemon.reload(rules);
    start_with_runs_in("/system.slice/x.service");
    for (const char* policy : {"RR", "CFS", "UP", "PUP", "SPUP", "MLFQ"})
        EXPECT_NEAR(share_under(policy), 0.5, 0.03) << policy;
    EXPECT_NE(job(31).name, job(32).name);
}

TEST_F(RunsTest, within_a_unit_share_them_with_its_other_processes) {
    start_with_runs_in("/system.slice/x.service");
    gpu.create_queue(40, 1);
    gpu.running.at(40).cgroup = "/system.slice/x.service";
    gpu.submit(40, 1);
    pass(seconds{1});
    EXPECT_NEAR(share_under("RR"), 0.5, 0.03);
    EXPECT_EQ(job(40).name, "/system.slice/x.service");
}

// Else runs in some of the containers of a job would give it more turns.
TEST_F(RunsTest, within_a_job_that_a_rule_joins_share_its_turns) {
    Rules rules = test::rules_of_test();
    Rule joined;
    joined.cgroup = "/pod-*";
    joined.job = "ranks";
    rules.rules.push_back(joined);
    daemon.reload(rules);
    start_with_runs_in("/pod-1");
    gpu.create_queue(40, 1);
    gpu.running.at(40).cgroup = "/pod-2";
    gpu.submit(40, 1);
    pass(seconds{1});
    EXPECT_NEAR(share_under("RR"), 0.5, 0.03);
    EXPECT_EQ(job(40).name, "ranks");
    EXPECT_EQ(job(31).name, "run 31");
}

// `kfd-preempt run` announces itself, and the rule names what it executes.
TEST_F(RunsTest, of_a_program_that_a_rule_joins_share_the_turns_of_its_job) {
    Rules rules = test::rules_of_test();
    Rule joined;
    joined.executable = "/train";
    joined.job = "ranks";
    rules.rules.push_back(joined);
    daemon.reload(rules);
    start_with_runs_in("/pod-1", "/train");
    gpu.create_queue(40, 1);
    gpu.running.at(40).cgroup = "/pod-2";
    gpu.running.at(40).executable = "/train";
    gpu.submit(40, 1);
    pass(seconds{1});
    EXPECT_NEAR(share_under("RR"), 0.5, 0.03);
    EXPECT_EQ(job(40).name, "ranks");
    EXPECT_EQ(job(31).name, "run 31");
}

TEST_F(RunsTest, in_a_login_session_are_jobs_for_themselves) {
    start_with_runs_in("/user.slice/user-1000.slice/session-3.scope");
    EXPECT_NEAR(share_under("RR"), 0.25, 0.03);
}

// An idle run is not stopped, and one that gets work waits for the turn of its unit.
TEST_F(RunsTest, take_their_turns_together) {
    start_with_runs_in("/system.slice/x.service");
    ASSERT_TRUE(daemon.set_policy(root, "RR"));
    gpu.finish(33, 1);
    pass(milliseconds{100});
    int together = 0;
    for (int i = 0; i < 100; ++i) {
        pass(milliseconds{1});
        EXPECT_EQ(gpu.held(31), gpu.held(32));
        EXPECT_NE(gpu.held(31), gpu.held(batch));
        EXPECT_FALSE(gpu.held(33));
        together += gpu.held(31) ? 1 : 0;
    }
    EXPECT_NEAR(together, 50, 10);
}

TEST_F(RunsTest, that_ended_are_forgotten) {
    start_two();
    for (pid_t pid = 1000; pid < 1100; ++pid) {
        gpu.create_process(pid, 1);
        ASSERT_TRUE(daemon.adopt({pid, 0}, {}));
        gpu.waiting.erase(pid);
    }
    gpu.create_process(30, 1);
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(daemon.adopt({30, 0}, {}));
    const std::uint64_t before = gpu.origins;
    ASSERT_TRUE(daemon.adopt({30, 0}, {}));
    EXPECT_EQ(gpu.origins - before, 1U);
}

constexpr pid_t second_server = 11, render = 12;

// Two users with two jobs each, all of which have work.
class FocusTest : public AttributesTest {
protected:
    void start_four() {
        for (const pid_t pid : {server, second_server, batch, render}) {
            add(pid, "/any");
            gpu.running.at(pid).uid = pid == server || pid == second_server ? 1000 : 1001;
        }
        daemon.start();
        ASSERT_TRUE(daemon.set_policy(root, "AWF"));
        for (const pid_t pid : {server, second_server, batch, render})
            gpu.submit(pid, 1);
        pass(milliseconds{10});
    }
    [[nodiscard]] std::vector<pid_t> focused() const {
        std::vector<pid_t> pids;
        for (const JobReport& report : daemon.jobs())
            if (report.focused)
                pids.push_back(report.pids.at(0));
        std::ranges::sort(pids);
        return pids;
    }
    using Pids = std::vector<pid_t>;

    const Caller first_user{1, 1000, 1}, second_user{1, 1001, 2};
};

TEST_F(FocusTest, job_of_another_user_cannot_get_the_focus) {
    start_four();
    const auto given = daemon.focus(second_user, server);
    ASSERT_FALSE(given);
    EXPECT_EQ(given.error().error, EPERM);
    EXPECT_EQ(daemon.focus(root, pid_t{77}).error().error, ESRCH);
    EXPECT_EQ(focused(), Pids{});
}

TEST_F(FocusTest, of_processes_without_queues_costs_a_bounded_number_of_files) {
    start_four();
    const auto before = gpu.facts_read;
    for (pid_t pid = 5000; pid < 5100; ++pid)
        ASSERT_FALSE(daemon.focus(first_user, pid));
    EXPECT_LE(gpu.facts_read - before, 11U);
    EXPECT_EQ(daemon.focus(first_user, pid_t{77}).error().error, EAGAIN);
    EXPECT_EQ(daemon.focus(second_user, pid_t{77}).error().error, ESRCH) << "others have their own";
    ASSERT_TRUE(daemon.focus(first_user, server)) << "one with queues is known";
}

TEST_F(FocusTest, moves_among_the_jobs_of_one_user_only) {
    start_four();
    ASSERT_TRUE(daemon.focus(first_user, server));
    ASSERT_TRUE(daemon.focus(second_user, batch));
    EXPECT_EQ(focused(), (Pids{server, batch}));
    ASSERT_TRUE(daemon.focus(first_user, second_server));
    EXPECT_EQ(focused(), (Pids{second_server, batch}));
    ASSERT_TRUE(daemon.focus(second_user, std::nullopt));
    EXPECT_EQ(focused(), Pids{second_server});
    ASSERT_TRUE(daemon.focus(second_user, std::nullopt)); // has none
    EXPECT_EQ(focused(), Pids{second_server});
}

TEST_F(FocusTest, root_moves_the_focus_of_the_user_of_the_job_and_takes_that_of_all) {
    start_four();
    ASSERT_TRUE(daemon.focus(first_user, server));
    ASSERT_TRUE(daemon.focus(second_user, batch));
    ASSERT_TRUE(daemon.focus(root, render));
    EXPECT_EQ(focused(), (Pids{server, render}));
    ASSERT_TRUE(daemon.focus(root, std::nullopt));
    EXPECT_EQ(focused(), Pids{});
}

TEST_F(FocusTest, focused_jobs_of_several_users_run_together) {
    start_four();
    ASSERT_TRUE(daemon.focus(first_user, server));
    EXPECT_TRUE(gpu.held(batch));
    ASSERT_TRUE(daemon.focus(second_user, batch));
    pass(seconds{30});
    EXPECT_FALSE(gpu.held(server));
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_TRUE(gpu.held(second_server));
    EXPECT_TRUE(gpu.held(render));
    gpu.exit(server); // its focus is no other job's
    pass(milliseconds{10});
    EXPECT_EQ(focused(), Pids{batch});
}

} // namespace
