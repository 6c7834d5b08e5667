// SPDX-License-Identifier: MIT
// Owners of a hold, lifts, and how a hold ends without its owner.
#include "backend/holds.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <string>

namespace {

using namespace xpreempt;
using namespace xpreempt::backend;

// Writes down what the driver is told: "-" a stop, "+" a start.
class Script final : public Transport {
public:
    [[nodiscard]] TransportKind kind() const override { return TransportKind::patched; }
    [[nodiscard]] bool can(StopType) const override { return true; }
    Result<void> stop(const hip::QueueRecord&, StopType) override { return answer('-'); }
    Result<void> start(const hip::QueueRecord&) override { return answer('+'); }

    std::string told;
    int errno_value = 0;

private:
    Result<void> answer(char what) {
        told += what;
        return errno_value == 0 ? Result<void>{} : fail(errno_value, Op::preempt_queue);
    }
};

class HoldsTest : public ::testing::Test {
protected:
    static hip::QueueRecord queue_of(std::uint32_t id) {
        hip::QueueRecord queue{};
        queue.kfd_queue_id = id;
        queue.generation = 1;
        return queue;
    }
    bool hold(const void* owner) { return holds.hold(queue, StopType::save, owner).has_value(); }
    bool release(const void* owner) { return holds.release(queue, owner).has_value(); }

    Script script;
    Holds holds{script};
    hip::QueueRecord queue = queue_of(3);
    int first = 0, second = 0;
};

TEST_F(HoldsTest, a_lifted_queue_runs_and_is_held_again) {
    ASSERT_TRUE(hold(&first));
    holds.lift(queue);
    EXPECT_EQ("-+", script.told);
    EXPECT_TRUE(holds.any());
    holds.lift(queue);
    holds.drop_lift(hip::ref_of(queue));
    EXPECT_EQ("-+", script.told); // as many drops as lifts
    holds.drop_lift(hip::ref_of(queue));
    EXPECT_EQ("-+-", script.told);
    EXPECT_TRUE(release(&first));
    EXPECT_EQ("-+-+", script.told);
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_hold_that_comes_while_it_is_lifted_stops_nothing_yet) {
    holds.lift(queue);
    ASSERT_TRUE(hold(&first));
    EXPECT_EQ("", script.told);
    holds.drop_lift(hip::ref_of(queue));
    EXPECT_EQ("-", script.told);
    holds.lift(queue);
    EXPECT_TRUE(release(&first));
    holds.drop_lift(hip::ref_of(queue));
    EXPECT_EQ("-+", script.told);
}

TEST_F(HoldsTest, a_destroyed_streams_hold_ends_and_others_stay) {
    ASSERT_TRUE(hold(&first));
    ASSERT_TRUE(hold(&second));
    holds.forget(hip::ref_of(queue), &first);
    EXPECT_EQ("-", script.told);
    EXPECT_TRUE(release(&first)); // nothing is left of it
    EXPECT_EQ(1U, holds.count(hip::ref_of(queue)));
    holds.forget(hip::ref_of(queue));
    EXPECT_EQ("-+", script.told);
    EXPECT_TRUE(release(&second));
    EXPECT_EQ("-+", script.told);
}

TEST_F(HoldsTest, a_dead_queue_is_held_no_more_and_not_touched_again) {
    for (const int death : {EIO, EACCES, ENODEV}) {
        queue = queue_of(static_cast<std::uint32_t>(death));
        script.told.clear();
        script.errno_value = 0;
        ASSERT_TRUE(hold(&first));
        script.errno_value = death;
        EXPECT_TRUE(release(&first));
        EXPECT_EQ("-+", script.told) << death;
        EXPECT_FALSE(holds.any());
        const auto again = holds.hold(queue, StopType::save, &first);
        ASSERT_FALSE(again);
        EXPECT_EQ(EIO, again.error().errno_value);
        holds.lift(queue);
        holds.drop_lift(hip::ref_of(queue));
        EXPECT_EQ("-+", script.told) << death;
    }
}

TEST_F(HoldsTest, another_error_changes_nothing) {
    ASSERT_TRUE(hold(&first));
    script.errno_value = ETIMEDOUT;
    EXPECT_FALSE(release(&first));
    EXPECT_EQ(1U, holds.count(hip::ref_of(queue)));
    script.errno_value = 0;
    EXPECT_TRUE(release(&first));
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, at_the_end_everything_runs_and_nothing_is_held_again) {
    ASSERT_TRUE(hold(&first));
    unsigned changes = 0;
    holds.on_change([&] { ++changes; });
    holds.release_all();
    EXPECT_EQ("-+", script.told);
    EXPECT_EQ(1U, changes);
    EXPECT_FALSE(hold(&second));
    EXPECT_TRUE(release(&first));
    EXPECT_EQ("-+", script.told);
}

} // namespace
