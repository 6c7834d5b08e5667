// SPDX-License-Identifier: MIT
// Processes that keep themselves locked: calls about them wait, decisions about others go on.
#include "daemon_fixture.hpp"

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;
using test::batch;
using test::server;

constexpr pid_t locked = 30;

class LockTest : public test::DaemonFixture {
protected:
    // It has work, and locks itself then.
    void start_three() {
        add(locked, "/locked");
        start_two();
        gpu.submit(locked, 1);
        pass(50ms);
    }
    // Requests of the server, each of which must stop the batch job within its ring.
    void expect_requests_for(std::chrono::nanoseconds time) {
        for (const Time end = gpu.now + time; gpu.now < end;) {
            gpu.submit(server, 1);
            events();
            EXPECT_TRUE(gpu.held(batch));
            pass(10ms);
            gpu.finish(server, 1);
            pass(90ms);
        }
    }
    [[nodiscard]] auto& process(pid_t pid) { return gpu.running.at(pid); }
};

TEST_F(LockTest, locked_process_takes_a_hundredth_of_the_time_and_others_are_scheduled) {
    start_three();
    process(locked).locked = true;
    pass(1s);
    gpu.waited = 0ns;
    const Time begin = gpu.now;
    expect_requests_for(60s);
    EXPECT_LE(100 * gpu.waited, gpu.now - begin);
    EXPECT_GT(gpu.waited, 0ns);                      // it is asked now and then
    EXPECT_EQ(job(locked).state, JobState::running); // as before
}

TEST_F(LockTest, process_that_is_locked_when_it_comes_is_waited_for_once_for_all_of_its_queues) {
    start_two();
    add(locked, "/locked");
    for (std::uint32_t id = 2; id <= 250; ++id)
        gpu.create_queue(locked, id);
    process(locked).locked = true;
    const Time begin = gpu.now;
    pass(500ms);
    EXPECT_GE(gpu.waited, gpu.lock_wait);
    EXPECT_LE(gpu.waited, gpu.lock_wait + (gpu.now - begin) / 50);
}

// Between the question and the call.
TEST_F(LockTest, process_that_locks_itself_for_each_call_takes_no_more) {
    start_three();
    process(locked).flaps = true;
    pass(1s);
    gpu.waited = 0ns;
    const Time begin = gpu.now;
    expect_requests_for(60s);
    EXPECT_LE(100 * gpu.waited, gpu.now - begin + 10s); // one call at the end
}

// A host that is busy, or a virtual machine that is paused: a call takes as long as we did not run.
TEST_F(LockTest, stall_in_a_call_is_no_reason_for_a_long_rest) {
    start_two();
    gpu.lock_wait = 60s;
    process(batch).flaps = true;
    for (int request = 0; request < 2; ++request) {
        gpu.submit(server, 1);
        events();
        pass(1ms);
        gpu.finish(server, 1);
        pass(1s);
    }
    process(batch).flaps = false;
    pass(10s);
    gpu.submit(server, 1);
    pass(1s);
    EXPECT_TRUE(gpu.held(batch));
}

// As one that pins a large buffer.
TEST_F(LockTest, process_that_is_free_again_is_seen_soon) {
    start_three();
    process(locked).locked = true;
    pass(2s);
    gpu.finish(locked, 1);
    pass(1s);
    EXPECT_EQ(job(locked).state, JobState::running); // nothing is known
    process(locked).locked = false;
    pass(400ms);
    EXPECT_EQ(job(locked).state, JobState::idle);
    gpu.submit(locked, 1);
    events();
    EXPECT_EQ(job(locked).state, JobState::running);
}

TEST_F(LockTest, job_that_cannot_be_stopped_while_it_is_locked_is_stopped_afterwards) {
    start_two();
    process(batch).locked = true;
    gpu.submit(server, 1);
    events();
    EXPECT_FALSE(gpu.held(batch));
    const std::uint64_t before = gpu.calls;
    pass(2s);
    EXPECT_EQ(gpu.calls, before); // the driver is asked about it, not told
    process(batch).locked = false;
    pass(400ms);
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(LockTest, held_job_that_locks_itself_resumes_afterwards) {
    start_two();
    gpu.submit(server, 1);
    pass(10ms);
    ASSERT_TRUE(gpu.held(batch));
    process(batch).locked = true;
    gpu.finish(server, 1);
    pass(2s);
    EXPECT_TRUE(gpu.held(batch));
    process(batch).locked = false;
    pass(400ms);
    EXPECT_FALSE(gpu.held(batch));
}

// Its ring makes an event, but what it has submitted cannot be read.
TEST_F(LockTest, ring_of_a_locked_process_counts_as_work) {
    start_two();
    gpu.running.at(server).locked = true;
    gpu.submit(batch, 1);
    pass(200ms);
    gpu.submit(server, 1);
    pass(200ms);
    EXPECT_TRUE(gpu.held(batch));
    process(server).locked = false;
    gpu.finish(server, 1);
    pass(400ms);
    EXPECT_FALSE(gpu.held(batch));
}

} // namespace
