// SPDX-License-Identifier: MIT
// /dev/kfd: one call for each ioctl of kfd_preempt.h, nothing decided here.
#pragma once

#include "kfd/roots.hpp"
#include "result.hpp"

#include <cstdint>
#include <kfd_preempt.h>
#include <memory>
#include <span>
#include <sys/types.h>

namespace kfd {

// The place where ioctls leave the program; tests put a script of expected calls here.
class Port {
public:
    Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    Port(Port&&) = delete;
    Port& operator=(Port&&) = delete;
    virtual ~Port() = default;

    // 0 or a negative errno.
    virtual int call(unsigned long request, void* argument) = 0;
};

class Device {
public:
    explicit Device(std::unique_ptr<Port> port) : port_(std::move(port)) {}

    static Result<Device> open(const Roots& roots);

    // gpu_id 0 asks for the driver as a whole.
    Result<kfd_ioctl_preempt_query_args> query(std::uint32_t gpu_id);
    // One SWITCH on the queues of pid; the driver writes each entry's result into entries.
    Result<kfd_ioctl_preempt_switch_args>
    switch_queues(pid_t pid, std::uint32_t flags, std::span<kfd_preempt_switch_entry> entries);
    Result<kfd_ioctl_preempt_status_args> status(pid_t pid, std::uint32_t queue_id);

private:
    std::unique_ptr<Port> port_;
};

} // namespace kfd
