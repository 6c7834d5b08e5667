// SPDX-License-Identifier: MIT
// A reload applies the rules to jobs that run, and leaves what was set by hand.
#include "daemon_fixture.hpp"

namespace {

using namespace xpreemptd;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::batch;
using test::server;

class ReloadTest : public test::DaemonFixture {
protected:
    static Rules rules_with(sched::Band server_band, std::uint32_t batch_weight) {
        Rules rules = test::rules_of_test();
        rules.rules[0].set.band = server_band;
        Rule of_batch;
        of_batch.executable = "/batch";
        of_batch.set.weight = batch_weight;
        rules.rules.push_back(of_batch);
        return rules;
    }
    void set(pid_t pid, const AttributeChange& change) {
        const Answer<void> done = daemon.change({1, 0}, pid, change);
        ASSERT_TRUE(done) << done.error().text;
    }
    [[nodiscard]] Attributes of(pid_t pid) const { return job(pid).attributes; }
};

TEST_F(ReloadTest, applies_changed_rules_to_jobs_that_run) {
    start_two();
    daemon.reload(rules_with(sched::Band::idle, 300));
    EXPECT_EQ(of(server).band, sched::Band::idle);
    EXPECT_EQ(of(batch).weight, 300U);
    gpu.submit(server, 1);
    pass(milliseconds{5});
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_TRUE(gpu.held(server)); // it is the lower one by now
    daemon.reload(test::rules_of_test());
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_FALSE(gpu.held(server));
    EXPECT_EQ(of(batch).weight, sched::default_weight);
}

TEST_F(ReloadTest, changes_the_defaults_of_jobs_without_a_rule) {
    start_two();
    Rules rules = test::rules_of_test();
    rules.defaults.band = sched::Band::idle;
    daemon.reload(rules);
    EXPECT_EQ(of(batch).band, sched::Band::idle);
    EXPECT_EQ(of(server).band, sched::Band::high);
}

TEST_F(ReloadTest, leaves_each_attribute_that_renice_has_set) {
    start_two();
    set(batch, {.band = sched::Band::idle});
    daemon.reload(rules_with(sched::Band::high, 300));
    EXPECT_EQ(of(batch).band, sched::Band::idle);
    EXPECT_EQ(of(batch).weight, 300U);
    set(batch, {.weight = 7});
    daemon.reload(rules_with(sched::Band::high, 400));
    EXPECT_EQ(of(batch).band, sched::Band::idle);
    EXPECT_EQ(of(batch).weight, 7U);
}

// The run outlives the process that was announced: what remains of the job keeps its attributes.
TEST_F(ReloadTest, leaves_what_run_has_set_and_applies_the_rest) {
    start_two();
    gpu.create_process(30, 1);
    ASSERT_TRUE(daemon.adopt({30, 0}, {.band = sched::Band::realtime}));
    gpu.create_queue(30, 1);
    gpu.create_queue(31, 1);
    gpu.running.at(31).parent = 30;
    pass(milliseconds{150});
    ASSERT_EQ(job(31).name, "run 30");
    gpu.exit(30);
    gpu.waiting.erase(30);
    gpu.create_process(40, 1);
    ASSERT_TRUE(daemon.adopt({40, 0}, {})); // forgets runs that have ended
    pass(milliseconds{150});
    Rules rules = test::rules_of_test();
    rules.defaults.weight = 55;
    daemon.reload(rules);
    EXPECT_EQ(of(31).band, sched::Band::realtime);
    EXPECT_EQ(of(31).weight, 55U);
    gpu.create_queue(40, 1);
    pass(milliseconds{150});
    EXPECT_EQ(of(40).weight, 55U); // announced before the reload, seen after it
}

TEST_F(ReloadTest, changes_what_the_owner_may_choose) {
    start_two();
    Rules rules = test::rules_of_test();
    Rule of_batch;
    of_batch.executable = "/batch";
    of_batch.owner_may_choose = sched::Band::high;
    rules.rules.push_back(of_batch);
    const AttributeChange high{.band = sched::Band::high};
    EXPECT_EQ(daemon.change({1, 1000}, batch, high).error().error, EPERM); // it is root's
    gpu.exit(batch);
    add(batch, "/batch");
    gpu.running.at(batch).uid = 1000;
    pass(milliseconds{150});
    EXPECT_EQ(daemon.change({1, 1000}, batch, high).error().error, EPERM);
    daemon.reload(rules);
    EXPECT_TRUE(daemon.change({1, 1000}, batch, high));
}

TEST_F(ReloadTest, changes_policy_and_parameters) {
    start_two();
    Rules rules =
        parse_rules("[policy]\nname = \"RR\"\n[policy.RR]\nquantum = \"30ms\"\n", "f").value();
    daemon.reload(rules);
    EXPECT_EQ(daemon.status().policy, "RR");
    gpu.submit(server, 1);
    pass(milliseconds{25});
    EXPECT_FALSE(gpu.held(batch));
    pass(milliseconds{15});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(ReloadTest, logs_what_it_did_and_what_needs_a_restart) {
    start_two();
    lines.clear();
    daemon.reload(rules_with(sched::Band::high, 300));
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], "reloaded: 2 rules, policy BAND; 1 of 2 jobs changed");
    EXPECT_EQ(lines[1], "rules: policy BAND ignores weight");
    Rules rules = test::rules_of_test();
    rules.socket = "/run/other.sock";
    for (int again = 0; again < 2; ++again) { // as long as it is so
        lines.clear();
        daemon.reload(rules);
        ASSERT_EQ(lines.size(), 1U);
        EXPECT_NE(lines[0].find("a restart is needed for [socket]"), std::string::npos) << lines[0];
    }
    rules.socket = Rules{}.socket;
    lines.clear();
    daemon.reload(rules);
    EXPECT_EQ(lines.at(0).find("restart"), std::string::npos) << lines[0];
}

TEST_F(ReloadTest, each_policy_that_ignores_attributes_of_rules_is_named) {
    daemon.reload(rules_with(sched::Band::high, 300));
    lines.clear();
    daemon.start();
    ASSERT_TRUE(daemon.set_policy({1, 0}, "CFS"));
    ASSERT_TRUE(daemon.set_policy({1, 0}, "RR"));
    EXPECT_EQ(lines, (std::vector<std::string>{"rules: policy BAND ignores weight",
                                               "rules: policy CFS ignores band",
                                               "rules: policy RR ignores band, weight"}));
}

TEST_F(ReloadTest, attributes_of_all_jobs_that_the_policy_ignores_are_named) {
    Rules rules;
    rules.defaults.weight = 300;
    lines.clear();
    daemon.reload(rules);
    EXPECT_EQ(lines.back(), "rules: policy BAND ignores weight");
}

TEST_F(ReloadTest, resumes_no_job_that_stays_stopped) {
    start_two();
    gpu.submit(server, 1);
    events();
    ASSERT_TRUE(gpu.held(batch));
    const std::uint64_t calls = gpu.calls;
    daemon.reload(rules_with(sched::Band::realtime, 300));
    pass(milliseconds{5});
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_EQ(gpu.calls, calls);
}

TEST_F(ReloadTest, slurm_job_without_a_partition_is_warned_of_once_if_a_rule_needs_it) {
    start_two();
    const auto add_step = [&](pid_t pid) {
        add(pid, "/step");
        gpu.running.at(pid).cgroup =
            "/system.slice/slurmstepd.scope/s4Q7ZV2M8K1T00/step_" + std::to_string(pid);
        pass(milliseconds{150});
    };
    add_step(30);
    EXPECT_TRUE(lines.empty());
    Rules rules = test::rules_of_test();
    Rule of_partition;
    of_partition.slurm_partition = "batch";
    of_partition.set.weight = 3;
    rules.rules.push_back(of_partition);
    daemon.reload(rules);
    lines.clear();
    add_step(31);
    add_step(32);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("/run/kfd-preempt/slurm/s4Q7ZV2M8K1T00,"), std::string::npos);
}

} // namespace
