// SPDX-License-Identifier: MIT
// A seed draws times and orders: the same again from the same seed, bounded, and none without one.
#include "fakes.hpp"

#include "model/base/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace vgpu {
namespace {

using Kind = Schedule::Kind;

constexpr Schedule::Step longest_of_all = 16;

class Schedules : public ::testing::Test {
protected:
    Schedule seeded(std::uint64_t seed) {
        Schedule schedule(observer);
        schedule.follow(seed);
        return schedule;
    }
    static std::vector<Schedule::Step> delays(Schedule& schedule, Kind kind) {
        std::vector<Schedule::Step> steps(1000);
        std::generate(steps.begin(), steps.end(), [&] { return schedule.later(kind); });
        return steps;
    }

    test::KeepingObserver observer;
};

TEST_F(Schedules, without_a_seed_everything_is_now_and_in_order) {
    Schedule schedule(observer);
    std::array<int, 8> items{};
    std::iota(items.begin(), items.end(), 0);
    const auto before = items;
    for (std::size_t kind = 0; kind < Schedule::kinds; ++kind) {
        EXPECT_TRUE(schedule.reached(schedule.later(static_cast<Kind>(kind))));
        EXPECT_EQ(schedule.pick(static_cast<Kind>(kind), 7), 0U);
        schedule.shuffle(static_cast<Kind>(kind), std::span<int>(items));
    }
    EXPECT_EQ(items, before);
    schedule.step();
    EXPECT_FALSE(schedule.skip());
    EXPECT_TRUE(observer.counters.empty());
}

TEST_F(Schedules, same_seed_draws_the_same_and_another_does_not) {
    Schedule first = seeded(7), again = seeded(7), other = seeded(8);
    const auto drawn = delays(first, Kind::fence);
    EXPECT_EQ(delays(again, Kind::fence), drawn);
    EXPECT_NE(delays(other, Kind::fence), drawn);
}

TEST_F(Schedules, choices_of_one_kind_do_not_move_those_of_another) {
    Schedule first = seeded(7), again = seeded(7);
    delays(again, Kind::interrupt);
    EXPECT_EQ(delays(first, Kind::fence), delays(again, Kind::fence));
}

TEST_F(Schedules, delays_are_bounded_and_some_are_none) {
    Schedule schedule = seeded(7);
    for (const Kind kind :
         {Kind::doorbell, Kind::map, Kind::stop, Kind::ask, Kind::leave, Kind::fence,
          Kind::completion, Kind::read_pointer, Kind::interrupt, Kind::msi, Kind::relaunch}) {
        const auto steps = delays(schedule, kind);
        EXPECT_GT(*std::max_element(steps.begin(), steps.end()), 4U);
        EXPECT_LE(*std::max_element(steps.begin(), steps.end()), longest_of_all);
        EXPECT_EQ(*std::min_element(steps.begin(), steps.end()), 0U);
    }
}

TEST_F(Schedules, delay_ends_with_its_step_or_when_nothing_else_can_proceed) {
    Schedule schedule = seeded(7);
    Schedule::Step at = 0;
    while (schedule.reached(at))
        at = schedule.later(Kind::leave);
    EXPECT_TRUE(schedule.skip());
    EXPECT_TRUE(schedule.reached(at));
    EXPECT_FALSE(schedule.skip());
    while (schedule.reached(at))
        at = schedule.later(Kind::leave);
    Schedule::Step steps = 0;
    for (; !schedule.reached(at); ++steps)
        schedule.step();
    EXPECT_LE(steps, longest_of_all);
    EXPECT_FALSE(schedule.skip());
}

TEST_F(Schedules, every_choice_is_counted_by_its_kind) {
    Schedule schedule = seeded(7);
    for (std::size_t kind = 0; kind < Schedule::kinds; ++kind)
        for (std::size_t i = 0; i <= kind; ++i)
            schedule.pick(static_cast<Kind>(kind), 3);
    schedule.step();
    EXPECT_EQ(observer.counters["schedule_seed"], 7U);
    EXPECT_EQ(observer.counters["choices/doorbell"], 1U);
    EXPECT_EQ(observer.counters["choices/time_slice"], Schedule::kinds);
}

TEST_F(Schedules, shuffle_keeps_every_item) {
    Schedule schedule = seeded(7);
    std::array<int, 16> items{};
    std::iota(items.begin(), items.end(), 0);
    auto shuffled = items;
    schedule.shuffle(Kind::turn, std::span<int>(shuffled));
    EXPECT_NE(shuffled, items);
    std::sort(shuffled.begin(), shuffled.end());
    EXPECT_EQ(shuffled, items);
}

} // namespace
} // namespace vgpu
