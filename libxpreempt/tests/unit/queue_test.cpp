// SPDX-License-Identifier: MIT
// KFD queues by id and by hsa_queue_t, on the fake ROCm: queues of HIP and of the test itself.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.hpp>

#include "fake/fake_rocm.hpp"
#include "kfd/queue_ioctls.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/ioctl.h>
#include <string>
#include <sys/ioctl.h>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
}

namespace {

namespace kfd = xpreempt::kfd;

// As ROCr without HIP creates and destroys one.
struct RawQueue {
    explicit RawQueue(std::uint32_t type = kfd::queue_type_aql,
                      std::uint32_t save_area_bytes = 4096)
        : fd(open("/dev/kfd", O_RDWR | O_CLOEXEC)) {
        kfd::CreateQueueArgs args{};
        const auto address = reinterpret_cast<std::uintptr_t>(hsa_queue);
        args.write_pointer = address + 0x38;
        args.read_pointer = address + 0x80;
        args.queue_type = type;
        args.percentage = 100;
        args.save_area_bytes = save_area_bytes;
        EXPECT_EQ(0, ioctl(fd, _IOWR('K', kfd::nr_create_queue, args), &args));
        id = args.queue_id;
    }
    ~RawQueue() {
        if (exists)
            destroy();
        close(fd);
    }
    RawQueue(const RawQueue&) = delete;
    RawQueue& operator=(const RawQueue&) = delete;
    void destroy() {
        EXPECT_EQ(0, try_destroy());
        exists = false;
    }
    // Returns the errno.
    [[nodiscard]] int try_destroy() const {
        kfd::DestroyQueueArgs args{id, 0};
        return ioctl(fd, _IOWR('K', kfd::nr_destroy_queue, args), &args) == 0 ? 0 : errno;
    }

    alignas(64) unsigned char hsa_queue[256]{};
    int fd;
    std::uint32_t id = 0;
    bool exists = true;
};

class QueueTest : public ::testing::Test {
protected:
    void SetUp() override { fake_choose_driver(); }
    static xp_queue_t of_id(std::uint32_t id) {
        xp_queue_t queue{};
        EXPECT_EQ(0, xp_queue_of_id(id, &queue)) << xp_last_detail();
        return queue;
    }
    // A stream with work, and the name of its queue.
    static std::pair<void*, xp_queue_t> stream_with_queue() {
        void* stream = nullptr;
        EXPECT_EQ(0, hipStreamCreate(&stream));
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        return {stream, {info.kfd_queue_id, info.generation}};
    }
    static bool stopped(std::uint32_t id) { return fake_driver()->queues[id].is_stopped(); }
};

TEST_F(QueueTest, a_queue_without_hip_is_held_and_released_by_its_id) {
    const RawQueue raw;
    const xp_queue_t queue = of_id(raw.id);
    EXPECT_EQ(raw.id, queue.kfd_queue_id);
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    EXPECT_TRUE(stopped(raw.id));
    EXPECT_EQ(0, xp_queue_release(queue)) << xp_last_detail();
    EXPECT_FALSE(stopped(raw.id));
}

TEST_F(QueueTest, the_queue_of_an_hsa_queue_has_the_id_that_the_driver_gave) {
    const RawQueue first, second;
    xp_queue_t queue{};
    ASSERT_EQ(0, xp_queue_of_hsa(second.hsa_queue, &queue)) << xp_last_detail();
    EXPECT_EQ(second.id, queue.kfd_queue_id);
    EXPECT_EQ(of_id(second.id).generation, queue.generation);
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    EXPECT_TRUE(stopped(second.id));
    EXPECT_FALSE(stopped(first.id));
    EXPECT_EQ(0, xp_queue_release(queue));
}

TEST_F(QueueTest, an_id_that_this_process_does_not_have_is_rejected_with_its_number) {
    const RawQueue raw;
    xp_queue_t queue{~0U, ~0U};
    EXPECT_EQ(-ENOENT, xp_queue_of_id(61, &queue));
    EXPECT_EQ("KFD queue 61 is not a queue of this process", std::string(xp_last_detail()));
    EXPECT_EQ(-ENOENT, xp_queue_of_hsa(&queue, &queue));
    EXPECT_EQ(~0U, queue.kfd_queue_id);
    EXPECT_EQ(-ENOENT, xp_queue_hold({61, 1}, 0, 0));
    EXPECT_EQ(-ENOENT, xp_queue_hold({raw.id, of_id(raw.id).generation + 1}, 0, 0));
    EXPECT_FALSE(stopped(raw.id));
}

TEST_F(QueueTest, bad_arguments_are_rejected) {
    const RawQueue raw;
    const xp_queue_t queue = of_id(raw.id);
    EXPECT_EQ(-EINVAL, xp_queue_of_id(raw.id, nullptr));
    EXPECT_EQ(-EINVAL, xp_queue_of_hsa(nullptr, nullptr));
    EXPECT_EQ(-EINVAL, xp_queue_hold(queue, 0x4, 0));
    EXPECT_EQ(-EINVAL, xp_queue_hold(queue, 0, XP_QUEUE_MAX_TIMEOUT_MS + 1));
    EXPECT_EQ("timeout_ms is 60001: it must be from 0 to 60000", std::string(xp_last_detail()));
    EXPECT_FALSE(stopped(raw.id));
}

TEST_F(QueueTest, what_the_driver_cannot_do_is_rejected_before_anything_stops) {
    const RawQueue raw, sdma(1), without_save_area(kfd::queue_type_aql, 0);
    EXPECT_EQ(-EOPNOTSUPP, xp_queue_hold(of_id(raw.id), XP_QUEUE_DRAIN, 0));
    EXPECT_EQ(-EOPNOTSUPP, xp_queue_hold(of_id(raw.id), XP_QUEUE_FAST, 0));
    EXPECT_EQ(-EOPNOTSUPP, xp_queue_hold(of_id(without_save_area.id), 0, 0));
    EXPECT_FALSE(stopped(raw.id) || stopped(without_save_area.id));
    xp_queue_t queue{};
    EXPECT_EQ(-EOPNOTSUPP, xp_queue_of_id(sdma.id, &queue));
}

TEST_F(QueueTest, holds_are_counted) {
    const RawQueue raw;
    const xp_queue_t queue = of_id(raw.id);
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0));
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    EXPECT_EQ(0, xp_queue_release(queue));
    EXPECT_TRUE(stopped(raw.id));
    EXPECT_EQ(0, xp_queue_release(queue));
    EXPECT_FALSE(stopped(raw.id));
    EXPECT_EQ(-ENOENT, xp_queue_release(queue));
    EXPECT_FALSE(stopped(raw.id));
}

TEST_F(QueueTest, a_release_by_id_leaves_the_hold_of_a_stream) {
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    xp_stream_info info{};
    info.sz = sizeof info;
    ASSERT_EQ(0, xp_stream_query(stream, &info));
    const xp_queue_t queue{info.kfd_queue_id, info.generation};
    ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
    EXPECT_EQ(-ENOENT, xp_queue_release(queue));
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    EXPECT_EQ(0, xp_queue_release(queue));
    EXPECT_TRUE(stopped(info.kfd_queue_id));
    EXPECT_EQ(0, xp_stream_release(stream));
    EXPECT_FALSE(stopped(info.kfd_queue_id));
}

// HIP gives the queue to a later stream.
TEST_F(QueueTest, a_hold_outlasts_the_last_stream_of_its_queue) {
    const auto [stream, queue] = stream_with_queue();
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
    ASSERT_EQ(0, hipStreamDestroy(stream));
    EXPECT_FALSE(fake_hip()->destroyed_held) << "HIP waited for the stream's work";
    EXPECT_TRUE(stopped(queue.kfd_queue_id));
    EXPECT_EQ(0, xp_queue_release(queue)) << xp_last_detail();
    EXPECT_FALSE(stopped(queue.kfd_queue_id)) << "the stream's own hold ended with it";
}

// HIP waits for the stream, so its queue runs meanwhile.
TEST_F(QueueTest, a_stop_is_not_confirmed_while_a_call_lets_the_queue_run) {
    const auto [stream, queue] = stream_with_queue();
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    fake_hip()->destroys_slowly = true;
    std::thread destroying([stream = stream] { EXPECT_EQ(0, hipStreamDestroy(stream)); });
    test::until([&, stream = stream] { return fake_hip()->dying == stream; });
    EXPECT_FALSE(stopped(queue.kfd_queue_id));
    EXPECT_EQ(-ETIME, xp_queue_hold(queue, 0, 20));
    EXPECT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    EXPECT_EQ(0, xp_queue_release(queue)) << xp_last_detail();
    std::thread ending([] {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        fake_hip()->destroys_slowly = false;
    });
    EXPECT_EQ(0, xp_queue_hold(queue, 0, XP_QUEUE_MAX_TIMEOUT_MS)) << xp_last_detail();
    EXPECT_TRUE(stopped(queue.kfd_queue_id));
    ending.join();
    destroying.join();
    EXPECT_EQ(0, xp_queue_release(queue));
    EXPECT_TRUE(stopped(queue.kfd_queue_id));
    EXPECT_EQ(0, xp_queue_release(queue));
    EXPECT_FALSE(stopped(queue.kfd_queue_id));
}

// The id of the queue is that of the next one then.
TEST_F(QueueTest, a_hold_that_begins_while_its_queue_is_destroyed_is_rejected) {
    if (!fake_driver()->patched)
        return;
    RawQueue old;
    static xp_queue_t queue;
    static std::atomic<int> answer;
    static std::thread holding;
    queue = of_id(old.id);
    answer = 1;
    fake_driver()->in_destroy = [] {
        holding = std::thread([] { answer = xp_queue_hold(queue, 0, 0); });
        test::until([] { return answer != 1 || stopped(queue.kfd_queue_id); });
    };
    old.destroy();
    fake_driver()->in_destroy = nullptr;
    holding.join();
    EXPECT_EQ(-EBUSY, answer);
    EXPECT_EQ(-ENOENT, xp_queue_release(queue));
    EXPECT_EQ(-ENOENT, xp_queue_hold(queue, 0, 0));
}

// The library repeats the start until the queue is gone.
TEST_F(QueueTest, a_start_that_is_refused_before_a_destroy_is_not_made_for_a_later_queue) {
    if (!fake_driver()->patched)
        return;
    RawQueue old;
    ASSERT_EQ(0, xp_queue_hold(of_id(old.id), 0, 0)) << xp_last_detail();
    fake_driver()->refused_starts = 1000000;
    old.destroy();
    const RawQueue next;
    ASSERT_EQ(old.id, next.id);
    fake_driver()->queues[next.id].held = true; // by another part of the program
    fake_driver()->refused_starts = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    EXPECT_TRUE(stopped(next.id));
}

TEST_F(QueueTest, a_refused_destroy_leaves_the_hold) {
    const RawQueue raw;
    const xp_queue_t queue = of_id(raw.id);
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    static bool ran;
    static std::uint32_t id;
    id = raw.id;
    fake_driver()->in_destroy = [] { ran = !stopped(id); };
    fake_driver()->refused_destroy = EBUSY;
    EXPECT_EQ(EBUSY, raw.try_destroy());
    fake_driver()->in_destroy = nullptr;
    EXPECT_TRUE(ran);
    EXPECT_TRUE(stopped(raw.id));
    EXPECT_EQ(0, xp_queue_release(queue)) << xp_last_detail();
    EXPECT_FALSE(stopped(raw.id));
    EXPECT_EQ(0, xp_queue_hold(queue, 0, 0)) << "it is not being destroyed any more";
    EXPECT_EQ(0, xp_queue_release(queue));
}

// KFD has freed the queue by then.
TEST_F(QueueTest, a_hold_ends_with_a_queue_whose_destruction_reports_a_hung_gpu) {
    for (const int error : {ETIME, EIO}) {
        RawQueue old;
        const xp_queue_t queue = of_id(old.id);
        ASSERT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
        fake_driver()->refused_destroy = error;
        EXPECT_EQ(error, old.try_destroy());
        old.exists = false;
        EXPECT_EQ(-ENOENT, xp_queue_hold(queue, 0, 0));
        EXPECT_EQ(-ENOENT, xp_queue_release(queue));
        const RawQueue next;
        EXPECT_EQ(old.id, next.id);
        EXPECT_FALSE(stopped(next.id));
    }
}

TEST_F(QueueTest, a_hold_ends_with_its_queue_and_not_with_the_next_one_of_that_id) {
    RawQueue old;
    const xp_queue_t queue = of_id(old.id);
    ASSERT_EQ(0, xp_queue_hold(queue, 0, 0));
    old.destroy();
    const RawQueue next;
    ASSERT_EQ(old.id, next.id);
    EXPECT_FALSE(stopped(next.id));
    EXPECT_EQ(-ENOENT, xp_queue_hold(queue, 0, 0));
    const xp_queue_t again = of_id(next.id);
    EXPECT_NE(queue.generation, again.generation);
    ASSERT_EQ(0, xp_queue_hold(again, 0, 0));
    EXPECT_EQ(-ENOENT, xp_queue_release(queue));
    EXPECT_TRUE(stopped(next.id));
    EXPECT_EQ(0, xp_queue_release(again));
}

TEST_F(QueueTest, a_stop_that_is_late_ends_its_hold_only_if_there_is_a_bound) {
    if (!fake_driver()->patched)
        return;
    const RawQueue raw;
    const xp_queue_t queue = of_id(raw.id);
    fake_driver()->late_stops = 1;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(-ETIME, xp_queue_hold(queue, 0, 20));
    EXPECT_LE(std::chrono::milliseconds{20}, std::chrono::steady_clock::now() - begin);
    EXPECT_EQ(-ENOENT, xp_queue_release(queue));
    fake_confirm_stop();
    test::until([&] { return !stopped(raw.id); });

    fake_driver()->late_stops = 1;
    EXPECT_EQ(0, xp_queue_hold(queue, 0, 0)) << xp_last_detail();
    EXPECT_TRUE(stopped(raw.id));
    fake_confirm_stop();
    EXPECT_EQ(0, xp_queue_release(queue));
    EXPECT_FALSE(stopped(raw.id));
}

TEST_F(QueueTest, a_refused_stop_is_no_hold) {
    const RawQueue raw;
    const xp_queue_t queue = of_id(raw.id);
    fake_driver()->refused_stops = 1;
    EXPECT_EQ(-EBUSY, xp_queue_hold(queue, 0, 0));
    EXPECT_EQ(-ENOENT, xp_queue_release(queue));
    EXPECT_FALSE(stopped(raw.id));
}

TEST_F(QueueTest, a_hold_in_cxx_ends_with_its_scope) {
    const RawQueue raw;
    const auto queue = xpreempt::Queue::of_id(raw.id);
    ASSERT_TRUE(queue) << queue.error().what();
    {
        auto held = xpreempt::HeldQueue::hold(*queue);
        ASSERT_TRUE(held) << held.error().what();
        EXPECT_TRUE(stopped(raw.id));
        auto moved = std::move(*held);
        EXPECT_TRUE(stopped(raw.id));
        EXPECT_TRUE(moved.release());
        EXPECT_FALSE(stopped(raw.id));
        EXPECT_EQ(std::errc::bad_file_descriptor, moved.release().error().code());
        ASSERT_TRUE(queue->hold());
        auto another = xpreempt::HeldQueue::hold(*queue);
        ASSERT_TRUE(queue->release());
        EXPECT_TRUE(stopped(raw.id));
    }
    EXPECT_FALSE(stopped(raw.id));
    EXPECT_EQ(std::errc::no_such_file_or_directory, xpreempt::Queue::of_hsa(&queue).error().code());
}

} // namespace
