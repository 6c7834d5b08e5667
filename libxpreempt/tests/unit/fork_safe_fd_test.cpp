// SPDX-License-Identifier: MIT
// Descriptors that each child closes.
#include "control/fork_safe_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using xpreempt::control::ForkSafeFd;

bool is_open(int fd) {
    return ::fcntl(fd, F_GETFD) >= 0;
}

// The lowest number that is free.
int next_fd() {
    const int fd = ::dup(STDIN_FILENO);
    ::close(fd);
    return fd;
}

template <typename Check> bool holds_in_child(Check check) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(check() ? 0 : 1);
    int status = -1;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ForkSafeFd, is_closed_in_a_child) {
    const ForkSafeFd event = ForkSafeFd::event();
    ASSERT_TRUE(event.valid());
    EXPECT_TRUE(holds_in_child([&] { return !is_open(event.get()); }));
    EXPECT_TRUE(is_open(event.get()));
}

TEST(ForkSafeFd, does_not_close_a_file_that_a_child_opens_with_its_number) {
    ForkSafeFd event = ForkSafeFd::event();
    const int number = event.get();
    EXPECT_TRUE(holds_in_child([&] {
        if (::dup2(STDIN_FILENO, number) != number)
            return false;
        event.reset();
        return is_open(number);
    }));
}

TEST(ForkSafeFd, fails_without_a_leak_where_the_list_is_full) {
    constexpr std::size_t room = 256;
    std::vector<ForkSafeFd> events;
    for (std::size_t i = 0; i < room; ++i) {
        events.push_back(ForkSafeFd::event());
        ASSERT_TRUE(events.back().valid()) << i;
    }
    const int next = next_fd();
    errno = 0;
    EXPECT_FALSE(ForkSafeFd::event().valid());
    EXPECT_EQ(EMFILE, errno);
    EXPECT_EQ(next, next_fd());
    events.pop_back();
    EXPECT_TRUE(ForkSafeFd::event().valid());
}

} // namespace
