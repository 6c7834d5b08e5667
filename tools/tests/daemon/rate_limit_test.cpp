// SPDX-License-Identifier: MIT
// The rate of each user, and its cost with many of them.
#include "scheduling/rate_limit.hpp"

#include <ctime>
#include <gtest/gtest.h>
#include <sys/types.h>

namespace {

using namespace xpreemptd;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time start{std::chrono::hours{1}};

TEST(RateLimitTest, key_has_ten_at_once_and_ten_a_second) {
    RateLimit<uid_t> limit;
    int admitted = 0;
    for (int i = 0; i < 100; ++i)
        admitted += limit.admit(1, start) ? 1 : 0;
    EXPECT_EQ(admitted, 11);
    EXPECT_TRUE(limit.admit(2, start));
    EXPECT_TRUE(limit.admit(1, start + milliseconds{100}));
    EXPECT_FALSE(limit.admit(1, start + milliseconds{100}));
}

// A tenant has them in a user namespace. A walk over all of them at each call takes minutes.
TEST(RateLimitTest, many_users_at_once_cost_no_walk_over_all_at_each_call) {
    RateLimit<uid_t> limit;
    const std::clock_t before = std::clock();
    for (uid_t uid = 0; uid < 30000; ++uid)
        ASSERT_TRUE(limit.admit(uid, start));
    EXPECT_LT(std::clock() - before, 2 * CLOCKS_PER_SEC);
}

TEST(RateLimitTest, users_of_some_time_ago_are_forgotten) {
    RateLimit<uid_t> limit;
    for (uid_t uid = 0; uid < 10000; ++uid)
        (void)limit.admit(uid, start + uid * seconds{2});
    EXPECT_LE(limit.size(), 64U);
}

} // namespace
