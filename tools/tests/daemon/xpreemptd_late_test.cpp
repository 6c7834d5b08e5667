// SPDX-License-Identifier: MIT
// Stops that the driver confirms late: until then it refuses to start the queue with EBUSY.
#include "daemon_fixture.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace {

using namespace xpreemptd;
using std::chrono::milliseconds;
using test::batch;
using test::server;

class LateTest : public test::DaemonFixture {
protected:
    // The server has work, and the stop of the batch job was not confirmed in time.
    void stop_late(milliseconds late_by) {
        start_two();
        gpu.late_by = late_by;
        gpu.refuse = [](const test::Switch& wanted) {
            return wanted.change == Change::stop ? ETIME : 0;
        };
        gpu.submit(server, 1);
        events();
        gpu.refuse = [](const test::Switch&) { return 0; };
        ASSERT_TRUE(gpu.held(batch));
    }
};

TEST_F(LateTest, queue_starts_once_its_stop_is_confirmed) {
    stop_late(milliseconds{400});
    gpu.finish(server, 1);
    const std::uint64_t calls = gpu.calls, refusals = daemon.status().refusals;
    pass(milliseconds{390});
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_GT(daemon.status().refusals, refusals);
    EXPECT_LT(gpu.calls - calls, 20U);
    pass(milliseconds{200});
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(job(batch).state, JobState::running);
}

TEST_F(LateTest, queue_stays_stopped_if_the_server_has_work_again) {
    stop_late(milliseconds{100});
    gpu.finish(server, 1);
    pass(milliseconds{30});
    gpu.submit(server, 1);
    pass(milliseconds{2});
    const std::uint64_t calls = gpu.calls;
    pass(milliseconds{10});
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_EQ(gpu.calls, calls) << "it is held, so there is nothing to change";
    pass(milliseconds{100});
    gpu.finish(server, 1);
    pass(milliseconds{200});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(LateTest, process_that_exits_while_its_stop_is_pending_is_forgotten) {
    stop_late(milliseconds{100});
    gpu.exit(batch);
    gpu.finish(server, 1);
    pass(milliseconds{300});
    EXPECT_TRUE(job(batch).pids.empty());
}

} // namespace
