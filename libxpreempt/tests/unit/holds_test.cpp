// SPDX-License-Identifier: MIT
// Owners of a hold, lifts, and how a hold ends without its owner.
#include "backend/holds.hpp"

#include <cerrno>
#include <chrono>
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

    Result<void> confirm(const hip::QueueRecord&, StopType) override {
        return errno_value == 0 ? Result<void>{} : fail(errno_value, Op::preempt_queue);
    }

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
    void release(const void* owner) { holds.release(queue, owner); }

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
    release(&first);
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
    release(&first);
    holds.drop_lift(hip::ref_of(queue));
    EXPECT_EQ("-+", script.told);
}

TEST_F(HoldsTest, a_lift_of_all_concerns_later_holds_too) {
    holds.lift_all(true);
    ASSERT_TRUE(hold(&first));
    EXPECT_EQ("", script.told);
    holds.lift_all(false);
    EXPECT_EQ("-", script.told);
    holds.lift_all(true);
    EXPECT_EQ("-+", script.told);
    release(&first);
    holds.lift_all(false);
    EXPECT_EQ("-+", script.told);
}

TEST_F(HoldsTest, a_destroyed_streams_hold_ends_and_others_stay) {
    ASSERT_TRUE(hold(&first));
    ASSERT_TRUE(hold(&second));
    holds.forget_stream(&first);
    EXPECT_EQ("-", script.told);
    release(&first); // nothing is left of it
    EXPECT_EQ(1U, holds.count(hip::ref_of(queue)));
    holds.forget_streams(hip::ref_of(queue));
    EXPECT_EQ("-+", script.told);
    release(&second);
    EXPECT_EQ("-+", script.told);
}

TEST_F(HoldsTest, a_destroyed_queue_runs_and_is_forgotten) {
    ASSERT_TRUE(hold(&first));
    holds.begin_destroy(hip::ref_of(queue));
    EXPECT_EQ("-+", script.told);
    holds.lift_all(true);
    holds.lift_all(false);
    EXPECT_EQ("-+", script.told) << "it may be gone";
    holds.end_destroy(hip::ref_of(queue), true);
    EXPECT_FALSE(holds.any());
    release(&first);
    EXPECT_EQ("-+", script.told);
}

TEST_F(HoldsTest, a_queue_whose_destruction_is_refused_is_held_again) {
    ASSERT_TRUE(hold(&first));
    holds.begin_destroy(hip::ref_of(queue));
    holds.end_destroy(hip::ref_of(queue), false);
    EXPECT_EQ("-+-", script.told);
    release(&first);
    EXPECT_EQ("-+-+", script.told);
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_refused_start_of_a_queue_is_repeated_only_until_it_is_destroyed) {
    ASSERT_TRUE(hold(&first));
    script.errno_value = EBUSY;
    holds.begin_destroy(hip::ref_of(queue));
    EXPECT_FALSE(holds.retry());
    EXPECT_EQ("-+", script.told);
    holds.end_destroy(hip::ref_of(queue), true);
    EXPECT_TRUE(holds.retry());
    EXPECT_EQ("-+", script.told);
}

// The answer of Table::check_queue.
int answer_of_check = 0;

// Another thread has found the queue before.
TEST_F(HoldsTest, a_queue_that_is_gone_or_being_destroyed_is_not_held) {
    hook::Table table{};
    table.check_queue = [](std::uint32_t, std::uint32_t) { return answer_of_check; };
    const hip::Mapping mapping(&table);
    Holds checked(script, &mapping);
    for (const int error : {EBUSY, ESTALE}) {
        answer_of_check = -error;
        const auto held = checked.hold(queue, StopType::save, &first);
        ASSERT_FALSE(held);
        EXPECT_EQ(error, held.error().errno_value);
        EXPECT_FALSE(checked.hold_with(queue, StopType::save, {}, &first));
        checked.exchange({&queue, 1}, {}, &first);
    }
    EXPECT_EQ("", script.told);
    EXPECT_FALSE(checked.any());
    answer_of_check = 0;
    EXPECT_TRUE(checked.hold(queue, StopType::save, &first));
}

// Two threads destroy it: one does, and the driver refuses the other.
TEST_F(HoldsTest, a_queue_that_another_thread_has_destroyed_is_not_held_again) {
    hook::Table table{};
    table.check_queue = [](std::uint32_t, std::uint32_t) { return answer_of_check; };
    const hip::Mapping mapping(&table);
    Holds checked(script, &mapping);
    answer_of_check = 0;
    ASSERT_TRUE(checked.hold(queue, StopType::save, &first));
    checked.begin_destroy(hip::ref_of(queue));
    answer_of_check = -ESTALE;
    checked.end_destroy(hip::ref_of(queue), false);
    EXPECT_EQ("-+", script.told);
    EXPECT_FALSE(checked.any());
}

// EFAULT: the driver may have stopped the queue, or not.
TEST_F(HoldsTest, a_stop_whose_answer_is_lost_is_made_again) {
    ASSERT_TRUE(hold(&first));
    holds.lift(queue);
    script.errno_value = EFAULT;
    holds.drop_lift(hip::ref_of(queue));
    EXPECT_EQ("-+-", script.told);
    EXPECT_TRUE(holds.is_due());
    script.errno_value = EALREADY;
    EXPECT_TRUE(holds.retry());
    EXPECT_EQ("-+--", script.told);
    EXPECT_EQ(1U, holds.count(hip::ref_of(queue)));
}

TEST_F(HoldsTest, a_stop_whose_answer_is_lost_is_no_hold) {
    script.errno_value = EFAULT;
    EXPECT_FALSE(hold(&first));
    EXPECT_EQ(0U, holds.count(hip::ref_of(queue)));
    holds.exchange({&queue, 1}, {}, &second);
    EXPECT_EQ(0U, holds.count(hip::ref_of(queue)));
    EXPECT_TRUE(holds.is_due());
    script.errno_value = 0;
    EXPECT_TRUE(holds.retry());
    EXPECT_EQ('+', script.told.back());
    EXPECT_FALSE(holds.any());
}

// EBUSY: the stop whose answer is lost may have been made.
TEST_F(HoldsTest, a_refusal_after_a_lost_stop_does_not_settle_it) {
    ASSERT_TRUE(hold(&first));
    holds.lift(queue);
    script.errno_value = EFAULT;
    holds.drop_lift(hip::ref_of(queue));
    script.errno_value = EBUSY;
    EXPECT_FALSE(holds.retry());
    script.errno_value = 0;
    release(&first);
    EXPECT_EQ("-+--+", script.told);
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_refusal_after_a_lost_start_does_not_settle_it) {
    ASSERT_TRUE(hold(&first));
    script.errno_value = EFAULT;
    release(&first);
    script.errno_value = EBUSY;
    EXPECT_FALSE(holds.retry());
    script.errno_value = 0;
    ASSERT_TRUE(hold(&second)); // the queue may run
    EXPECT_EQ("-++-", script.told);
    release(&second);
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_lost_start_of_a_destroyed_queue_is_not_due) {
    ASSERT_TRUE(hold(&first));
    script.errno_value = EFAULT;
    release(&first);
    EXPECT_TRUE(holds.is_due());
    script.errno_value = ESTALE;
    EXPECT_TRUE(holds.retry());
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_dead_queue_is_held_no_more_and_not_touched_again) {
    for (const int death : {EIO, EACCES, ENODEV}) {
        queue = queue_of(static_cast<std::uint32_t>(death));
        script.told.clear();
        script.errno_value = 0;
        ASSERT_TRUE(hold(&first));
        script.errno_value = death;
        release(&first);
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

// A hold ends with its owner; the start that was refused is due until the driver makes it.
TEST_F(HoldsTest, a_refused_start_is_made_later) {
    ASSERT_TRUE(hold(&first));
    script.errno_value = ENOSPC;
    release(&first);
    EXPECT_EQ(0U, holds.count(hip::ref_of(queue)));
    EXPECT_TRUE(holds.any()); // it is stopped
    ASSERT_EQ(1U, holds.held().size());
    EXPECT_TRUE(holds.is_due());
    EXPECT_FALSE(holds.retry());
    script.errno_value = 0;
    EXPECT_TRUE(holds.retry());
    EXPECT_EQ("-+++", script.told);
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_new_hold_takes_over_a_start_that_is_due) {
    ASSERT_TRUE(hold(&first));
    script.errno_value = EBUSY;
    release(&first);
    EXPECT_TRUE(hold(&second)); // it is stopped already
    EXPECT_FALSE(holds.is_due());
    script.errno_value = 0;
    EXPECT_TRUE(holds.retry());
    release(&second);
    EXPECT_EQ("-++", script.told);
    EXPECT_FALSE(holds.any());
}

// Its owner believes that it is held.
TEST_F(HoldsTest, a_refused_stop_after_a_lift_is_made_later) {
    ASSERT_TRUE(hold(&first));
    holds.lift(queue);
    script.errno_value = EBUSY;
    holds.drop_lift(hip::ref_of(queue));
    EXPECT_TRUE(holds.is_due());
    script.errno_value = 0;
    EXPECT_TRUE(holds.retry());
    EXPECT_EQ("-+--", script.told);
    release(&first);
    EXPECT_EQ("-+--+", script.told);
}

TEST_F(HoldsTest, a_late_stop_is_a_hold) {
    script.errno_value = ETIME;
    ASSERT_TRUE(hold(&first));
    EXPECT_TRUE(holds.is_late(hip::ref_of(queue)));
    EXPECT_TRUE(holds.is_late(hip::ref_of(queue)));
    script.errno_value = EALREADY; // it has stopped meanwhile
    EXPECT_FALSE(holds.is_late(hip::ref_of(queue)));
    script.errno_value = EBUSY; // not yet
    release(&first);
    EXPECT_TRUE(holds.is_due());
    script.errno_value = 0;
    EXPECT_TRUE(holds.retry());
    EXPECT_EQ("-++", script.told);
}

// During a reset of the GPU. The driver has the hold all the same.
TEST_F(HoldsTest, a_late_stop_whose_confirmation_is_refused_stays_a_hold) {
    script.errno_value = ETIME;
    ASSERT_TRUE(hold(&first));
    script.errno_value = EBUSY;
    EXPECT_TRUE(holds.is_late(hip::ref_of(queue)));
    script.errno_value = 0;
    EXPECT_FALSE(holds.is_late(hip::ref_of(queue)));
    release(&first);
    EXPECT_EQ("-+", script.told);
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_stop_is_confirmed_once_nothing_lets_the_queue_run) {
    using Progress = Holds::Progress;
    const hip::QueueRef ref = hip::ref_of(queue);
    EXPECT_EQ(Progress::none, holds.progress(ref));
    holds.lift(queue);
    EXPECT_EQ(Progress::none, holds.progress(ref));
    ASSERT_TRUE(hold(&first));
    EXPECT_EQ(Progress::running, holds.progress(ref));
    script.errno_value = EBUSY;
    holds.drop_lift(ref);
    EXPECT_EQ(Progress::running, holds.progress(ref)) << "the stop was refused";
    script.errno_value = ETIME;
    EXPECT_TRUE(holds.retry());
    EXPECT_EQ(Progress::running, holds.progress(ref)) << "it is late";
    script.errno_value = EALREADY;
    EXPECT_EQ(Progress::stopped, holds.progress(ref));
    script.errno_value = EIO;
    release(&first);
    EXPECT_EQ(Progress::dead, holds.progress(ref));
}

TEST_F(HoldsTest, a_late_stop_of_a_dead_queue_is_none) {
    script.errno_value = ETIME;
    ASSERT_TRUE(hold(&first));
    script.errno_value = EIO;
    EXPECT_FALSE(holds.is_late(hip::ref_of(queue)));
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, what_the_driver_has_already_is_success) {
    script.errno_value = EALREADY;
    ASSERT_TRUE(hold(&first));
    release(&first);
    EXPECT_EQ("-+", script.told);
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, a_destroyed_queue_is_not_due) {
    ASSERT_TRUE(hold(&first));
    script.errno_value = ESTALE;
    release(&first);
    EXPECT_FALSE(holds.is_due());
    EXPECT_FALSE(holds.any());
}

TEST_F(HoldsTest, at_the_end_everything_runs_and_nothing_is_held_again) {
    ASSERT_TRUE(hold(&first));
    unsigned changes = 0;
    holds.on_change([&] { ++changes; });
    holds.release_all(std::chrono::steady_clock::now());
    EXPECT_EQ("-+", script.told);
    EXPECT_EQ(1U, changes);
    EXPECT_FALSE(hold(&second));
    release(&first);
    EXPECT_EQ("-+", script.told);
}

} // namespace
