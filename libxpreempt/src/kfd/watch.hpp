// SPDX-License-Identifier: MIT
// A file of AMDKFD_IOC_PREEMPT_WATCH: reports when idle processes begin to submit work.
#pragma once

#include "kfd/device.hpp"

#include <cstdint>
#include <kfd_preempt.h>
#include <span>
#include <sys/types.h>

namespace xpreempt::kfd {

class Watch {
public:
    // ENOTTY: this driver has no watch.
    static Result<Watch> open(const Device& device, Ioctl ioctl);

    // For poll(); reads don't block.
    [[nodiscard]] int fd() const { return fd_.get(); }

    // Returns the id for the others. flags: KFD_PREEMPT_WATCH_GIVE_MEMORY or 0.
    Result<std::uint32_t> add(pid_t pid, std::uint64_t cookie, std::uint32_t flags = 0) const;
    Result<void> remove(std::uint32_t id) const;
    // flags: KFD_PREEMPT_WATCH_NO_ROOM or 0.
    Result<void> answer(std::uint32_t id, std::uint32_t flags) const;
    // Each entry's result says how it went. At most max_batch entries.
    Result<void> arm(std::span<kfd_preempt_watch_arm_entry> entries, std::uint32_t flags = 0) const;
    // As many events as there are and fit; 0 when there are none.
    Result<std::size_t> read(std::span<kfd_preempt_watch_event> events) const;

private:
    Watch(UniqueFd fd, Ioctl ioctl) : fd_(std::move(fd)), ioctl_(std::move(ioctl)) {}
    template <typename Args>
    Result<Args> call(unsigned long request, const Args& args, std::uint32_t id) const {
        return call_until_done(ioctl_, fd_.get(), request, args, Op::watch, id);
    }

    UniqueFd fd_;
    Ioctl ioctl_;
};

} // namespace xpreempt::kfd
