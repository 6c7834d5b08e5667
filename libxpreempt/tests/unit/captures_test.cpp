// SPDX-License-Identifier: MIT
// Tests which streams may be queried while others are captured.
#include "backend/captures.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace {

using xpreempt::backend::Captures;
using Clock = std::chrono::steady_clock;

class CapturesTest : public ::testing::Test {
protected:
    CapturesTest() { captures_.know_all(true); }
    bool may_query(const void* stream, Captures::Kind kind = Captures::Kind::brief) {
        const Captures::Question question(captures_, nullptr, stream, nullptr, kind);
        return static_cast<bool>(question);
    }
    void capture(const void* stream) {
        captures_.change(stream);
        captures_.began(stream, true);
    }

    Captures captures_;
    // Their questions are counted apart.
    const void* const one_ = reinterpret_cast<const void*>(0x10000);
    const void* const other_ = reinterpret_cast<const void*>(0x20000);
};

TEST_F(CapturesTest, a_stream_is_not_queried_from_the_begin_to_the_end_of_its_capture) {
    EXPECT_FALSE(captures_.any());
    EXPECT_TRUE(may_query(one_));
    captures_.change(one_);
    EXPECT_TRUE(captures_.any());
    EXPECT_FALSE(may_query(one_));
    EXPECT_TRUE(may_query(other_));
    captures_.began(one_, true);
    EXPECT_TRUE(captures_.any());
    EXPECT_FALSE(may_query(one_));
    EXPECT_TRUE(may_query(other_));
    captures_.ended(one_);
    EXPECT_FALSE(captures_.any());
    EXPECT_TRUE(may_query(one_));
}

TEST_F(CapturesTest, a_begin_that_failed_is_no_capture) {
    captures_.change(one_);
    captures_.began(one_, false);
    EXPECT_FALSE(captures_.any());
    EXPECT_TRUE(may_query(one_));
}

TEST_F(CapturesTest, an_end_without_a_capture_is_not_counted) {
    capture(one_);
    captures_.ended(other_);
    EXPECT_TRUE(captures_.any());
    captures_.ended(one_);
    captures_.ended(one_);
    EXPECT_FALSE(captures_.any());
}

// As of one that was invalidated: HIP lets another begin on its stream.
TEST_F(CapturesTest, a_second_begin_without_an_end_is_the_same_capture) {
    capture(one_);
    capture(one_);
    captures_.ended(one_);
    EXPECT_FALSE(captures_.any());
}

TEST_F(CapturesTest, a_reset_ends_all_that_have_begun) {
    capture(one_);
    capture(other_);
    for (const void* stream : captures_.captured())
        captures_.ended(stream);
    EXPECT_FALSE(captures_.any());
    EXPECT_TRUE(may_query(one_));
    EXPECT_TRUE(may_query(other_));
    captures_.change(one_);
    EXPECT_TRUE(captures_.captured().empty());
    EXPECT_TRUE(captures_.any()) << "its call has not returned";
    captures_.began(one_, true);
    EXPECT_FALSE(may_query(one_));
}

TEST_F(CapturesTest, a_stream_is_not_queried_while_a_call_may_make_it_join_a_capture) {
    capture(one_);
    captures_.change(other_);
    EXPECT_FALSE(may_query(other_));
    captures_.change(other_); // by another thread
    captures_.changed(other_);
    EXPECT_FALSE(may_query(other_));
    captures_.changed(other_);
    EXPECT_TRUE(may_query(other_));
}

TEST_F(CapturesTest, a_harmless_query_is_allowed_unless_the_stream_is_destroyed) {
    capture(one_);
    EXPECT_TRUE(may_query(one_, Captures::Kind::harmless));
    captures_.change(other_);
    EXPECT_TRUE(may_query(other_, Captures::Kind::harmless));
    captures_.change(one_, true);
    EXPECT_FALSE(may_query(one_, Captures::Kind::harmless));
    EXPECT_FALSE(may_query(one_));
    captures_.changed(one_);
    EXPECT_TRUE(may_query(one_, Captures::Kind::harmless));
}

// Without the hook the null stream has none.
TEST_F(CapturesTest, a_wait_for_a_stream_without_a_key_ends) {
    EXPECT_TRUE(may_query(nullptr, Captures::Kind::wait));
    const auto start = Clock::now();
    captures_.change(nullptr);
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
    EXPECT_FALSE(may_query(nullptr));
    captures_.changed(nullptr);
    EXPECT_TRUE(may_query(nullptr));
}

TEST_F(CapturesTest, a_begin_waits_a_second_for_a_query_of_its_stream_only) {
    const Captures::Question question(captures_, nullptr, one_, nullptr);
    ASSERT_TRUE(static_cast<bool>(question));
    const auto start = Clock::now();
    captures_.change(other_);
    captures_.began(other_, true);
    captures_.change(one_);
    EXPECT_GE(Clock::now() - start, std::chrono::seconds(1));
    captures_.began(one_, true);
}

} // namespace
