// SPDX-License-Identifier: MIT
// The daemon over queues in memory: root chooses freely, owners of jobs only lower attributes.
#include "daemon_fixture.hpp"

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;
using test::batch;
using test::server;

constexpr Caller root{1, 0, 1}, owner{2, 1000, 2};

// The batch job has utilization 10, weight 100, a deadline of 20 ms and a laxity of 30 ms.
Rules rules_with_times() {
    Rules rules = test::rules_of_test();
    Rule rule;
    rule.executable = "/batch";
    rule.set.utilization = 10;
    rule.set.deadline = 20ms;
    rule.set.lax = 30ms;
    rules.rules.push_back(rule);
    return rules;
}

class RightsTest : public test::DaemonFixture {
protected:
    void add(pid_t pid, const std::string& executable) {
        DaemonFixture::add(pid, executable);
        gpu.running.at(pid).uid = owner.uid;
    }
    void start_with(Rules rules) {
        add(server, "/other"); // matches no rule
        add(batch, "/batch");
        daemon.start();
        daemon.reload(std::move(rules));
    }
    static int error_of(const Answer<void>& answer) { return answer ? 0 : answer.error().error; }
    int set(pid_t pid, const AttributeChange& change, const Caller& caller = owner) {
        return error_of(daemon.change(caller, pid, change));
    }
};

TEST_F(RightsTest, rule_lets_the_owner_choose_a_priority) {
    add(batch, "/batch");
    daemon.start();
    Rules rules = test::rules_of_test();
    Rule of_batch;
    of_batch.executable = "/batch";
    of_batch.owner_may_choose_priority = 9;
    rules.rules.push_back(of_batch);
    daemon.reload(rules);
    EXPECT_EQ(set(batch, {.priority = 9}), 0);
    EXPECT_EQ(set(batch, {.priority = 10}), EPERM);
}

// `kfd-preempt run` announces itself, and then executes the command.
TEST_F(RightsTest, rules_know_a_run_by_its_program) {
    start_two();
    gpu.running[30].executable = "/kfd-preempt";
    ASSERT_TRUE(daemon.adopt({30, 0}, {.weight = 5}));
    gpu.running.at(30).executable = "/server";
    gpu.create_queue(30, 1);
    pass(150ms);
    EXPECT_EQ(job(30).name, "run 30");
    EXPECT_EQ(job(30).attributes.band, sched::Band::high);
    EXPECT_EQ(job(30).attributes.weight, 5U);
}

TEST_F(RightsTest, owner_raises_no_attribute) {
    start_with(rules_with_times());
    for (const AttributeChange& change :
         {AttributeChange{.band = sched::Band::high}, AttributeChange{.weight = 101},
          AttributeChange{.priority = 1}, AttributeChange{.utilization = 11},
          AttributeChange{.deadline = 19ms}, AttributeChange{.lax = 29ms}}) {
        EXPECT_EQ(set(batch, change), EPERM);
        EXPECT_EQ(set(batch, change, root), 0);
    }
}

TEST_F(RightsTest, owner_lowers_each_attribute_and_takes_that_back) {
    start_with(rules_with_times());
    for (const AttributeChange& change :
         {AttributeChange{.weight = 1}, AttributeChange{.weight = 100},
          AttributeChange{.utilization = 0}, AttributeChange{.utilization = 10},
          AttributeChange{.deadline = 1s}, AttributeChange{.deadline = 20ms},
          AttributeChange{.lax = 1s}, AttributeChange{.lax = 30ms}})
        EXPECT_EQ(set(batch, change), 0);
}

// Without a rule a job has none, which is the lowest.
TEST_F(RightsTest, owner_gives_no_deadline_and_no_laxity_where_no_rule_does) {
    start_with(rules_with_times());
    EXPECT_EQ(set(server, {.deadline = 1h}), EPERM);
    EXPECT_EQ(set(server, {.lax = 1h}), EPERM);
    const auto refused = daemon.change(owner, server, {.deadline = 1h});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text, "no rule gives this job a deadline: ask the administrator for "
                                    "a rule, or run as root");
}

TEST_F(RightsTest, run_of_a_user_raises_no_attribute) {
    start_with(rules_with_times());
    gpu.create_process(30, 1);
    gpu.running[30].uid = owner.uid; // without queues
    const auto adopt = [&](const AttributeChange& change) {
        return error_of(daemon.adopt({30, owner.uid, 3}, change));
    };
    EXPECT_EQ(adopt({.weight = 10000}), EPERM);
    EXPECT_EQ(adopt({.deadline = 1us}), EPERM);
    EXPECT_EQ(adopt({.lax = 1us}), EPERM);
    EXPECT_EQ(adopt({.weight = 50}), 0);
}

// A user may run his programs in /opt/train with more than other ones.
class RunOfAProgramTest : public RightsTest {
protected:
    static Rules rules_for_training() {
        Rules rules = rules_with_times();
        Rule training;
        training.executable = "/opt/train/*";
        training.set.weight = 300;
        training.owner_may_choose = sched::Band::realtime;
        rules.rules.push_back(training);
        return rules;
    }
    int run_with(const AttributeChange& change) {
        gpu.running[30].uid = owner.uid; // without queues
        gpu.running[30].executable = "/usr/bin/kfd-preempt";
        return error_of(daemon.adopt({30, owner.uid, 3}, change));
    }
    JobReport execute(const std::string& program) {
        gpu.running.at(30).executable = program;
        gpu.create_queue(30, 1);
        pass(150ms);
        return job(30);
    }
};

TEST_F(RunOfAProgramTest, owner_may_choose_what_the_rule_of_the_program_allows) {
    start_with(rules_for_training());
    EXPECT_EQ(run_with({.weight = 301}), EPERM);
    ASSERT_EQ(run_with({.band = sched::Band::realtime, .weight = 200}), 0);
    const JobReport of_run = execute("/opt/train/x");
    EXPECT_EQ(of_run.name, "run 30");
    EXPECT_EQ(of_run.attributes.band, sched::Band::realtime);
    EXPECT_EQ(of_run.attributes.weight, 200U);
}

TEST_F(RunOfAProgramTest, another_program_is_lowered_to_what_the_rules_allow_it) {
    start_with(rules_for_training());
    ASSERT_EQ(run_with({.band = sched::Band::realtime, .weight = 200}), 0);
    const JobReport of_run = execute("/usr/bin/python3");
    EXPECT_EQ(of_run.name, "run 30");
    EXPECT_EQ(of_run.attributes.band, sched::Band::normal);
    EXPECT_EQ(of_run.attributes.weight, 100U);
}

TEST_F(RunOfAProgramTest, rule_for_another_user_allows_nothing) {
    Rules rules = rules_for_training();
    rules.rules.back().uid = owner.uid + 1;
    start_with(rules);
    EXPECT_EQ(run_with({.band = sched::Band::realtime}), EPERM);
    EXPECT_EQ(run_with({.weight = 200}), EPERM);
}

TEST_F(RunOfAProgramTest, rule_behind_one_that_matches_any_program_allows_nothing) {
    Rules rules = rules_for_training();
    Rule any;
    any.uid = owner.uid;
    any.set.weight = 50;
    rules.rules.insert(rules.rules.begin(), any);
    start_with(rules);
    EXPECT_EQ(run_with({.band = sched::Band::high}), EPERM);
    EXPECT_EQ(run_with({.weight = 51}), EPERM);
    EXPECT_EQ(run_with({.weight = 50}), 0);
}

// Each attribute by the rule that allows the most of it.
TEST_F(RunOfAProgramTest, highest_is_that_of_each_attribute) {
    Rules rules = rules_for_training();
    rules.defaults.weight = 400;
    start_with(rules);
    EXPECT_EQ(run_with({.weight = 401}), EPERM);
    EXPECT_EQ(run_with({.utilization = 100}), 0);
    EXPECT_EQ(run_with({.deadline = 19ms}), EPERM);
    EXPECT_EQ(run_with({.lax = 29ms}), EPERM);
    EXPECT_EQ(
        run_with({.band = sched::Band::realtime, .weight = 400, .deadline = 20ms, .lax = 30ms}), 0);
}

// Else any program would run first under K-EDF, as a hint says when its request has to be done.
TEST_F(RightsTest, deadlines_of_hints_count_no_earlier_than_that_of_the_rule) {
    start_with(rules_with_times());
    ASSERT_TRUE(daemon.set_policy(root, "K-EDF"));
    const auto hint = [&](pid_t pid, std::chrono::microseconds deadline) {
        return error_of(
            daemon.hint({pid, owner.uid, static_cast<std::uint64_t>(pid)}, BeginHint{deadline}));
    };
    gpu.submit(batch, 1);
    events();
    EXPECT_EQ(hint(server, 1us), 0); // no rule gives it a deadline
    gpu.submit(server, 1);
    events();
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_TRUE(gpu.held(server));
    ASSERT_EQ(set(server, {.deadline = 10ms}, root), 0);
    pass(2ms);
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_EQ(hint(batch, 1us), 0); // counts as 20 ms
    EXPECT_TRUE(gpu.held(batch));
}

// As that of nice(1): the owner may lower it further, and a hint is no way around it.
TEST_F(RightsTest, choice_of_root_binds_the_owner_and_hints) {
    start_with(rules_with_times());
    const auto hint = [&](sched::Band band) {
        return error_of(daemon.hint({batch, owner.uid, 5}, BandHint{band}));
    };
    EXPECT_EQ(hint(sched::Band::normal), 0);
    EXPECT_EQ(set(batch, {.band = sched::Band::idle}, root), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::idle);
    EXPECT_EQ(set(batch, {.band = sched::Band::normal}), EPERM);
    EXPECT_EQ(hint(sched::Band::normal), EPERM);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::idle);
    EXPECT_EQ(set(batch, {.band = sched::Band::high}, root), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::normal); // the first hint is in force again
    EXPECT_EQ(hint(sched::Band::high), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::high);
}

TEST_F(RightsTest, later_choice_of_root_replaces_that_of_the_owner) {
    start_with(rules_with_times());
    EXPECT_EQ(set(batch, {.weight = 50}), 0);
    EXPECT_EQ(set(batch, {.weight = 80}, root), 0);
    EXPECT_EQ(job(batch).attributes.weight, 80U);
    EXPECT_EQ(set(batch, {.weight = 60}), 0);
    EXPECT_EQ(set(batch, {.weight = 90}), EPERM);
    EXPECT_EQ(job(batch).attributes.weight, 60U);
}

TEST_F(RightsTest, hints_of_programs_of_root_do_not_overrule_renice) {
    start_with(rules_with_times());
    const auto hint = [&](sched::Band band) {
        return error_of(daemon.hint({batch, 0, 5}, BandHint{band}));
    };
    EXPECT_EQ(hint(sched::Band::realtime), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::realtime);
    EXPECT_EQ(set(batch, {.band = sched::Band::idle}, root), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::idle);
}

// As in cron.service or a hub of notebooks.
TEST_F(RightsTest, no_user_changes_a_unit_with_processes_of_several) {
    Rules rules = test::rules_of_test();
    Rule of_owner;
    of_owner.uid = owner.uid;
    of_owner.set.band = sched::Band::high;
    rules.rules.push_back(of_owner);
    start_with(rules);
    const Caller other{3, 1001, 3};
    EXPECT_EQ(set(batch, {.weight = 50}), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::high);
    gpu.create_queue(31, 1);
    gpu.running.at(31).cgroup = gpu.running.at(batch).cgroup;
    gpu.running.at(31).uid = other.uid;
    pass(150ms);
    ASSERT_EQ(job(batch).pids.size(), 2U);
    for (const Caller& caller : {owner, other})
        EXPECT_EQ(set(batch, {.band = sched::Band::idle}, caller), EPERM);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::normal); // the rule is for one user
    EXPECT_EQ(job(batch).attributes.weight, 100U);
    gpu.exit(batch);
    pass(150ms);
    EXPECT_EQ(set(31, {.band = sched::Band::idle}, owner), EPERM);
    EXPECT_EQ(set(31, {.band = sched::Band::idle}, other), 0);
}

TEST_F(RightsTest, reload_that_allows_less_ends_what_is_above) {
    Rules rules = rules_with_times();
    rules.rules.back().owner_may_choose = sched::Band::high;
    rules.rules.back().owner_may_choose_priority = 9;
    rules.rules.back().set.weight = 300;
    start_with(rules);
    EXPECT_EQ(set(batch, {.weight = 200, .priority = 9}), 0);
    EXPECT_EQ(error_of(daemon.hint({batch, owner.uid, 5}, BandHint{sched::Band::high})), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::high);
    daemon.reload(rules_with_times());
    EXPECT_EQ(job(batch).attributes.band, sched::Band::normal);
    EXPECT_EQ(job(batch).attributes.weight, 100U);
    EXPECT_EQ(job(batch).attributes.priority, 0);
    daemon.reload(rules);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::high);
    EXPECT_EQ(job(batch).attributes.weight, 200U);
}

// As cron.service or a hub of notebooks: a job with processes of several users.
class SharedUnitTest : public RightsTest {
protected:
    static constexpr pid_t theirs = 30, without_queues = 31;
    const Caller first{server, owner.uid, 1}, second{theirs, 1001, 2};

    void open(pid_t pid, uid_t uid, const std::string& executable = "/any") {
        gpu.running[pid].executable = executable;
        gpu.running.at(pid).cgroup = "/hub.service";
        gpu.running.at(pid).uid = uid;
    }
    void add_to_unit(const Caller& of, const std::string& executable = "/any") {
        open(of.pid, of.uid, executable);
        gpu.create_queue(of.pid, 1);
    }
    void end(pid_t pid) {
        gpu.exit(pid);
        pass(150ms);
    }
    // A server before a batch job that has work.
    void start_with(const std::vector<Caller>& members) {
        for (const Caller& member : members)
            add_to_unit(member, "/server");
        add(batch, "/batch");
        daemon.start();
        gpu.submit(batch, 1);
        pass(50ms);
    }
    int hint(const Caller& caller, const Hint& hint) { return error_of(daemon.hint(caller, hint)); }
};

TEST_F(SharedUnitTest, user_without_queues_gives_no_hint_to_the_job_of_another) {
    start_with({first});
    open(second.pid, second.uid);
    const auto is_refused = [&](const Caller& caller) {
        EXPECT_EQ(hint(caller, SoonHint{50ms}), EPERM);
        EXPECT_EQ(hint(caller, BeginHint{}), EPERM);
        EXPECT_EQ(hint(caller, EndHint{}), EPERM);
    };
    is_refused(second);
    EXPECT_FALSE(gpu.held(batch));
    pass(150ms); // it has opened the driver, and so it belongs to the job
    ASSERT_EQ(job(server).pids.size(), 2U);
    is_refused(second);
    EXPECT_EQ(hint(first, BeginHint{}), 0);
    EXPECT_EQ(hint({1, 0, 9}, BeginHint{}), ESRCH) << "root, in another job";
}

TEST_F(SharedUnitTest, processes_with_queues_give_hints) {
    start_with({first, second});
    open(without_queues, first.uid);
    EXPECT_EQ(hint({without_queues, first.uid, 3}, SoonHint{50ms}), EPERM);
    EXPECT_EQ(hint({without_queues, second.uid, 4}, SoonHint{50ms}), EPERM);
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(hint(first, BandHint{sched::Band::idle}), EPERM) << "it would be that of both";
    EXPECT_EQ(hint(first, BeginHint{}), 0);
    EXPECT_EQ(hint(second, SoonHint{50ms}), 0);
    EXPECT_EQ(hint({without_queues, 0, 5}, EndHint{}), 0) << "root";
}

TEST_F(SharedUnitTest, user_has_a_rate_of_hints_of_its_own) {
    start_with({first, second});
    int taken = 0;
    for (int i = 0; i < 200; ++i)
        taken += hint(second, BeginHint{}) == 0 ? 1 : 0;
    EXPECT_EQ(taken, 101);
    EXPECT_EQ(hint(first, BeginHint{}), 0);
}

TEST_F(SharedUnitTest, announcement_without_work_delays_those_of_its_user_only) {
    start_with({first, second});
    EXPECT_EQ(hint(second, SoonHint{50ms}), 0);
    pass(60ms);
    EXPECT_EQ(hint(second, SoonHint{50ms}), EAGAIN);
    EXPECT_EQ(hint(first, SoonHint{50ms}), 0);
    EXPECT_TRUE(gpu.held(batch));
    pass(2ms);
    EXPECT_EQ(hint(second, EndHint{}), 0);
    EXPECT_TRUE(gpu.held(batch)) << "the announcement is that of the first user";
    daemon.forget(second.connection);
    EXPECT_TRUE(gpu.held(batch));
    daemon.forget(first.connection);
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(SharedUnitTest, of_two_announcements_each_lasts_as_long_as_its_own) {
    start_with({first, second});
    EXPECT_EQ(hint(first, SoonHint{50ms}), 0);
    pass(10ms);
    EXPECT_EQ(hint(second, SoonHint{5ms}), 0);
    pass(30ms);
    EXPECT_TRUE(gpu.held(batch));
    pass(20ms);
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(hint(second, SoonHint{5ms}), 0) << "45 ms after its own";
}

TEST_F(SharedUnitTest, request_of_an_earlier_user_is_none_of_the_job_of_the_next) {
    start_with({first});
    open(without_queues, first.uid);
    EXPECT_EQ(hint({without_queues, first.uid, 3}, BeginHint{}), 0);
    gpu.running.erase(without_queues); // its connection stays
    add_to_unit(second, "/server");
    pass(150ms);
    end(first.pid);
    gpu.submit(theirs, 1);
    pass(20ms);
    ASSERT_TRUE(gpu.held(batch));
    gpu.finish(theirs, 1);
    EXPECT_EQ(hint(second, EndHint{}), 0);
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(SharedUnitTest, choice_of_a_user_is_not_that_of_the_next) {
    add_to_unit(first);
    daemon.start();
    ASSERT_EQ(set(server, {.band = sched::Band::idle, .weight = 1}, first), 0);
    add_to_unit(second);
    pass(150ms);
    end(first.pid);
    EXPECT_EQ(job(theirs).attributes.band, sched::Band::normal);
    EXPECT_EQ(job(theirs).attributes.weight, 100U);
    EXPECT_EQ(set(theirs, {.weight = 50}, second), 0);
    EXPECT_EQ(job(theirs).attributes.band, sched::Band::normal);
    EXPECT_EQ(job(theirs).attributes.weight, 50U);
}

TEST_F(SharedUnitTest, choice_of_a_user_is_in_force_while_the_job_is_its_own) {
    add_to_unit(first);
    daemon.start();
    ASSERT_EQ(set(server, {.weight = 1}, first), 0);
    ASSERT_EQ(set(server, {.priority = -3}, root), 0);
    add_to_unit(second);
    pass(150ms);
    EXPECT_EQ(job(server).attributes.weight, 100U);
    EXPECT_EQ(job(server).attributes.priority, -3);
    end(theirs);
    EXPECT_EQ(job(server).attributes.weight, 1U);
}

TEST_F(SharedUnitTest, focus_is_that_of_the_user_who_gave_it) {
    add_to_unit(first);
    daemon.start();
    ASSERT_TRUE(daemon.focus(first, server));
    EXPECT_TRUE(job(server).focused);
    add_to_unit(second);
    pass(150ms);
    EXPECT_FALSE(job(server).focused) << "no user may give it to the job of several";
    end(first.pid);
    EXPECT_FALSE(job(theirs).focused);
    ASSERT_TRUE(daemon.focus(second, theirs));
    EXPECT_TRUE(job(theirs).focused);
}

TEST_F(SharedUnitTest, focus_that_its_user_takes_does_not_come_back) {
    add_to_unit(first);
    daemon.start();
    ASSERT_TRUE(daemon.focus(first, server));
    add_to_unit(second);
    pass(150ms);
    ASSERT_TRUE(daemon.focus(first, std::nullopt));
    end(theirs);
    EXPECT_FALSE(job(server).focused);
}

TEST_F(SharedUnitTest, root_gives_the_focus_to_the_job_of_several_users) {
    add_to_unit(first);
    add_to_unit(second);
    daemon.start();
    ASSERT_TRUE(daemon.focus(root, server));
    EXPECT_TRUE(job(server).focused);
}

TEST_F(SharedUnitTest, band_by_an_executable_ends_with_the_process_that_has_it) {
    add_to_unit(first, "/server");
    daemon.start();
    add_to_unit(second, "/other");
    pass(150ms);
    EXPECT_EQ(job(server).attributes.band, sched::Band::high);
    end(first.pid);
    EXPECT_EQ(job(theirs).attributes.band, sched::Band::normal);
}

// The same user's, so that only the process is another one.
TEST_F(SharedUnitTest, rules_match_the_oldest_process_that_is_left) {
    add_to_unit(first, "/other");
    daemon.start();
    for (const pid_t pid : {theirs, without_queues}) {
        add_to_unit({pid, first.uid, 0}, pid == theirs ? "/server" : "/other");
        pass(150ms);
    }
    EXPECT_EQ(job(server).attributes.band, sched::Band::normal);
    end(first.pid);
    EXPECT_EQ(job(theirs).attributes.band, sched::Band::high);
    end(without_queues);
    EXPECT_EQ(job(theirs).attributes.band, sched::Band::high);
}

} // namespace
