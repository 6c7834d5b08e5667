// SPDX-License-Identifier: MIT
// The hold of the XSched adapter on a driver that refuses: XSched's verbs return nothing, so a
// start is retried, and what can't be done is reported.
#include "xsched/queue_hold.hpp"

#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using xpreempt::adapter::BackOff;
using xpreempt::adapter::QueueCalls;
using xpreempt::adapter::QueueHold;

struct FakeQueue {
    std::atomic<int> open_error{0}, preempt_error{0}, resume_error{0};
    std::atomic<int> refusals{-1}; // of a resume, then it succeeds; -1: no end
    std::atomic<bool> stopped{false};
    std::atomic<int> handles{0}, resumes{0};
};
FakeQueue* fake = nullptr;

int fake_open(void*, std::uint32_t flags, xp_queue_t* queue) {
    EXPECT_EQ(0U, flags) << "other streams must not stop";
    if (fake->open_error != 0)
        return fake->open_error;
    ++fake->handles;
    queue->handle = 7;
    return 0;
}
int fake_preempt(xp_queue_t queue) {
    EXPECT_EQ(7U, queue.handle);
    if (fake->preempt_error == 0)
        fake->stopped = true;
    return fake->preempt_error;
}
int fake_resume(xp_queue_t queue) {
    EXPECT_EQ(7U, queue.handle);
    ++fake->resumes;
    if (fake->resume_error != 0 && (fake->refusals < 0 || fake->refusals-- > 0))
        return fake->resume_error;
    fake->stopped = false;
    return 0;
}
int fake_close(xp_queue_t queue) {
    EXPECT_EQ(7U, queue.handle);
    --fake->handles;
    return 0;
}
const char* fake_detail() {
    return "the driver refused";
}

class QueueHoldTest : public testing::Test {
protected:
    QueueHoldTest() { fake = &queue_; }
    ~QueueHoldTest() override { fake = nullptr; }

    std::unique_ptr<QueueHold> make(unsigned retries) {
        const QueueCalls calls{fake_open, fake_preempt, fake_resume, fake_close, fake_detail};
        return std::make_unique<QueueHold>(
            this, [this](const std::string& message) { report(message); }, calls,
            BackOff{.shortest = 1ms, .longest = 4ms, .retries = retries});
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
    const auto hold = make(3);
    EXPECT_FALSE(hold->is_stopped());
    EXPECT_EQ(0, hold->stop());
    EXPECT_TRUE(queue_.stopped);
    EXPECT_TRUE(hold->is_stopped());
    hold->start();
    EXPECT_FALSE(queue_.stopped);
    EXPECT_FALSE(hold->is_stopped());
    EXPECT_EQ(0, queue_.handles) << "a handle stays open";
    hold->wait_until_started(); // returns
    EXPECT_TRUE(reports().empty());
}

TEST_F(QueueHoldTest, reports_a_refused_stop_once_in_a_row) {
    const auto hold = make(3);
    queue_.preempt_error = -EBUSY;
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(-EBUSY, hold->stop());
    EXPECT_FALSE(hold->is_stopped());
    EXPECT_EQ(0, queue_.handles) << "a handle stays open";
    ASSERT_EQ(1U, reports().size());
    EXPECT_NE(std::string::npos, reports()[0].find("the driver refused"));
    EXPECT_NE(std::string::npos, reports()[0].find("level 1"));

    queue_.preempt_error = 0;
    EXPECT_EQ(0, hold->stop());
    hold->start();
    queue_.open_error = -EBUSY; // another stream shares the queue now
    EXPECT_EQ(-EBUSY, hold->stop());
    EXPECT_EQ(2U, reports().size());
}

TEST_F(QueueHoldTest, retries_a_refused_start_until_it_succeeds) {
    const auto hold = make(20);
    EXPECT_EQ(0, hold->stop());
    queue_.resume_error = -EBUSY;
    queue_.refusals = 5;
    hold->start();
    EXPECT_TRUE(queue_.stopped);
    EXPECT_FALSE(hold->is_stopped()) << "its caller believes that it runs";
    hold->wait_until_started();
    EXPECT_FALSE(queue_.stopped);
    EXPECT_EQ(6, queue_.resumes);
    EXPECT_EQ(0, queue_.handles);
    EXPECT_TRUE(reports().empty()) << "nothing to report: it runs";
}

TEST_F(QueueHoldTest, gives_up_with_one_report_and_begins_again_when_somebody_waits) {
    const auto hold = make(3);
    EXPECT_EQ(0, hold->stop());
    queue_.resume_error = -EIO;
    hold->start();
    test::until([&] { return !reports().empty(); });
    EXPECT_EQ(4, queue_.resumes);
    EXPECT_NE(std::string::npos, reports()[0].find("gave up"));
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(4, queue_.resumes) << "it did not give up";

    queue_.refusals = 1;
    hold->wait_until_started();
    EXPECT_FALSE(queue_.stopped);
    EXPECT_EQ(1U, reports().size());
}

TEST_F(QueueHoldTest, a_stop_during_the_retries_ends_them) {
    const auto hold = make(1000);
    EXPECT_EQ(0, hold->stop());
    queue_.resume_error = -EBUSY;
    hold->start();
    EXPECT_EQ(0, hold->stop());
    EXPECT_TRUE(hold->is_stopped());
    queue_.resume_error = 0;
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(queue_.stopped) << "a retry started a queue that is to be stopped";
    hold->start();
    EXPECT_FALSE(queue_.stopped);
}

TEST_F(QueueHoldTest, its_end_ends_the_retries_and_starts_the_queue) {
    auto hold = make(1'000'000);
    EXPECT_EQ(0, hold->stop());
    queue_.resume_error = -EBUSY;
    hold->start();
    queue_.resume_error = 0;
    hold.reset();
    EXPECT_FALSE(queue_.stopped);
    EXPECT_EQ(0, queue_.handles);
    EXPECT_TRUE(reports().empty());
}

TEST_F(QueueHoldTest, its_end_reports_a_queue_that_stays_stopped) {
    auto hold = make(1'000'000);
    EXPECT_EQ(0, hold->stop());
    queue_.resume_error = -EBUSY;
    hold->start();
    hold.reset();
    EXPECT_EQ(0, queue_.handles);
    ASSERT_EQ(1U, reports().size());
    EXPECT_NE(std::string::npos, reports()[0].find("stays stopped"));
}

// XSched suspends and resumes from several threads.
TEST_F(QueueHoldTest, many_threads_leave_the_queue_running) {
    const auto hold = make(50);
    queue_.resume_error = -EBUSY;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int k = 0; k < 200; ++k) {
                queue_.refusals = k % 3;
                (void)hold->stop();
                hold->start();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    queue_.refusals = 0;
    hold->start();
    hold->wait_until_started();
    EXPECT_FALSE(queue_.stopped);
    EXPECT_EQ(0, queue_.handles);
}

} // namespace
