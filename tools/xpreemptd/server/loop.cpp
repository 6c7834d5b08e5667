// SPDX-License-Identifier: MIT
// epoll. The time goes by epoll_pwait2() where the kernel has it: no call to set a timer.
#include "server/loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <sys/epoll.h>
#include <sys/resource.h>
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

nanoseconds cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
}

} // namespace

Result<Loop> Loop::make() {
    xpreempt::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid())
        return xpreempt::fail(errno, Op::wait);
    return Loop(std::move(epoll));
}

Result<void> Loop::watch(int fd, Ready ready) {
    return watch(fd, std::move(ready), Share{});
}

Result<void> Loop::watch(int fd, Ready ready, Share share) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return xpreempt::fail(errno, Op::wait);
    watched_[fd] = std::make_shared<Watched>(Watched{std::move(ready), share});
    return {};
}

void Loop::forget(int fd) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    const auto found = watched_.find(fd);
    if (found == watched_.end())
        return;
    resting_ -= found->second->resting ? 1U : 0U;
    watched_.erase(found);
}

void Loop::let_rest(int fd, Watched& watched, bool rest) {
    epoll_event event{.events = rest ? 0U : static_cast<std::uint32_t>(EPOLLIN),
                      .data = {.fd = fd}};
    if (watched.resting == rest || ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)
        return;
    watched.resting = rest;
    rest ? ++resting_ : --resting_;
}

// Returns when the next one has rested.
Loop::Time Loop::wake_rested(Time now) {
    Time next = Time::max();
    if (resting_ == 0)
        return next;
    for (const auto& [fd, watched] : watched_) {
        if (!watched->resting)
            continue;
        const Time rested = watched->rested_at();
        if (rested <= now)
            let_rest(fd, *watched, false);
        else
            next = std::min(next, rested);
    }
    return next;
}

void Loop::call(int fd) {
    // Looked up: the one before may have forgotten it. Kept alive: it may forget itself.
    const auto found = watched_.find(fd);
    if (found == watched_.end())
        return;
    const std::shared_ptr<Watched> watched = found->second;
    if (watched->share.percent >= 100) // needs no account
        return watched->ready();
    const nanoseconds began = cpu_time();
    watched->ready();
    const Time now = std::chrono::steady_clock::now();
    watched->paid_until =
        std::max(watched->paid_until, now) + 100 * (cpu_time() - began) / watched->share.percent;
    if (watched->rested_at() > now) {
        const auto still = watched_.find(fd);
        if (still != watched_.end() && still->second == watched)
            let_rest(fd, *watched, true);
    }
}

// Asked once in longest_awake: most waits have slept.
void Loop::sleep_if_awake_too_long(Time now) {
    if (now - slept_ < longest_awake)
        return;
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    if (usage.ru_nvcsw == sleeps_) {
        const timespec time{0, nanoseconds(pause).count()};
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
        ::getrusage(RUSAGE_THREAD, &usage);
    }
    sleeps_ = usage.ru_nvcsw;
    slept_ = std::chrono::steady_clock::now();
}

Result<void> Loop::wait_until(Time when) {
    Time now = std::chrono::steady_clock::now();
    sleep_if_awake_too_long(now);
    when = std::min(when, wake_rested(now));
    now = std::chrono::steady_clock::now();
    const nanoseconds left = when == Time::max()
                                 ? nanoseconds::max()
                                 : std::max(nanoseconds{0}, nanoseconds(when - now));
    std::array<epoll_event, events_at_once> events{};
    const int count = wait_for(epoll_.get(), events, left);
    if (count < 0 && errno != EINTR)
        return xpreempt::fail(errno, Op::wait);
    for (int i = 0; i < count; ++i)
        call(events.at(static_cast<std::size_t>(i)).data.fd);
    return {};
}

} // namespace xpreemptd
