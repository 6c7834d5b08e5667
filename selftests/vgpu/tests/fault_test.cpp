// SPDX-License-Identifier: MIT
// Fault specs are understood or refused with the right one; injected faults strike as told.
#include "fakes.hpp"
#include "fault/fault_injector.hpp"
#include "fault/fault_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::fault {
namespace {

using ::testing::HasSubstr;

TEST(FaultSpec, of_every_kind) {
    const auto late = parse_spec("dequeue-late:ms=6000,count=2");
    ASSERT_TRUE(late);
    EXPECT_EQ(late->kind, Kind::dequeue_late);
    EXPECT_EQ(late->delay_ms, 6000U);
    EXPECT_EQ(late->count, 2U);
    EXPECT_EQ(parse_spec("dequeue-late:polls=9")->polls, 9U);
    EXPECT_EQ(parse_spec("dequeue-never")->count, 1U);
    EXPECT_EQ(parse_spec("dequeue-never:count=3")->count, 3U);
    EXPECT_EQ(parse_spec("drop-fence:nth=4")->nth, 4U);
}

TEST(FaultSpec, errors_name_the_thing_and_the_fix) {
    for (const auto& [text, why] : {std::pair{"lose-fence", "no fault is called 'lose-fence'"},
                                    {"dequeue-late", "ms=N or polls=N"},
                                    {"dequeue-late:ms=1,polls=1", "one of them"},
                                    {"dequeue-late:ms=soon", "'ms' wants a number"},
                                    {"dequeue-late:ms=0", "from 1 up"},
                                    {"drop-fence:ms=4", "no option 'ms'"},
                                    {"drop-fence:nth", "key=number"},
                                    {"drop-fence:", "nothing follows"},
                                    {"", "no fault is called"}}) {
        const auto spec = parse_spec(text);
        ASSERT_FALSE(spec) << text;
        EXPECT_THAT(spec.error().text, HasSubstr(why));
        EXPECT_THAT(spec.error().text, HasSubstr("dequeue-late:ms=N"));
    }
}

TEST(FaultInjector, holds_a_dequeue_for_its_time) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("dequeue-late:ms=100")}, observer);
    faults.set_time_ms(1000);
    faults.dequeue_begins(3);
    EXPECT_EQ(faults.next_deadline_ms(), 1100U);
    EXPECT_TRUE(faults.dequeue_held(3));
    EXPECT_FALSE(faults.dequeue_held(4));
    faults.set_time_ms(1100);
    EXPECT_FALSE(faults.dequeue_held(3));
    faults.dequeue_begins(3); // the count is used up
    EXPECT_FALSE(faults.dequeue_held(3));
}

TEST(FaultInjector, holds_a_dequeue_for_a_number_of_polls) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("dequeue-late:polls=2")}, observer);
    faults.dequeue_begins(0);
    faults.active_polled(0);
    EXPECT_TRUE(faults.dequeue_held(0));
    faults.active_polled(0);
    EXPECT_FALSE(faults.dequeue_held(0));
}

TEST(FaultInjector, never_lasts_until_the_reset) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("dequeue-never")}, observer);
    faults.dequeue_begins(0);
    faults.set_time_ms(1U << 30);
    EXPECT_TRUE(faults.dequeue_held(0));
    faults.device_reset();
    EXPECT_FALSE(faults.dequeue_held(0));
    faults.dequeue_begins(0);
    EXPECT_FALSE(faults.dequeue_held(0));
}

TEST(FaultInjector, drops_the_nth_fence_only) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("drop-fence:nth=3")}, observer);
    EXPECT_FALSE(faults.drop_fence());
    EXPECT_FALSE(faults.drop_fence());
    EXPECT_TRUE(faults.drop_fence());
    EXPECT_FALSE(faults.drop_fence());
}

} // namespace
} // namespace vgpu::fault
