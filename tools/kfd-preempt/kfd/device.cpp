// SPDX-License-Identifier: MIT
// /dev/kfd: one call for each ioctl of kfd_preempt.h, nothing decided here.
#include "kfd/device.hpp"

#include "kfd/unique_fd.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

namespace kfd {

namespace {

class DeviceFile final : public Port {
public:
    explicit DeviceFile(UniqueFd fd) : fd_(std::move(fd)) {}

    int call(unsigned long request, void* argument) override {
        // The driver answers EINTR only before it changed anything, so a repeat is safe.
        int answer = 0;
        do {
            answer = ::ioctl(fd_.get(), request, argument) == 0 ? 0 : -errno;
        } while (answer == -EINTR);
        return answer;
    }

private:
    UniqueFd fd_;
};

} // namespace

Result<Device> Device::open(const Roots& roots) {
    UniqueFd fd(::open(roots.device.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid())
        return fail(errno, Op::open_device, roots.device.string());
    return Device(std::make_unique<DeviceFile>(std::move(fd)));
}

Result<kfd_ioctl_preempt_query_args> Device::query(std::uint32_t gpu_id) {
    kfd_ioctl_preempt_query_args args{};
    args.gpu_id = gpu_id;
    const int answer = port_->call(AMDKFD_IOC_PREEMPT_QUERY, &args);
    if (answer != 0)
        return fail(-answer, Op::query, fmt::format("gpu {}", gpu_id));
    return args;
}

Result<kfd_ioctl_preempt_switch_args>
Device::switch_queues(pid_t pid, std::uint32_t flags, std::span<kfd_preempt_switch_entry> entries) {
    kfd_ioctl_preempt_switch_args args{};
    args.flags = flags | KFD_PREEMPT_SWITCH_TARGET_PID;
    args.target_pid = pid;
    args.entries_ptr = reinterpret_cast<std::uintptr_t>(entries.data());
    args.num_entries = static_cast<std::uint32_t>(entries.size());
    const int answer = port_->call(AMDKFD_IOC_PREEMPT_SWITCH, &args);
    if (answer != 0)
        return fail(-answer, Op::switch_queues, fmt::format("pid {}", pid));
    return args;
}

Result<kfd_ioctl_preempt_status_args> Device::status(pid_t pid, std::uint32_t queue_id) {
    kfd_ioctl_preempt_status_args args{};
    args.flags = KFD_PREEMPT_SWITCH_TARGET_PID;
    args.target_pid = pid;
    args.queue_id = queue_id;
    const int answer = port_->call(AMDKFD_IOC_PREEMPT_STATUS, &args);
    if (answer != 0)
        return fail(-answer, Op::status, fmt::format("queue {} of pid {}", queue_id, pid));
    return args;
}

} // namespace kfd
