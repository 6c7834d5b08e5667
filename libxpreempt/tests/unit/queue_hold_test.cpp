// SPDX-License-Identifier: MIT
// The hold of the XSched adapter: XSched's verbs return nothing, so a refused stop is reported.
#include "xsched/queue_hold.hpp"

#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using xpreempt::adapter::QueueCalls;
using xpreempt::adapter::QueueHold;

struct FakeQueue {
    std::atomic<int> error{0};
    std::atomic<int> holds{0};
    [[nodiscard]] bool stopped() const { return holds != 0; }
};
FakeQueue* fake = nullptr;

int fake_hold(void*, std::uint32_t flags, std::uint32_t*) {
    EXPECT_EQ(0U, flags & XP_HOLD_SHARED) << "other streams must not stop";
    EXPECT_EQ(XP_HOLD_LEAST(XP_LEVEL_DEACTIVATE), flags) << "level 1 is XSched's own";
    if (fake->error == 0)
        ++fake->holds;
    return fake->error;
}
int fake_release(void*) {
    --fake->holds;
    return 0;
}
const char* fake_detail() {
    return "the driver refused";
}

class QueueHoldTest : public testing::Test {
protected:
    QueueHoldTest() { fake = &queue_; }
    ~QueueHoldTest() override { fake = nullptr; }

    std::unique_ptr<QueueHold> make() {
        const QueueCalls calls{fake_hold, fake_release, fake_detail};
        return std::make_unique<QueueHold>(
            this, [this](const std::string& message) { report(message); }, calls);
    }
    std::vector<std::string> reports() {
        const std::lock_guard lock(mutex_);
        return reports_;
    }

    FakeQueue queue_;

private:
    void report(const std::string& message) {
        const std::lock_guard lock(mutex_);
        reports_.push_back(message);
    }

    std::mutex mutex_;
    std::vector<std::string> reports_;
};

TEST_F(QueueHoldTest, stops_and_starts_its_queue) {
    const auto hold = make();
    EXPECT_FALSE(hold->is_stopped());
    EXPECT_EQ(0, hold->stop());
    EXPECT_TRUE(queue_.stopped());
    EXPECT_TRUE(hold->is_stopped());
    hold->start();
    EXPECT_FALSE(queue_.stopped());
    EXPECT_FALSE(hold->is_stopped());
    EXPECT_TRUE(reports().empty());
}

TEST_F(QueueHoldTest, reports_a_refused_stop_once_in_a_row) {
    const auto hold = make();
    queue_.error = -EBUSY;
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(-EBUSY, hold->stop());
    EXPECT_FALSE(hold->is_stopped());
    ASSERT_EQ(1U, reports().size());
    EXPECT_NE(std::string::npos, reports()[0].find("the driver refused"));
    EXPECT_NE(std::string::npos, reports()[0].find("level 1"));

    queue_.error = 0;
    EXPECT_EQ(0, hold->stop());
    hold->start();
    queue_.error = -EBUSY; // another stream shares the queue now
    EXPECT_EQ(-EBUSY, hold->stop());
    EXPECT_EQ(2U, reports().size());
}

TEST_F(QueueHoldTest, its_end_starts_the_queue) {
    auto hold = make();
    EXPECT_EQ(0, hold->stop());
    hold.reset();
    EXPECT_FALSE(queue_.stopped());
}

// XSched suspends and resumes from several threads.
TEST_F(QueueHoldTest, many_threads_leave_the_queue_running) {
    const auto hold = make();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 200; ++k) {
                (void)hold->stop();
                hold->start();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_FALSE(queue_.stopped());
}

} // namespace
