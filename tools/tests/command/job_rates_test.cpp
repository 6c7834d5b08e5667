// SPDX-License-Identifier: MIT
// Rates of jobs between two updates of top.
#include "daemon/job_rates.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using cli::JobRates;
using cli::Rates;
using xpreemptd::ListedJob;

ListedJob job(std::uint64_t id, const xpreemptd::sched::Account& account, std::uint64_t requests) {
    ListedJob listed;
    listed.report.id = id;
    listed.report.name = "/job";
    listed.report.account = account;
    listed.report.ready_edges = requests;
    return listed;
}

// ready, run, held, added wait, stops, accounted
TEST(JobRatesTest, are_of_the_whole_life_first_and_of_the_interval_then) {
    JobRates rates;
    const auto first = rates.update({job(1, {8s, 5s, 3s, 2s, 20, 10s}, 4)});
    ASSERT_TRUE(first[0]);
    EXPECT_EQ(*first[0], (Rates{10s, 50, 30, 2, 200ms, 500ms}));
    const auto second = rates.update({job(1, {10s, 5500ms, 4500ms, 3s, 24, 12s}, 6)});
    ASSERT_TRUE(second[0]);
    EXPECT_EQ(*second[0], (Rates{2s, 25, 75, 2, 500ms, 500ms}));
}

TEST(JobRatesTest, without_a_request_there_is_no_wait_of_one) {
    JobRates rates;
    (void)rates.update({job(1, {1s, 1s, 0s, 0s, 0, 1s}, 1)});
    const auto second = rates.update({job(1, {2s, 1s, 1s, 1s, 1, 2s}, 1)});
    ASSERT_TRUE(second[0]);
    EXPECT_FALSE(second[0]->wait_per_request);
    EXPECT_EQ(second[0]->wait_per_s, 1s);
    EXPECT_TRUE(json_of(second[0])["added_wait_ns_per_request"].is_null());
}

// The daemon accounts ten times a second.
TEST(JobRatesTest, a_look_before_anything_was_accounted_repeats_and_loses_nothing) {
    JobRates rates;
    EXPECT_FALSE(rates.update({job(1, {}, 1)})[0]);
    const auto first = rates.update({job(1, {1s, 1s, 0s, 0s, 1, 1s}, 1)});
    EXPECT_EQ(rates.update({job(1, {1s, 1s, 0s, 0s, 1, 1s}, 2)}), first);
    const auto then = rates.update({job(1, {2s, 1s, 1s, 1s, 2, 2s}, 2)});
    ASSERT_TRUE(then[0]);
    EXPECT_EQ(then[0]->wait_per_request, 1s); // the request of the update between
}

TEST(JobRatesTest, totals_that_shrink_are_of_another_daemon) {
    JobRates rates;
    (void)rates.update({job(1, {9s, 9s, 0s, 0s, 9, 9s}, 9)});
    const auto anew = rates.update({job(1, {1s, 1s, 0s, 0s, 0, 2s}, 1)});
    ASSERT_TRUE(anew[0]);
    EXPECT_EQ(anew[0]->interval, 2s);
    EXPECT_EQ(anew[0]->gpu_percent, 50);
}

TEST(JobRatesTest, table_has_a_line_for_each_job_by_band) {
    ListedJob high = job(2, {1s, 1s, 0s, 0s, 0, 4s}, 1);
    high.report.attributes.band = xpreemptd::sched::Band::high;
    high.report.state = xpreemptd::JobState::running;
    const std::vector<ListedJob> jobs{job(1, {}, 0), high};
    JobRates rates;
    EXPECT_EQ(cli::rates_table(jobs, rates.update(jobs)),
              "JOB  BAND    STATE    GPU%  HELD%  STOPS/s  WAIT/s  WAIT/REQUEST  NAME\n"
              "2    high    running  25.0  0.0    0.0      0 ns    0 ns          /job\n"
              "1    normal  idle     -     -      -        -       -             /job\n");
}

} // namespace
