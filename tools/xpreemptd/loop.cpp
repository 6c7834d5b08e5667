// SPDX-License-Identifier: MIT
// epoll. The time goes by epoll_pwait2() where the kernel has it: no call to set a timer.
#include "loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace xpreemptd {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using xpreempt::Op;
using xpreempt::Result;

constexpr std::size_t events_at_once = 16;
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

// Linux 5.11 has epoll_pwait2(), glibc 2.35; EL8's kernel has neither, and waits in milliseconds.
int wait_for(int epoll, std::array<epoll_event, events_at_once>& events, nanoseconds left) {
    static bool by_nanoseconds = true;
    const bool for_ever = left == nanoseconds::max();
    if (by_nanoseconds) {
        const timespec timeout{duration_cast<std::chrono::seconds>(left).count(),
                               (left % std::chrono::seconds{1}).count()};
        const long count = ::syscall(SYS_epoll_pwait2, epoll, events.data(), events.size(),
                                     for_ever ? nullptr : &timeout, nullptr, 0);
        if (count >= 0 || errno != ENOSYS)
            return static_cast<int>(count);
        by_nanoseconds = false;
    }
    // Rounded up: a timer must not come before its time.
    const auto ms = (duration_cast<milliseconds>(left - nanoseconds{1}) + milliseconds{1}).count();
    return ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()),
                        for_ever ? -1 : static_cast<int>(std::min<std::int64_t>(ms, INT_MAX)));
}

} // namespace

Result<Loop> Loop::make() {
    xpreempt::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid())
        return xpreempt::fail(errno, Op::wait);
    return Loop(std::move(epoll));
}

Result<void> Loop::watch(int fd, Ready ready) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return xpreempt::fail(errno, Op::wait);
    ready_[fd] = std::make_shared<const Ready>(std::move(ready));
    return {};
}

void Loop::forget(int fd) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    ready_.erase(fd);
}

Result<void> Loop::wait_until(Time when) {
    const nanoseconds left =
        when == Time::max()
            ? nanoseconds::max()
            : std::max(nanoseconds{0}, nanoseconds(when - std::chrono::steady_clock::now()));
    std::array<epoll_event, events_at_once> events{};
    const int count = wait_for(epoll_.get(), events, left);
    if (count < 0 && errno != EINTR)
        return xpreempt::fail(errno, Op::wait);
    for (int i = 0; i < count; ++i) {
        // Looked up again: the one before may have forgotten it. Kept alive: it may forget itself.
        const auto found = ready_.find(events.at(static_cast<std::size_t>(i)).data.fd);
        if (found == ready_.end())
            continue;
        const std::shared_ptr<const Ready> ready = found->second;
        (*ready)();
    }
    return {};
}

} // namespace xpreemptd
