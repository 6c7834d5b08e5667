// SPDX-License-Identifier: MIT
// The driver numbers the processes of each watch from 1 on, so the upper bits are ours.
#include "driver/watches.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>

namespace xpreemptd {

namespace {

constexpr std::uint32_t bits_of_driver = 24;
constexpr std::uint32_t mask = (1U << bits_of_driver) - 1;

std::uint32_t watch_of(std::uint32_t id) {
    return id >> bits_of_driver;
}

} // namespace

xpreempt::Result<Watches> Watches::make(Open open) {
    xpreempt::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid())
        return xpreempt::fail(errno, xpreempt::Op::watch);
    Watches made(std::move(open), std::move(epoll));
    if (auto opened = made.open_another(); !opened)
        return tl::make_unexpected(opened.error());
    return made;
}

xpreempt::Result<void> Watches::open_another() {
    auto watch = open_();
    if (!watch)
        return tl::make_unexpected(watch.error());
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, watch->fd(), &event) != 0)
        return xpreempt::fail(errno, xpreempt::Op::watch);
    all_.push_back({std::move(*watch)});
    return {};
}

const Watches::One* Watches::of(std::uint32_t id) const {
    return watch_of(id) < all_.size() ? &all_[watch_of(id)] : nullptr;
}

xpreempt::Result<std::uint32_t> Watches::add(pid_t pid, std::uint64_t cookie, std::uint32_t flags) {
    const auto has_room = [](const One& one) { return one.processes < KFD_PREEMPT_MAX_TARGETS; };
    auto one = std::ranges::find_if(all_, has_room);
    if (one == all_.end()) {
        if (all_.size() == most)
            return xpreempt::fail(ENOMEM, xpreempt::Op::watch, static_cast<std::uint32_t>(pid));
        if (auto opened = open_another(); !opened)
            return tl::make_unexpected(opened.error());
        one = all_.end() - 1;
    }
    auto id = one->watch.add(pid, cookie, flags);
    if (!id)
        return id;
    ++one->processes;
    return static_cast<std::uint32_t>(one - all_.begin()) << bits_of_driver | *id;
}

void Watches::remove(std::uint32_t id) {
    if (of(id) == nullptr)
        return;
    One& one = all_[watch_of(id)];
    // ENOENT is as good: the process has ended.
    (void)one.watch.remove(id & mask);
    --one.processes;
}

void Watches::answer(std::uint32_t id, std::uint32_t flags) const {
    // ESRCH: no allocation waits any more.
    if (const One* one = of(id))
        (void)one->watch.answer(id & mask, flags);
}

xpreempt::Result<void> Watches::arm(std::span<kfd_preempt_watch_arm_entry> entries) const {
    std::ranges::sort(entries, {}, &kfd_preempt_watch_arm_entry::id);
    while (!entries.empty()) {
        const std::uint32_t index = watch_of(entries.front().id);
        const auto end = std::ranges::find_if(
            entries, [&](const auto& entry) { return watch_of(entry.id) != index; });
        const auto some = entries.first(static_cast<std::size_t>(end - entries.begin()));
        entries = entries.subspan(some.size());
        if (index >= all_.size())
            return xpreempt::fail(EINVAL, xpreempt::Op::watch);
        for (auto& entry : some)
            entry.id &= mask;
        const auto armed = all_[index].watch.arm(some);
        for (auto& entry : some)
            entry.id |= index << bits_of_driver;
        if (!armed)
            return armed;
    }
    return {};
}

xpreempt::Result<std::size_t> Watches::read(std::span<kfd_preempt_watch_event> events) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < all_.size() && count < events.size(); ++i) {
        const One& one = all_[next_++ % all_.size()];
        const auto some = one.watch.read(events.subspan(count));
        if (!some)
            return some;
        count += *some;
    }
    return count;
}

} // namespace xpreemptd
