// SPDX-License-Identifier: MIT
// Waits that poll: when they sleep, poll and block.
#include "xqueue/hw_queue.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Passes at a time; counts how it was waited for.
class TimedMarker final : public xpreempt::xqueue::Marker {
public:
    explicit TimedMarker(Clock::duration passes_in) : passes_at_(Clock::now() + passes_in) {}
    bool passed() override {
        ++polls;
        return Clock::now() >= passes_at_;
    }
    xpreempt::Result<void> wait() override {
        ++blocks;
        return {};
    }
    [[nodiscard]] bool is_over() const { return Clock::now() >= passes_at_; }

    int polls = 0, blocks = 0;

private:
    Clock::time_point passes_at_;
};

constexpr std::uint64_t ms = 1'000'000;

TEST(PromptWaits, return_at_once_if_the_marker_has_passed) {
    TimedMarker marker(0ms);
    EXPECT_TRUE(marker.wait_promptly({10 * ms, 10 * ms}));
    EXPECT_EQ(1, marker.polls);
    EXPECT_EQ(0, marker.blocks);
}

TEST(PromptWaits, sleep_first_and_then_poll) {
    TimedMarker marker(20ms);
    EXPECT_TRUE(marker.wait_promptly({20 * ms, 20 * ms}));
    EXPECT_TRUE(marker.is_over());
    EXPECT_EQ(0, marker.blocks);

    // It is over when the sleep ends: one poll before the sleep, and one after it.
    TimedMarker early(1ms);
    EXPECT_TRUE(early.wait_promptly({20 * ms, 20 * ms}));
    EXPECT_EQ(2, early.polls);
    EXPECT_EQ(0, early.blocks);
}

TEST(PromptWaits, block_for_what_is_later_than_expected) {
    TimedMarker marker(1h);
    const auto begin = Clock::now();
    EXPECT_TRUE(marker.wait_promptly({0, 4 * ms}));
    EXPECT_EQ(1, marker.blocks);
    EXPECT_GE(Clock::now() - begin, 6ms); // half of the expected time more
}

TEST(PromptWaits, block_for_what_is_far_away) {
    TimedMarker marker(1h);
    EXPECT_TRUE(marker.wait_promptly({60 * ms, 60 * ms}));
    EXPECT_EQ(1, marker.polls);
    EXPECT_EQ(1, marker.blocks);
}

TEST(PromptWaits, poll_for_a_moment_if_nothing_is_expected) {
    TimedMarker marker(1h);
    const auto begin = Clock::now();
    EXPECT_TRUE(marker.wait_promptly({}));
    EXPECT_EQ(1, marker.blocks);
    EXPECT_GE(Clock::now() - begin, 100us);
}

TEST(TimedPolls, end_when_the_marker_passes_or_the_time_is_over) {
    const std::atomic<std::uint32_t> stop{0};
    TimedMarker marker(2ms);
    EXPECT_FALSE(marker.passes_within(ms / 10, stop));
    EXPECT_TRUE(marker.passes_within(100 * ms, stop));
    EXPECT_TRUE(marker.is_over());
}

TEST(TimedPolls, end_when_they_are_stopped) {
    const std::atomic<std::uint32_t> stop{1};
    TimedMarker marker(1h);
    const auto begin = Clock::now();
    EXPECT_FALSE(marker.passes_within(ms / 10, stop));
    EXPECT_EQ(1, marker.polls);
    EXPECT_LT(Clock::now() - begin, 1min);
}

} // namespace
