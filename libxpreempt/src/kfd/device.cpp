// SPDX-License-Identifier: MIT
// /dev/kfd: the only ioctls of library and command.
#include "kfd/device.hpp"

#include "kfd/queue_ioctls.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/ioctl.h>

namespace xpreempt::kfd {

int plain_ioctl(int fd, unsigned long request, void* argument) {
    return ::ioctl(fd, request, argument) == -1 ? -errno : 0;
}

Result<Device> Device::open(const std::string& path, Ioctl ioctl) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid())
        return fail(errno, Op::open_device);
    return Device(std::move(fd), std::move(ioctl));
}

Result<kfd_ioctl_preempt_query_args> Device::query(std::uint32_t gpu_id) const {
    kfd_ioctl_preempt_query_args args{};
    args.gpu_id = gpu_id;
    return call(-1, AMDKFD_IOC_PREEMPT_QUERY, args, Op::query, gpu_id);
}

Result<kfd_ioctl_preempt_status_args> Device::status(std::uint32_t kfd_queue_id, int fd) const {
    kfd_ioctl_preempt_status_args args{};
    args.queue_id = kfd_queue_id;
    return call(fd, AMDKFD_IOC_PREEMPT_STATUS, args, Op::queue_status, kfd_queue_id);
}

Result<kfd_ioctl_preempt_status_args> Device::status_of(pid_t pid, std::uint32_t kfd_queue_id,
                                                        std::uint32_t flags) const {
    kfd_ioctl_preempt_status_args args{};
    args.flags = flags | KFD_PREEMPT_SWITCH_TARGET_PID;
    args.target_pid = pid;
    args.queue_id = kfd_queue_id;
    return call(-1, AMDKFD_IOC_PREEMPT_STATUS, args, Op::queue_status, kfd_queue_id);
}

Result<void> Device::update_queue(const UpdateQueueArgs& properties, int fd) const {
    TRY(call(fd, ioc_update_queue, properties, Op::update_queue, properties.queue_id));
    return {};
}

Result<kfd_ioctl_preempt_switch_args>
Device::switch_queues(std::uint32_t flags, std::span<kfd_preempt_switch_entry> entries, int fd,
                      std::uint32_t timeout_ms) const {
    return switch_with(flags, 0, entries, fd, timeout_ms);
}

Result<kfd_ioctl_preempt_switch_args>
Device::switch_queues_of(int target, std::uint32_t flags,
                         std::span<kfd_preempt_switch_entry> entries,
                         std::uint32_t timeout_ms) const {
    if ((flags & KFD_PREEMPT_SWITCH_TARGET_FD) == 0)
        flags |= KFD_PREEMPT_SWITCH_TARGET_PID;
    return switch_with(flags, target, entries, -1, timeout_ms);
}

Result<kfd_ioctl_preempt_switch_args>
Device::switch_with(std::uint32_t flags, int target, std::span<kfd_preempt_switch_entry> entries,
                    int fd, std::uint32_t timeout_ms) const {
    kfd_ioctl_preempt_switch_args args{};
    args.flags = flags;
    args.timeout_ms = timeout_ms;
    ((flags & KFD_PREEMPT_SWITCH_TARGET_FD) != 0 ? args.target_fd : args.target_pid) = target;
    args.entries_ptr = reinterpret_cast<std::uintptr_t>(entries.data());
    args.num_entries = static_cast<std::uint32_t>(entries.size());
    return call(fd, AMDKFD_IOC_PREEMPT_SWITCH, args, Op::switch_queues, args.num_entries);
}

Result<std::uint64_t> Device::available_memory(std::uint32_t gpu_id) const {
    const AvailableMemoryArgs args{0, gpu_id, 0};
    return TRY(call(-1, ioc_available_memory, args, Op::open_device, gpu_id)).bytes;
}

Result<UniqueFd> Device::make_watch() const {
    const kfd_ioctl_preempt_watch_args args{};
    return UniqueFd(TRY(call(-1, AMDKFD_IOC_PREEMPT_WATCH, args, Op::watch)).fd);
}

} // namespace xpreempt::kfd
