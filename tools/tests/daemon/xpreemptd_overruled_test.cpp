// SPDX-License-Identifier: MIT
// The daemon over queues in memory: a job that an operator resumes by force runs until it was idle
// once.
#include "daemon_fixture.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::batch;
using test::server;
using xpreemptd::JobState;

xpreemptd::Rules without_floor() {
    xpreemptd::Rules rules = test::rules_of_test();
    rules.parameters.bands.floor_percent = 0;
    return rules;
}

class OverruledTest : public test::DaemonFixture {
protected:
    OverruledTest() : DaemonFixture(without_floor()) {}

    void SetUp() override {
        start_two();
        gpu.submit(server, 1);
        events();
        pass(seconds{1}); // each queue is read once more after its stop
        ASSERT_TRUE(gpu.held(batch));
        ASSERT_EQ(job(batch).state, JobState::held);
    }
    // As `kfd-preempt resume --force` does: without an event.
    void force(pid_t pid) { gpu.running.at(pid).queues.at(1).held = false; }
};

TEST_F(OverruledTest, job_is_noted_as_running_and_not_stopped_again) {
    force(batch);
    pass(seconds{1});
    EXPECT_EQ(job(batch).state, JobState::running);
    pass(seconds{5});
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(job(batch).state, JobState::running);
}

TEST_F(OverruledTest, time_after_it_is_not_held) {
    force(batch);
    pass(seconds{1});
    const auto before = job(batch).account.held;
    pass(seconds{5});
    EXPECT_EQ(job(batch).account.held, before);
}

TEST_F(OverruledTest, job_is_stopped_again_with_the_work_after_its_next_idle_time) {
    force(batch);
    pass(seconds{1});
    gpu.finish(batch, 1);
    pass(milliseconds{50});
    EXPECT_EQ(job(batch).state, JobState::idle);
    gpu.submit(batch, 1);
    events();
    pass(milliseconds{50});
    EXPECT_TRUE(gpu.held(batch));
}

// One process is read in each scan.
TEST_F(OverruledTest, each_of_several_jobs_is_noted) {
    for (const pid_t pid : {21, 22, 23}) {
        add(pid, "/batch");
        gpu.submit(pid, 1);
    }
    pass(seconds{1});
    for (const pid_t pid : {21, 22, 23}) {
        ASSERT_EQ(job(pid).state, JobState::held) << pid;
        force(pid);
    }
    pass(seconds{3});
    for (const pid_t pid : {21, 22, 23})
        EXPECT_EQ(job(pid).state, JobState::running) << pid;
    EXPECT_EQ(job(batch).state, JobState::held);
}

} // namespace
