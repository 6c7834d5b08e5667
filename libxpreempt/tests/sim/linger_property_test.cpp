// SPDX-License-Identifier: MIT
// Policies that would resume a job in each gap of another: none of them does.
#include "sched/policy.hpp"
#include "sim/virtual_jobs.hpp"

namespace {

using namespace test;
using namespace xpreempt::sched;

constexpr Duration request = 1ms, usual_gap = 50us;

// A job whose requests follow each other closely, before a job that always has work.
class LingerTest : public ::testing::TestWithParam<std::string_view> {
protected:
    explicit LingerTest(const Policy& policy) : jobs_(policy) {
        JobView& high = jobs_.add(1).view;
        high.priority = high.cpu_priority = 1;
        high.focused = true;
        high.relative_deadline = 10ms;
        jobs_.work(jobs_.add(2), endless);
        jobs_.decide();
    }
    LingerTest() : LingerTest(policy_named(GetParam()).value()) {}

    // So many requests, each followed by a gap.
    void serve(int count, Duration gap = usual_gap) {
        for (int i = 0; i < count; ++i) {
            jobs_.work(jobs_.of(1), request);
            jobs_.decide();
            jobs_.advance(request);
            EXPECT_FALSE(jobs_.of(1).view.ready);
            jobs_.advance(gap);
        }
    }

    VirtualJobs jobs_;
};

TEST_P(LingerTest, keeps_the_lower_job_stopped_in_short_gaps) {
    serve(100);
    EXPECT_EQ(1U, jobs_.of(2).stops);
    EXPECT_EQ(0ns, jobs_.of(2).ran);
    jobs_.advance(1ms);
    EXPECT_TRUE(jobs_.of(2).runs()); // by a timer
    EXPECT_EQ(1ms + usual_gap - Linger::usual, jobs_.of(2).ran);
    jobs_.expect_replays();
}

TEST_P(LingerTest, ends_in_long_gaps) {
    serve(10, 5ms);
    EXPECT_EQ(10U, jobs_.of(2).stops);
    EXPECT_EQ(10 * (5ms - Linger::usual), jobs_.of(2).ran);
}

// A resume for less than a switch would only cost.
TEST_P(LingerTest, is_at_least_a_switch_cost) {
    jobs_.switch_cost = 3ms;
    serve(10, 2ms);
    EXPECT_EQ(1U, jobs_.of(2).stops);
    jobs_.advance(1ms);
    EXPECT_TRUE(jobs_.of(2).runs());
}

TEST_P(LingerTest, ends_at_once_for_a_job_that_is_finished_or_held_by_others) {
    serve(1);
    EXPECT_TRUE(jobs_.of(2).view.held);
    jobs_.of(1).view.finished = true;
    jobs_.decide();
    EXPECT_TRUE(jobs_.of(2).runs());
    jobs_.of(1).view.finished = false;
    jobs_.decide();
    EXPECT_TRUE(jobs_.of(2).runs());

    serve(1);
    EXPECT_TRUE(jobs_.of(2).view.held);
    jobs_.of(1).view.held_by_others = true;
    jobs_.decide();
    EXPECT_TRUE(jobs_.of(2).runs());
}

TEST_P(LingerTest, ends_with_its_job) {
    serve(1);
    std::erase_if(jobs_.jobs, [](const VirtualJob& job) { return job.view.id == 1; });
    jobs_.decide();
    EXPECT_TRUE(jobs_.of(2).runs());
}

// Nothing waits, so no timer is needed.
TEST_P(LingerTest, needs_no_timer_where_no_job_waits) {
    jobs_.of(2).view.ready = false;
    serve(10);
    EXPECT_EQ(0U, jobs_.timers);
    EXPECT_EQ(at_next_event, jobs_.next);
}

INSTANTIATE_TEST_SUITE_P(Policies, LingerTest,
                         ::testing::Values("HPF", "HHPF", "CHPF", "AWF", "K-EDF"),
                         [](const auto& policy) {
                             std::string name(policy.param);
                             std::erase(name, '-');
                             return name;
                         });

class NoLinger : public LingerTest {
protected:
    NoLinger() : LingerTest(HighestPriorityFirst({0ns})) {}
};

TEST_F(NoLinger, resumes_the_lower_job_in_each_gap) {
    serve(100);
    EXPECT_EQ(100U, jobs_.of(2).stops);
    EXPECT_EQ(100 * usual_gap, jobs_.of(2).ran);
}

} // namespace
