// SPDX-License-Identifier: MIT
// The daemon over queues in memory: it holds an idle job under PARK, and resumes it at its
// doorbell.
#include "daemon_fixture.hpp"

namespace {

using namespace xpreemptd;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::batch;
using test::server;

constexpr Caller root{1, 0, 1};

class ParkingTest : public test::DaemonFixture {
protected:
    void start_parking() {
        start_two();
        ASSERT_TRUE(daemon.set_policy(root, "PARK"));
        pass(seconds{3});
        ASSERT_TRUE(gpu.held(server));
    }
};

TEST_F(ParkingTest, job_that_park_holds_stays_held_and_resumes_at_its_doorbell) {
    start_parking();
    EXPECT_FALSE(gpu.held(batch)); // has work
    gpu.finish(batch, 1);          // so nothing has work while both are held
    pass(seconds{30});             // longer than max_hold, which is for jobs with work
    EXPECT_EQ(daemon.status().ejected, "");
    ASSERT_TRUE(gpu.held(server));
    ASSERT_TRUE(gpu.held(batch));
    gpu.submit(server, 1);
    daemon.on_events();
    EXPECT_FALSE(gpu.held(server));
    gpu.finish(server, 1);
    pass(milliseconds{1900});
    EXPECT_FALSE(gpu.held(server));
    pass(milliseconds{300});
    EXPECT_TRUE(gpu.held(server));
}

TEST_F(ParkingTest, parked_job_whose_rings_make_no_events_resumes_too) {
    add(server, "/server");
    add(batch, "/batch");
    gpu.running.at(server).blind = true;
    daemon.start();
    ASSERT_TRUE(daemon.set_policy(root, "PARK"));
    pass(seconds{3});
    ASSERT_TRUE(gpu.held(server));
    gpu.submit(server, 1);
    pass(milliseconds{20});
    EXPECT_FALSE(gpu.held(server));
}

TEST_F(ParkingTest, change_of_policy_resumes_what_park_holds) {
    start_parking();
    ASSERT_TRUE(daemon.set_policy(root, "BAND"));
    EXPECT_FALSE(gpu.held(server));
}

} // namespace
