// SPDX-License-Identifier: MIT
// The calls on the file of a watch.
#include "kfd/watch.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace xpreempt::kfd {

Result<Watch> Watch::open(const Device& device, Ioctl ioctl) {
    auto made = TRY(device.make_watch());
    // The loop reads what is there and continues.
    if (::fcntl(made.get(), F_SETFL, O_NONBLOCK) != 0)
        return fail(errno, Op::watch);
    return Watch(std::move(made), std::move(ioctl));
}

Result<std::uint32_t> Watch::add(pid_t pid, std::uint64_t cookie, std::uint32_t flags) const {
    kfd_preempt_watch_add args{};
    args.flags = KFD_PREEMPT_SWITCH_TARGET_PID | flags;
    args.target = pid;
    args.cookie = cookie;
    return TRY(call(KFD_PREEMPT_WATCH_ADD, args, static_cast<std::uint32_t>(pid))).id;
}

Result<void> Watch::remove(std::uint32_t id) const {
    kfd_preempt_watch_remove args{id, 0};
    TRY(call(KFD_PREEMPT_WATCH_REMOVE, args, id));
    return {};
}

Result<void> Watch::answer(std::uint32_t id, std::uint32_t flags) const {
    kfd_preempt_watch_answer args{id, flags};
    TRY(call(KFD_PREEMPT_WATCH_ANSWER, args, id));
    return {};
}

Result<void> Watch::arm(std::span<kfd_preempt_watch_arm_entry> entries, std::uint32_t flags) const {
    kfd_preempt_watch_arm args{};
    args.entries_ptr = reinterpret_cast<std::uintptr_t>(entries.data());
    args.num_entries = static_cast<std::uint32_t>(entries.size());
    args.flags = flags;
    TRY(call(KFD_PREEMPT_WATCH_ARM, args, args.num_entries));
    return {};
}

Result<std::size_t> Watch::read(std::span<kfd_preempt_watch_event> events) const {
    const ssize_t bytes = ::read(fd_.get(), events.data(), events.size_bytes());
    if (bytes >= 0)
        return static_cast<std::size_t>(bytes) / sizeof(events[0]);
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    return fail(errno, Op::watch);
}

} // namespace xpreempt::kfd
