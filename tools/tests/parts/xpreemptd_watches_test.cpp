// SPDX-License-Identifier: MIT
// More processes than one watch of the driver takes. An eventfd stands for the file of a watch.
#include "driver/watches.hpp"

#include <array>
#include <cerrno>
#include <gtest/gtest.h>
#include <map>
#include <poll.h>
#include <sys/eventfd.h>

namespace {

using xpreemptd::Watches;
namespace kfd = xpreempt::kfd;

class WatchesTest : public testing::Test {
protected:
    // The calls on watches, as the driver answers them.
    int call(int fd, unsigned long request, void* argument) {
        if (request == AMDKFD_IOC_PREEMPT_WATCH) {
            auto* args = static_cast<kfd_ioctl_preempt_watch_args*>(argument);
            args->fd = ::eventfd(0, EFD_CLOEXEC);
            fds.push_back(args->fd);
            return 0;
        }
        auto& processes = of[fd];
        if (request == KFD_PREEMPT_WATCH_ADD) {
            if (processes.size() == KFD_PREEMPT_MAX_TARGETS)
                return -ENOMEM;
            auto* args = static_cast<kfd_preempt_watch_add*>(argument);
            args->id = ++last_id;
            processes[args->id] = static_cast<pid_t>(args->target);
        } else if (request == KFD_PREEMPT_WATCH_REMOVE) {
            return processes.erase(static_cast<kfd_preempt_watch_remove*>(argument)->id) ? 0
                                                                                         : -ENOENT;
        } else if (request == KFD_PREEMPT_WATCH_ARM) {
            auto* args = static_cast<kfd_preempt_watch_arm*>(argument);
            auto* entries = reinterpret_cast<kfd_preempt_watch_arm_entry*>(args->entries_ptr);
            for (std::uint32_t i = 0; i < args->num_entries; ++i)
                entries[i].result = processes.contains(entries[i].id) ? 0 : -ESRCH;
        } else if (request == KFD_PREEMPT_WATCH_ANSWER) {
            answered = processes.at(static_cast<kfd_preempt_watch_answer*>(argument)->id);
        }
        return 0;
    }
    kfd::Ioctl ioctl = [this](int fd, unsigned long request, void* argument) {
        return call(fd, request, argument);
    };
    [[nodiscard]] bool is_ready() const {
        pollfd poll{watches.fd(), POLLIN, 0};
        return ::poll(&poll, 1, 0) == 1;
    }

    std::vector<int> fds;
    std::map<int, std::map<std::uint32_t, pid_t>> of; // processes of each watch
    pid_t answered = 0;
    std::uint32_t last_id = 0;
    kfd::Device device{xpreempt::UniqueFd(), ioctl};
    Watches watches = Watches::make([this] { return kfd::Watch::open(device, ioctl); }).value();
};

TEST_F(WatchesTest, process_that_the_first_watch_has_no_room_for_is_in_another_one) {
    std::vector<std::uint32_t> ids;
    for (pid_t pid = 1; pid <= KFD_PREEMPT_MAX_TARGETS + 2; ++pid) {
        const auto id = watches.add(pid, static_cast<std::uint64_t>(pid), 0);
        ASSERT_TRUE(id) << pid;
        ids.push_back(*id);
    }
    ASSERT_EQ(fds.size(), 2U);
    EXPECT_EQ(of[fds[1]].size(), 2U);
    std::array<kfd_preempt_watch_arm_entry, 4> entries{};
    entries[0].id = ids.back();
    entries[1].id = ids.front();
    entries[2].id = ids.back() - 1;
    entries[3].id = ids.back() + 1; // there is none
    ASSERT_TRUE(watches.arm(entries));
    for (const auto& entry : entries)
        EXPECT_EQ(entry.result, entry.id == ids.back() + 1 ? -ESRCH : 0) << entry.id;
    watches.answer(ids.back(), 0);
    EXPECT_EQ(answered, KFD_PREEMPT_MAX_TARGETS + 2);
    EXPECT_FALSE(is_ready());
    ::eventfd_write(fds[1], 1);
    EXPECT_TRUE(is_ready());
}

TEST_F(WatchesTest, room_that_comes_free_is_used_again) {
    std::uint32_t first = 0;
    for (pid_t pid = 1; pid <= KFD_PREEMPT_MAX_TARGETS; ++pid)
        first =
            first == 0 ? watches.add(pid, 1, 0).value() : (watches.add(pid, 1, 0).value(), first);
    for (int again = 0; again < 3; ++again) {
        watches.remove(first);
        first = watches.add(5000, 1, 0).value();
    }
    EXPECT_EQ(fds.size(), 1U);
}

} // namespace
