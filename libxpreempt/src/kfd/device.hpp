// SPDX-License-Identifier: MIT
// /dev/kfd: one call for each ioctl that is sent, nothing decided here.
#pragma once

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "kfd/queue_ioctls.hpp"

#include <cerrno>
#include <cstdint>
#include <functional>
#include <kfd_preempt.h>
#include <span>
#include <string>
#include <sys/types.h>

namespace xpreempt::kfd {

// Answers 0 or a negative errno. The library's own calls must not go through an interposed ioctl,
// which would take them for calls of the host; hence a function and not a fixed call.
using Ioctl = std::function<int(int fd, unsigned long request, void* argument)>;

// Straight to the C library.
int plain_ioctl(int fd, unsigned long request, void* argument);

// Repeats a call that a signal interrupted: the driver answers EINTR only before it changed
// anything. Returns the arguments as the driver left them, or its error for that step and id.
template <typename Args>
Result<Args> call_until_done(const Ioctl& ioctl, int fd, unsigned long request, Args args, Op op,
                             std::uint32_t id = 0) {
    int answer = 0;
    do {
        answer = ioctl(fd, request, &args);
    } while (answer == -EINTR);
    if (answer != 0)
        return fail(-answer, op, id);
    return args;
}

class Device {
public:
    static Result<Device> open(const std::string& path, Ioctl ioctl);
    Device(UniqueFd fd, Ioctl ioctl) : fd_(std::move(fd)), ioctl_(std::move(ioctl)) {}

    // gpu_id 0 asks about the driver as a whole. ENOTTY: this driver has no preemption.
    Result<kfd_ioctl_preempt_query_args> query(std::uint32_t gpu_id) const;

    // fd: the file that created the queue, or -1 for our own. They differ only with a driver that
    // gives a file a context of its own (queue ids then count per context).
    Result<kfd_ioctl_preempt_status_args> status(std::uint32_t kfd_queue_id, int fd = -1) const;
    Result<void> update_queue(const UpdateQueueArgs& properties, int fd = -1) const;

    // Own queues, or those of each entry's target_pid; each entry's result says how it went.
    Result<kfd_ioctl_preempt_switch_args> switch_queues(std::uint32_t flags,
                                                        std::span<kfd_preempt_switch_entry> entries,
                                                        int fd = -1,
                                                        std::uint32_t timeout_ms = 0) const;

    // The same as an operator: queues of a process, by its pid in our pid namespace or, with flag
    // TARGET_FD, by an open file of it.
    Result<kfd_ioctl_preempt_switch_args>
    switch_queues_of(int target, std::uint32_t flags, std::span<kfd_preempt_switch_entry> entries,
                     std::uint32_t timeout_ms = 0) const;
    // flags: KFD_PREEMPT_STATUS_COUNT_MEMORY or 0
    Result<kfd_ioctl_preempt_status_args> status_of(pid_t pid, std::uint32_t kfd_queue_id,
                                                    std::uint32_t flags = 0) const;

    // Bytes of VRAM that KFD would still allocate.
    Result<std::uint64_t> available_memory(std::uint32_t gpu_id) const;

    // The file of a new watch. ENOTTY: this driver has none.
    Result<UniqueFd> make_watch() const;

private:
    Result<kfd_ioctl_preempt_switch_args> switch_with(std::uint32_t flags, int target,
                                                      std::span<kfd_preempt_switch_entry> entries,
                                                      int fd, std::uint32_t timeout_ms) const;
    // fd below 0: our own.
    template <typename Args>
    Result<Args> call(int fd, unsigned long request, const Args& args, Op op,
                      std::uint32_t id = 0) const {
        return call_until_done(ioctl_, fd >= 0 ? fd : fd_.get(), request, args, op, id);
    }

    UniqueFd fd_;
    Ioctl ioctl_;
};

} // namespace xpreempt::kfd
