// SPDX-License-Identifier: MIT
// Hook and library as built, on the fake ROCm: mapping, sharing, holds, on both kinds of driver.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "kfd/queue_ioctls.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipSetDevice(int device);
int hipGetDevice(int* device);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int ioctl(int fd, unsigned long request, ...) noexcept;
}

namespace {

constexpr std::uint32_t mid_kernel = XP_HOLD_LEAST(XP_LEVEL_INTERRUPT);

bool is_patched() {
    return fake_driver()->patched;
}

class LibraryTest : public ::testing::Test {
protected:
    LibraryTest() { fake_choose_driver(); }

    static void* new_stream() {
        void* stream = nullptr;
        EXPECT_EQ(0, hipStreamCreate(&stream));
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        return stream;
    }
    static xp_stream_info query(void* stream) {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        return info;
    }
    static bool runs(std::uint32_t kfd_queue_id) {
        const fake::Queue& queue = fake_driver()->queues[kfd_queue_id];
        return !queue.held && queue.percentage == 100;
    }
    static xp_xqueue_t new_xqueue(void* stream, std::uint32_t flags = 0) {
        xp_xqueue_options options{};
        options.sz = sizeof options;
        options.flags = flags;
        xp_xqueue_t xqueue{};
        EXPECT_EQ(0, xp_xqueue_create(stream, &options, &xqueue)) << xp_last_detail();
        return xqueue;
    }
};

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

int put_packet_and_tell_device(void* stream, void* told) {
    int device = -1;
    EXPECT_EQ(0, hipGetDevice(&device));
    static_cast<std::atomic<int>*>(told)->store(device);
    return put_packet(stream, nullptr);
}

// hipStreamPerThread
void* const per_thread_stream = reinterpret_cast<void*>(std::uintptr_t{2});

TEST_F(LibraryTest, probe_finds_the_best_way_and_says_why_not_a_better_one) {
    xp_probe_info probe{};
    probe.sz = sizeof probe;
    ASSERT_EQ(0, xp_probe(&probe));
    EXPECT_EQ(1U, probe.hook_loaded);
    EXPECT_EQ(1U, probe.hip_loaded);
    EXPECT_EQ(is_patched() ? XP_TRANSPORT_PATCHED : XP_TRANSPORT_UPDATE_QUEUE, probe.transport);
    EXPECT_EQ(is_patched(), std::string(probe.reason).empty());
}

TEST_F(LibraryTest, a_stream_is_mapped_by_its_first_packet) {
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    xp_stream_info info{};
    info.sz = sizeof info;
    EXPECT_EQ(-ENOENT, xp_stream_query(stream, &info));
    ASSERT_EQ(0, xp_stream_touch(stream));
    info = query(stream);
    EXPECT_EQ(77U, info.gpu_id);
    EXPECT_EQ(1U, info.num_sharing);
    EXPECT_EQ(4096U, info.save_area_bytes);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_INTERRUPT), info.level) << info.reason;
}

// No GPU 77 is in the topology of the machine that the tests run on; the guest's test sees one.
TEST_F(LibraryTest, a_prediction_needs_a_stream_and_a_gpu_that_sysfs_knows) {
    xp_prediction prediction{};
    EXPECT_EQ(-EINVAL, xp_stream_predict(nullptr, nullptr));
    EXPECT_EQ(-EINVAL, xp_stream_predict(nullptr, &prediction));
    prediction.sz = sizeof prediction;
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    EXPECT_EQ(-ENOENT, xp_stream_predict(stream, &prediction));
    ASSERT_EQ(0, xp_stream_touch(stream));
    EXPECT_EQ(-ENOENT, xp_stream_predict(stream, &prediction));
    EXPECT_NE(std::string::npos, std::string(xp_last_detail()).find("77")) << xp_last_detail();
    EXPECT_EQ(0U, prediction.full_bytes);
}

TEST_F(LibraryTest, streams_of_one_queue_are_its_sharing_set) {
    void* first = new_stream();
    void* second = new_stream();
    void* third = new_stream(); // two queues in the pool: shares with the first
    EXPECT_NE(query(first).kfd_queue_id, query(second).kfd_queue_id);
    EXPECT_EQ(query(first).kfd_queue_id, query(third).kfd_queue_id);
    EXPECT_EQ(2U, query(first).num_sharing);
    EXPECT_EQ(1U, query(second).num_sharing);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_BLOCK), query(first).level);
    EXPECT_NE(std::string::npos, std::string(query(first).reason).find("share"));

    void* sharing[1] = {nullptr};
    std::size_t count = 0;
    ASSERT_EQ(0, xp_stream_sharing(first, sharing, 1, &count));
    EXPECT_EQ(2U, count);
    EXPECT_TRUE(sharing[0] == first || sharing[0] == third);

    ASSERT_EQ(0, hipStreamDestroy(third));
    EXPECT_EQ(1U, query(first).num_sharing);
}

TEST_F(LibraryTest, a_shared_queue_is_stopped_only_when_that_is_allowed) {
    void* first = new_stream();
    new_stream();
    void* third = new_stream();
    EXPECT_EQ(-EOPNOTSUPP, xp_stream_hold(first, mid_kernel, nullptr));
    EXPECT_TRUE(runs(query(first).kfd_queue_id));
    EXPECT_NE(std::string::npos, std::string(xp_last_detail()).find("2 streams share KFD queue"))
        << xp_last_detail();
    ASSERT_EQ(0, xp_stream_hold(first, mid_kernel | XP_HOLD_SHARED, nullptr)) << xp_last_detail();
    EXPECT_FALSE(runs(query(first).kfd_queue_id));
    ASSERT_EQ(0, xp_stream_release(first));

    const xp_xqueue_t one = new_xqueue(first, XP_ALLOW_SHARED);
    const xp_xqueue_t other = new_xqueue(third, XP_ALLOW_SHARED);
    const std::uint32_t id = query(first).kfd_queue_id;
    std::uint32_t level = 0;
    ASSERT_EQ(0, xp_xqueue_suspend(one, XP_SUSPEND_EXACT, &level));
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_INTERRUPT), level);
    ASSERT_EQ(0, xp_xqueue_suspend(other, XP_SUSPEND_EXACT, &level));
    EXPECT_FALSE(runs(id));
    ASSERT_EQ(0, xp_xqueue_resume(one));
    EXPECT_FALSE(runs(id)); // the other still holds it
    ASSERT_EQ(0, xp_xqueue_resume(other));
    EXPECT_TRUE(runs(id));
    EXPECT_EQ(0, xp_xqueue_destroy(one));
    EXPECT_EQ(0, xp_xqueue_destroy(other));
}

TEST_F(LibraryTest, without_leave_a_shared_stream_is_only_blocked) {
    void* first = new_stream();
    const xp_xqueue_t xqueue = new_xqueue(first);
    new_stream();
    new_stream();
    std::uint32_t level = 0;
    EXPECT_EQ(-EOPNOTSUPP, xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT, &level));
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, &level));
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_BLOCK), level);
    EXPECT_TRUE(runs(query(first).kfd_queue_id));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(LibraryTest, a_stream_with_its_own_queue_is_verified) {
    new_stream();
    void* stream = nullptr;
    ASSERT_EQ(0, xp_stream_create(&stream)) << xp_last_detail();
    EXPECT_EQ(1U, query(stream).num_sharing);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_INTERRUPT), query(stream).level);
    EXPECT_EQ(0, xp_stream_destroy(stream));
}

TEST_F(LibraryTest, a_suspended_xqueue_stops_and_starts_its_queue) {
    void* stream = new_stream();
    const std::uint32_t id = query(stream).kfd_queue_id;
    const std::uint64_t ring = fake_driver()->queues[id].ring_base;
    const xp_xqueue_t xqueue = new_xqueue(stream);
    std::uint64_t ticket = 0;
    ASSERT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, &ticket));
    std::uint32_t level = 0;
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT, &level)) << xp_last_detail();
    EXPECT_FALSE(runs(id));
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_TRUE(runs(id));
    EXPECT_EQ(-ENOENT, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket));
    // UPDATE_QUEUE overwrites everything: ring and priority are what they were.
    EXPECT_EQ(ring, fake_driver()->queues[id].ring_base);
    EXPECT_EQ(7U, fake_driver()->queues[id].priority);
    EXPECT_EQ(is_patched() ? 0U : 2U, fake_driver()->queues[id].updates);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(-EBADF, xp_xqueue_destroy(xqueue));
}

// hipFree() would wait for the stopped one. Not a time limit: it would wait for ever.
TEST_F(LibraryTest, a_stream_is_touched_while_another_one_is_stopped) {
    void* stopped = new_stream();
    ASSERT_EQ(0, xp_stream_touch(stopped));
    ASSERT_EQ(0, xp_stream_hold(stopped, mid_kernel, nullptr)) << xp_last_detail();
    fake_hip()->unfinished = true;
    void* stream = new_stream();
    EXPECT_EQ(0, xp_stream_touch(stream));
    fake_hip()->unfinished = false;
    EXPECT_EQ(0, xp_stream_release(stopped));
}

// After hipFreeAsync() it hangs in the next hipStreamDestroy().
TEST_F(LibraryTest, a_touch_frees_nothing_on_hip_5_2) {
    void* stream = new_stream();
    fake_hip()->version = 50221153;
    const unsigned before = fake_hip()->freed_in_order;
    EXPECT_EQ(0, xp_stream_touch(stream));
    EXPECT_EQ(before, fake_hip()->freed_in_order);
    fake_hip()->version = 60443484;
    EXPECT_EQ(0, xp_stream_touch(stream));
    EXPECT_EQ(before + 1, fake_hip()->freed_in_order);
}

TEST_F(LibraryTest, a_stream_has_one_xqueue) {
    void* stream = new_stream();
    const xp_xqueue_t xqueue = new_xqueue(stream);
    xp_xqueue_t second{};
    EXPECT_EQ(-EBUSY, xp_xqueue_create(stream, nullptr, &second));
    EXPECT_EQ(0U, second.handle);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(new_xqueue(stream)));
}

TEST_F(LibraryTest, a_new_stream_at_the_address_of_a_destroyed_one_may_have_one_too) {
    fake_hip()->reuse_handles = true;
    void* stream = new_stream();
    const xp_xqueue_t left_behind = new_xqueue(stream);
    ASSERT_EQ(0, hipStreamDestroy(stream));
    void* successor = new_stream();
    ASSERT_EQ(stream, successor);
    const xp_xqueue_t xqueue = new_xqueue(successor);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(left_behind));
}

TEST_F(LibraryTest, the_level_of_an_xqueue_can_be_limited_later) {
    void* stream = new_stream();
    const std::uint32_t id = query(stream).kfd_queue_id;
    const xp_xqueue_t xqueue = new_xqueue(stream);
    EXPECT_EQ(-EINVAL, xp_xqueue_set_max_level(xqueue, 4));
    ASSERT_EQ(0, xp_xqueue_set_max_level(xqueue, XP_LEVEL_BLOCK));
    EXPECT_EQ(-EOPNOTSUPP,
              xp_xqueue_suspend(xqueue, XP_SUSPEND_LEAST(XP_LEVEL_INTERRUPT), nullptr));
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
    EXPECT_TRUE(runs(id));
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    ASSERT_EQ(0, xp_xqueue_set_max_level(xqueue, 0));
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, XP_SUSPEND_LEAST(XP_LEVEL_INTERRUPT), nullptr));
    EXPECT_FALSE(runs(id));
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// hipStreamPerThread is another stream in the xqueue's own thread.
TEST_F(LibraryTest, an_xqueue_in_front_of_a_threads_own_stream_is_refused) {
    xp_xqueue_t xqueue{};
    EXPECT_EQ(-EOPNOTSUPP, xp_xqueue_create(per_thread_stream, nullptr, &xqueue));
    EXPECT_NE(std::string::npos, std::string(xp_last_detail()).find("hipStreamPerThread"))
        << xp_last_detail();
    EXPECT_EQ(0U, xqueue.handle);
}

// The launching thread doesn't matter: after a suspend the xqueue's own thread launches.
TEST_F(LibraryTest, the_null_stream_of_an_xqueue_is_its_creators) {
    ASSERT_EQ(0, hipSetDevice(1));
    const xp_xqueue_t xqueue = new_xqueue(nullptr);
    const xp_stream_info used = query(nullptr);
    ASSERT_EQ(0, hipSetDevice(0));
    std::atomic<int> device{-1};
    ASSERT_EQ(0, xp_xqueue_submit(xqueue, put_packet_and_tell_device, &device, nullptr));
    EXPECT_EQ(1, device.exchange(-1));
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    EXPECT_FALSE(runs(used.kfd_queue_id));
    ASSERT_EQ(0, xp_xqueue_submit(xqueue, put_packet_and_tell_device, &device, nullptr));
    EXPECT_EQ(-1, device.load());
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_EQ(1, device.load());
    int mine = -1;
    EXPECT_EQ(0, hipGetDevice(&mine));
    EXPECT_EQ(0, mine);
    xp_stream_info other{};
    other.sz = sizeof other;
    EXPECT_EQ(-ENOENT, xp_stream_query(nullptr, &other)); // nothing went to device 0
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// HIP records an event on streams of its own device only.
TEST_F(LibraryTest, an_xqueue_works_on_the_device_of_its_stream) {
    ASSERT_EQ(0, hipSetDevice(1));
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(0, hipSetDevice(0));
    const xp_xqueue_t xqueue = new_xqueue(stream);
    std::atomic<int> device{-1};
    std::uint64_t ticket = 0;
    ASSERT_EQ(0, xp_xqueue_submit(xqueue, put_packet_and_tell_device, &device, &ticket));
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail();
    EXPECT_EQ(1, device.load());
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(LibraryTest, an_xqueue_has_a_priority_in_range) {
    const xp_xqueue_t xqueue = new_xqueue(new_stream());
    std::int32_t priority = 1;
    ASSERT_EQ(0, xp_xqueue_get_priority(xqueue, &priority));
    EXPECT_EQ(XP_PRIORITY_DEFAULT, priority);
    EXPECT_EQ(0, xp_xqueue_set_priority(xqueue, XP_PRIORITY_MIN));
    EXPECT_EQ(-EINVAL, xp_xqueue_set_priority(xqueue, XP_PRIORITY_MAX + 1));
    EXPECT_EQ(-EINVAL, xp_xqueue_get_priority(xqueue, nullptr));
    ASSERT_EQ(0, xp_xqueue_get_priority(xqueue, &priority));
    EXPECT_EQ(XP_PRIORITY_MIN, priority);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(-EBADF, xp_xqueue_set_priority(xqueue, 0));
    EXPECT_EQ(-EBADF, xp_xqueue_get_priority(xqueue, &priority));
}

TEST_F(LibraryTest, the_scheduler_of_the_process_starts_once_and_stops) {
    const xp_xqueue_t before = new_xqueue(new_stream());
    xp_sched_state state{};
    state.sz = sizeof state;
    ASSERT_EQ(0, xp_sched_query(&state));
    EXPECT_EQ(0U, state.policy);
    EXPECT_EQ(-ENOENT, xp_sched_stop());
    EXPECT_EQ(-EOPNOTSUPP, xp_sched_start(0));
    EXPECT_EQ(-EOPNOTSUPP, xp_sched_start(XP_POLICY_MULTILEVEL_FEEDBACK + 1));
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    EXPECT_EQ(-EALREADY, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST));
    const xp_xqueue_t during = new_xqueue(new_stream());
    ASSERT_EQ(0, xp_sched_query(&state));
    EXPECT_EQ(static_cast<std::uint32_t>(XP_POLICY_HIGHEST_PRIORITY_FIRST), state.policy);
    EXPECT_EQ(2U, state.num_xqueues);
    EXPECT_EQ(0, xp_xqueue_set_priority(during, 1));
    EXPECT_EQ(0, xp_xqueue_submit(during, put_packet, nullptr, nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(during));
    ASSERT_EQ(0, xp_sched_query(&state));
    EXPECT_EQ(1U, state.num_xqueues);
    EXPECT_EQ(0, xp_sched_stop());
    EXPECT_EQ(-ENOENT, xp_sched_stop());
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)); // and again
    EXPECT_EQ(0, xp_xqueue_destroy(before)); // the end of the process stops it
}

TEST_F(LibraryTest, each_policy_of_the_process_starts_with_its_parameters) {
    const xp_xqueue_t xqueue = new_xqueue(new_stream());
    xp_sched_state state{};
    state.sz = sizeof state;
    xp_sched_parameters parameters{};
    parameters.sz = sizeof parameters;
    parameters.slice_us = 100;
    parameters.k = 2;
    for (std::uint32_t policy = 1; policy <= XP_POLICY_MULTILEVEL_FEEDBACK; ++policy) {
        if (policy == XP_POLICY_DAEMON)
            continue;
        ASSERT_EQ(0, xp_sched_start_with(policy, &parameters)) << policy << xp_last_detail();
        ASSERT_EQ(0, xp_sched_query(&state));
        EXPECT_EQ(policy, state.policy);
        EXPECT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, nullptr));
        EXPECT_EQ(0, xp_sched_stop());
    }
    EXPECT_EQ(0, xp_sched_start_with(XP_POLICY_ROUND_ROBIN, nullptr));
    EXPECT_EQ(0, xp_sched_stop());
    parameters.slice_us = 99;
    EXPECT_EQ(-EINVAL, xp_sched_start_with(XP_POLICY_ROUND_ROBIN, &parameters));
    EXPECT_STREQ("slice_us is 99: it must be from 100 to 10000000", xp_last_detail());
    parameters.slice_us = 0;
    parameters.k = 1001;
    EXPECT_EQ(-EINVAL, xp_sched_start_with(XP_POLICY_ROUND_ROBIN, &parameters));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(LibraryTest, attributes_are_returned_as_they_were_set) {
    void* stream = new_stream();
    const xp_xqueue_t xqueue = new_xqueue(stream);
    xp_sched_attributes attributes{};
    attributes.sz = sizeof attributes;
    ASSERT_EQ(0, xp_xqueue_get_attributes(xqueue, &attributes));
    EXPECT_EQ(100U, attributes.weight);
    EXPECT_EQ(100U, attributes.utilization);
    EXPECT_EQ(0U, attributes.deadline_us);
    EXPECT_EQ(0U, attributes.laxity_us);
    attributes.weight = 10000;
    attributes.utilization = XP_NO_UTILIZATION;
    attributes.deadline_us = 3'600'000'000;
    attributes.laxity_us = 1;
    ASSERT_EQ(0, xp_stream_set_attributes(stream, &attributes)); // those of its xqueue
    xp_sched_attributes now{};
    now.sz = sizeof now;
    for (const int error :
         {xp_xqueue_get_attributes(xqueue, &now), xp_stream_get_attributes(stream, &now)}) {
        ASSERT_EQ(0, error);
        EXPECT_EQ(0, std::memcmp(&attributes, &now, sizeof now));
    }
    const auto refused = [&](auto member, auto value, const char* sentence) {
        xp_sched_attributes wrong = attributes;
        wrong.*member = value;
        EXPECT_EQ(-EINVAL, xp_xqueue_set_attributes(xqueue, &wrong));
        EXPECT_STREQ(sentence, xp_last_detail());
    };
    refused(&xp_sched_attributes::weight, 10001U, "weight is 10001: it must be from 1 to 10000");
    refused(&xp_sched_attributes::utilization, 101U,
            "utilization is 101: it must be from 1 to 100");
    refused(&xp_sched_attributes::deadline_us, 3'600'000'001U,
            "deadline_us is 3600000001: it must be from 0 to 3600000000");
    refused(&xp_sched_attributes::laxity_us, 3'600'000'001U,
            "laxity_us is 3600000001: it must be from 0 to 3600000000");
    ASSERT_EQ(0, xp_xqueue_get_attributes(xqueue, &now));
    EXPECT_EQ(0, std::memcmp(&attributes, &now, sizeof now)); // what was refused changed nothing
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(-EBADF, xp_xqueue_set_attributes(xqueue, &attributes));
    EXPECT_EQ(-EBADF, xp_xqueue_get_attributes(xqueue, &now));
}

TEST_F(LibraryTest, an_update_of_the_host_does_not_start_a_held_queue) {
    if (is_patched())
        return; // the driver's own holds see to it there
    void* stream = new_stream();
    const std::uint32_t id = query(stream).kfd_queue_id;
    ASSERT_EQ(0, xp_stream_hold(stream, mid_kernel, nullptr));

    // As ROCr does for a priority: percentage 100, in the middle of our hold.
    const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    xpreempt::kfd::UpdateQueueArgs args{fake_driver()->queues[id].ring_base, id, 65536, 100, 11};
    ASSERT_EQ(0, ioctl(fd, xpreempt::kfd::ioc_update_queue, &args));
    EXPECT_EQ(100U, args.percentage); // the host's struct is its own
    EXPECT_EQ(0U, fake_driver()->queues[id].percentage);
    EXPECT_EQ(11U, fake_driver()->queues[id].priority);

    // The resume sets the last percentage that ROCr asked for.
    args.percentage = 50;
    ASSERT_EQ(0, ioctl(fd, xpreempt::kfd::ioc_update_queue, &args));
    ASSERT_EQ(0, xp_stream_release(stream));
    EXPECT_EQ(50U, fake_driver()->queues[id].percentage);
    EXPECT_EQ(11U, fake_driver()->queues[id].priority);
    close(fd);
}

TEST_F(LibraryTest, a_query_reports_the_hold_and_the_preemptions_of_the_driver) {
    void* stream = new_stream();
    EXPECT_EQ(0U, query(stream).preempts);
    ASSERT_EQ(0, xp_stream_hold(stream, mid_kernel, nullptr));
    const xp_stream_info info = query(stream);
    EXPECT_EQ(1U, info.held);
    EXPECT_EQ(is_patched() ? 1U : 0U, info.preempts_known);
    EXPECT_EQ(is_patched() ? 1U : 0U, info.preempts);
    EXPECT_FALSE(runs(info.kfd_queue_id));
    ASSERT_EQ(0, xp_stream_release(stream));
    EXPECT_TRUE(runs(info.kfd_queue_id));
    EXPECT_EQ(0U, query(stream).held);
}

TEST_F(LibraryTest, several_streams_stop_and_start_together) {
    void* streams[] = {new_stream(), new_stream()};
    const std::uint32_t first = query(streams[0]).kfd_queue_id;
    const std::uint32_t second = query(streams[1]).kfd_queue_id;
    const unsigned before = fake_driver()->switches;
    std::uint32_t level = 0;
    ASSERT_EQ(0, xp_streams_hold(streams, 2, mid_kernel, &level)) << xp_last_detail();
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_INTERRUPT), level);
    EXPECT_FALSE(runs(first) || runs(second));
    ASSERT_EQ(0, xp_streams_release(streams, 2));
    EXPECT_TRUE(runs(first) && runs(second));
    EXPECT_EQ(is_patched() ? 2U : 0U, fake_driver()->switches - before) << "not at once";
    EXPECT_EQ(-ENOENT, xp_streams_release(streams, 2));
    EXPECT_EQ(0, xp_streams_hold(nullptr, 0, 0, nullptr));
    EXPECT_EQ(-EINVAL, xp_streams_hold(nullptr, 1, 0, nullptr));
    EXPECT_EQ(-EINVAL, xp_streams_release(nullptr, 1));

    // Holds are counted, and one that is released alone leaves the other stopped.
    void* const twice[] = {streams[0], streams[0], streams[1]};
    ASSERT_EQ(0, xp_streams_hold(twice, 3, mid_kernel, nullptr));
    ASSERT_EQ(0, xp_streams_release(streams, 2));
    EXPECT_FALSE(runs(first));
    EXPECT_TRUE(runs(second));
    EXPECT_EQ(-ENOENT, xp_streams_release(streams, 2));
    EXPECT_TRUE(runs(first));
}

TEST_F(LibraryTest, no_stream_is_held_when_one_of_several_cannot_be) {
    void* streams[] = {new_stream(), new_stream()};
    const std::uint32_t first = query(streams[0]).kfd_queue_id;
    const std::uint32_t second = query(streams[1]).kfd_queue_id;
    new_stream();
    new_stream(); // on the second one's queue
    EXPECT_EQ(-EOPNOTSUPP, xp_streams_hold(streams, 2, mid_kernel, nullptr));
    EXPECT_TRUE(runs(first) && runs(second));
    EXPECT_EQ(-ENOENT, xp_stream_release(streams[0]));
    EXPECT_EQ(-ENOENT, xp_stream_release(streams[1]));
}

TEST_F(LibraryTest, a_recycled_id_is_another_queue) {
    void* stream = nullptr;
    ASSERT_EQ(0, xp_stream_create(&stream));
    const xp_stream_info before = query(stream);

    const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    xpreempt::kfd::DestroyQueueArgs destroy{before.kfd_queue_id, 0};
    ASSERT_EQ(0, ioctl(fd, _IOWR('K', xpreempt::kfd::nr_destroy_queue, destroy), &destroy));
    close(fd);
    xp_stream_info info{};
    info.sz = sizeof info;
    EXPECT_EQ(-ENOENT, xp_stream_query(stream, &info));

    void* other = nullptr;
    ASSERT_EQ(0, xp_stream_create(&other));
    EXPECT_EQ(before.kfd_queue_id, query(other).kfd_queue_id);
    EXPECT_NE(before.generation, query(other).generation);
}

TEST_F(LibraryTest, a_command_with_flags_is_submitted_like_another) {
    void* stream = new_stream();
    const xp_xqueue_t xqueue = new_xqueue(stream);
    xp_command command{sizeof command, put_packet, nullptr, XP_COMMAND_IDEMPOTENT, 0, nullptr};
    std::uint64_t ticket = 0;
    ASSERT_EQ(0, xp_xqueue_submit_command(xqueue, &command, &ticket));
    EXPECT_EQ(1U, ticket);
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket));
    EXPECT_EQ(-EINVAL, xp_xqueue_submit_command(xqueue, nullptr, &ticket));
    command.flags = 0x80;
    EXPECT_EQ(-EINVAL, xp_xqueue_submit_command(xqueue, &command, &ticket));
    command.flags = 0;
    command.reserved = 1;
    EXPECT_EQ(-EINVAL, xp_xqueue_submit_command(xqueue, &command, &ticket));
    command.reserved = 0;
    command.sz = 8;
    EXPECT_EQ(-EINVAL, xp_xqueue_submit_command(xqueue, &command, &ticket));
    command.sz = sizeof command;
    command.launch = nullptr;
    EXPECT_EQ(-EINVAL, xp_xqueue_submit_command(xqueue, &command, &ticket));
    EXPECT_EQ(1U, ticket);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(LibraryTest, bad_input_is_an_errno_and_changes_nothing) {
    xp_stream_info info{};
    info.sz = 8;
    EXPECT_EQ(-EINVAL, xp_stream_query(nullptr, &info));
    EXPECT_EQ(-EINVAL, xp_stream_query(nullptr, nullptr));
    EXPECT_NE(std::string(), xp_last_detail());
    xp_xqueue_t xqueue{42};
    EXPECT_EQ(-EBADF, xp_xqueue_suspend(xqueue, 0, nullptr));
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.threshold = 2;
    options.batch = 4;
    EXPECT_EQ(-EINVAL, xp_xqueue_create(nullptr, &options, &xqueue));
    options.batch = 0;
    options.max_level = 4;
    EXPECT_EQ(-EINVAL, xp_xqueue_create(nullptr, &options, &xqueue));
    EXPECT_EQ(42U, xqueue.handle);
}

TEST_F(LibraryTest, after_fork_every_call_answers_EBADF) {
    void* stream = new_stream();
    (void)query(stream);
    const pid_t child = fork();
    if (child == 0) {
        xp_stream_info info{};
        info.sz = sizeof info;
        _exit(xp_stream_query(stream, &info) == -EBADF ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ(1U, query(stream).num_sharing);
}

} // namespace
