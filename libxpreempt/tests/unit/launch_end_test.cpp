// SPDX-License-Identifier: MIT
// Launch functions of the built library that run while their xqueue or their process ends.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string_view>
#include <thread>

extern "C" {
int hipStreamCreate(void** stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

using test::until;

class LaunchEndTest : public ::testing::Test {
protected:
    using Function = std::function<int()>;
    void SetUp() override {
        fake_choose_driver();
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        create();
    }
    void create() { ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail(); }
    int submit(Function& function, std::uint64_t* ticket = nullptr) const {
        return xp_xqueue_submit(
            xqueue, [](void*, void* argument) { return (*static_cast<Function*>(argument))(); },
            &function, ticket);
    }
    // The xqueue's own thread launches what was submitted while it was suspended.
    void submit_to_worker(Function& function) const {
        std::uint32_t level = 0;
        ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, &level));
        ASSERT_EQ(0, submit(function));
        ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    }
    [[nodiscard]] bool is_held() const {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        return info.held != 0;
    }

    void* stream = nullptr;
    xp_xqueue_t xqueue{};
    std::atomic<bool> began{false}, was_held{false};
    // As HIP does when the ring, or the memory of kernel arguments, is full.
    Function waits_for_the_queue = [this] {
        began = true;
        until([this] { return was_held.load(); });
        until([this] { return !is_held(); });
        return 0;
    };
};

TEST_F(LaunchEndTest, a_process_can_exit_while_a_launch_waits_for_its_queue) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            std::thread([this] { submit(waits_for_the_queue); }).detach();
            until([this] { return began.load(); });
            std::thread([this] {
                std::uint32_t level = 0;
                xp_xqueue_suspend(xqueue, 0, &level);
            }).detach();
            until([this] { return is_held(); });
            was_held = true;
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(LaunchEndTest, a_process_can_exit_while_a_launch_never_returns) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            Function endless = [this] {
                began = true;
                for (;;)
                    pause();
                return 0;
            };
            std::thread([&] { submit(endless); }).detach();
            until([this] { return began.load(); });
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

// ROUNDS in the environment: under sanitizers each round is a chance to see a race.
TEST_F(LaunchEndTest, an_xqueue_can_be_destroyed_while_its_thread_submits) {
    const char* given = std::getenv("ROUNDS");
    const int rounds = given != nullptr ? std::atoi(given) : 5;
    Function nothing = [] { return 0; };
    Function submits = [&] {
        began = true;
        for (;;)
            if (const int error = submit(nothing); error != 0)
                return error == -ESHUTDOWN || error == -EBADF ? 0 : error;
    };
    for (int round = 0; round < rounds; ++round) {
        submit_to_worker(submits);
        until([this] { return began.load(); });
        ASSERT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail();
        began = false;
        create();
    }
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(LaunchEndTest, a_launch_function_cannot_destroy_its_own_xqueue) {
    std::atomic<int> answer{0};
    Function destroys = [&] {
        answer = xp_xqueue_destroy(xqueue);
        return 0;
    };
    ASSERT_EQ(0, submit(destroys));
    EXPECT_EQ(-EDEADLK, answer);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail(); // it still exists
}

TEST_F(LaunchEndTest, a_hip_error_of_a_launch_function_is_reported_by_submit_or_wait) {
    Function fails = [] { return 700; }; // hipErrorIllegalAddress
    Function refuses = [] { return -EPERM; };
    EXPECT_EQ(-EIO, submit(fails));
    EXPECT_EQ(700, xp_last_hip_error());
    EXPECT_EQ(-EPERM, submit(refuses));
    EXPECT_EQ(0, xp_last_hip_error());

    std::uint64_t ticket = 0;
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
    ASSERT_EQ(0, submit(fails, &ticket));
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(-EIO, xp_xqueue_wait(xqueue, ticket));
    EXPECT_EQ(700, xp_last_hip_error());
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(LaunchEndTest, a_launch_function_that_throws_leaves_the_xqueue_usable) {
    Function throws = []() -> int { throw std::runtime_error("a launch function"); };
    EXPECT_EQ(-EIO, submit(throws));
    EXPECT_NE(std::string_view(xp_last_detail()).find("launch function threw"),
              std::string_view::npos)
        << xp_last_detail();
    std::uint32_t level = 0;
    EXPECT_EQ(0, xp_xqueue_suspend(xqueue, 0, &level));
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

} // namespace
