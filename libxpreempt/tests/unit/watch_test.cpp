// SPDX-License-Identifier: MIT
// Each call of a watch sends exactly its struct; and the targets of the device's calls.
#include "kfd/watch.hpp"

#include "kfd/device.hpp"
#include "unit/scripted_ioctl.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

using xpreempt::Op;
using xpreempt::UniqueFd;
using xpreempt::kfd::Device;
using xpreempt::kfd::Watch;

class WatchTest : public ::testing::Test {
protected:
    WatchTest() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(0, ::pipe2(ends, O_CLOEXEC));
        writer_ = UniqueFd(ends[1]);
        kfd_ioctl_preempt_watch_args in{};
        auto out = in;
        out.fd = ends[0]; // the watch owns it
        script_.expect(AMDKFD_IOC_PREEMPT_WATCH, 0, in, out);
    }
    xpreempt::Result<Watch> open() {
        return Watch::open(Device(UniqueFd(), script_.function()), script_.function());
    }

    test::ScriptedIoctl script_;
    UniqueFd writer_;
};

TEST_F(WatchTest, adds_a_process_and_gives_its_id) {
    const auto watch = open();
    ASSERT_TRUE(watch);
    kfd_preempt_watch_add in{};
    in.flags = KFD_PREEMPT_SWITCH_TARGET_PID | KFD_PREEMPT_WATCH_GIVE_MEMORY;
    in.target = 40;
    in.cookie = 7;
    auto out = in;
    out.id = 3;
    script_.expect(KFD_PREEMPT_WATCH_ADD, 0, in, out);
    EXPECT_EQ(3U, watch->add(40, 7, KFD_PREEMPT_WATCH_GIVE_MEMORY).value_or(0));
}

TEST_F(WatchTest, sends_the_other_calls) {
    const auto watch = open();
    ASSERT_TRUE(watch);
    script_.expect(KFD_PREEMPT_WATCH_REMOVE, 0, kfd_preempt_watch_remove{3, 0});
    EXPECT_TRUE(watch->remove(3));
    script_.expect(KFD_PREEMPT_WATCH_ANSWER, 0,
                   kfd_preempt_watch_answer{3, KFD_PREEMPT_WATCH_NO_ROOM});
    EXPECT_TRUE(watch->answer(3, KFD_PREEMPT_WATCH_NO_ROOM));
    std::array<kfd_preempt_watch_arm_entry, 2> entries{};
    kfd_preempt_watch_arm arm{};
    arm.entries_ptr = reinterpret_cast<std::uintptr_t>(entries.data());
    arm.num_entries = 2;
    arm.flags = KFD_PREEMPT_WATCH_NO_LOOK;
    script_.expect(KFD_PREEMPT_WATCH_ARM, 0, arm);
    EXPECT_TRUE(watch->arm(entries, KFD_PREEMPT_WATCH_NO_LOOK));
}

TEST_F(WatchTest, hands_errors_up) {
    const auto watch = open();
    ASSERT_TRUE(watch);
    const auto expect_failure = [](const auto& result, int errno_value, std::uint32_t id) {
        ASSERT_FALSE(result);
        EXPECT_EQ(errno_value, result.error().errno_value);
        EXPECT_EQ(Op::watch, result.error().op);
        EXPECT_EQ(id, result.error().id);
    };
    kfd_preempt_watch_add add{};
    add.flags = KFD_PREEMPT_SWITCH_TARGET_PID;
    add.target = 40;
    script_.expect(KFD_PREEMPT_WATCH_ADD, -ESRCH, add);
    expect_failure(watch->add(40, 0), ESRCH, 40);
    script_.expect(KFD_PREEMPT_WATCH_REMOVE, -ENOENT, kfd_preempt_watch_remove{3, 0});
    expect_failure(watch->remove(3), ENOENT, 3);
    script_.expect(KFD_PREEMPT_WATCH_ANSWER, -EINVAL, kfd_preempt_watch_answer{3, 0});
    expect_failure(watch->answer(3, 0), EINVAL, 3);
    script_.expect(KFD_PREEMPT_WATCH_ARM, -EFAULT, kfd_preempt_watch_arm{});
    expect_failure(watch->arm({}), EFAULT, 0);
}

TEST_F(WatchTest, reads_the_events_that_there_are) {
    const auto watch = open();
    ASSERT_TRUE(watch);
    std::array<kfd_preempt_watch_event, 4> events{};
    EXPECT_EQ(0U, watch->read(events).value_or(9)) << "it does not block";
    std::array<kfd_preempt_watch_event, 2> sent{};
    sent[1].cookie = 7;
    ASSERT_EQ(static_cast<ssize_t>(sizeof sent), ::write(writer_.get(), sent.data(), sizeof sent));
    EXPECT_EQ(2U, watch->read(events).value_or(9));
    EXPECT_EQ(7U, events[1].cookie);
    EXPECT_EQ(0U, watch->read(events).value_or(9));
}

TEST(WatchOfOldDriver, is_an_error) {
    test::ScriptedIoctl script;
    script.expect(AMDKFD_IOC_PREEMPT_WATCH, -ENOTTY, kfd_ioctl_preempt_watch_args{});
    const auto watch = Watch::open(Device(UniqueFd(), script.function()), script.function());
    ASSERT_FALSE(watch);
    EXPECT_EQ(ENOTTY, watch.error().errno_value);
}

TEST(DeviceTarget, is_the_process_of_a_switch) {
    kfd_preempt_switch_entry entry{};
    kfd_ioctl_preempt_switch_args args{};
    args.flags = KFD_PREEMPT_SWITCH_ALL_OR_NOTHING | KFD_PREEMPT_SWITCH_TARGET_PID;
    args.target_pid = 40;
    args.timeout_ms = 100;
    args.entries_ptr = reinterpret_cast<std::uintptr_t>(&entry);
    args.num_entries = 1;
    test::ScriptedIoctl script;
    script.expect(AMDKFD_IOC_PREEMPT_SWITCH, 0, args);
    const Device device{UniqueFd(), script.function()};
    EXPECT_TRUE(device.switch_queues_of(40, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, {&entry, 1}, 100));
}

} // namespace
