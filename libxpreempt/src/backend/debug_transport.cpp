// SPDX-License-Identifier: MIT
// Stops queues as their own process' debugger: on a driver without preemption, when asked for.
#include "backend/debug_transport.hpp"

#include "base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <vector>

namespace xpreempt::backend {

namespace {

constexpr std::uint32_t first_minor = 13; // of KFD's interface, with the debugger's calls
constexpr std::size_t max_queues = 1024;  // KFD_MAX_NUM_OF_QUEUES_PER_PROCESS

// A bit of an answered array to an errno.
int errno_of(std::uint32_t answered) {
    if ((answered & kfd::debug_queue_error) != 0)
        return EIO;
    // Gone, or made since the snapshot; for the latter the driver says nothing else.
    return (answered & kfd::debug_queue_invalid) != 0 ? ENOENT : 0;
}

std::uint64_t address_of(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

} // namespace

// Events go to /dev/null: none is enabled, but the driver wants a file.
Result<void> DebugTransport::enable() {
    const UniqueFd events(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!events.valid())
        return fail(errno, Op::debug_trap);
    std::uint64_t runtime[2]{}; // r_debug, then state and ttmp_setup
    kfd::DebugTrapArgs args{};
    args.op = kfd::debug_enable;
    args.address = address_of(runtime);
    args.number = sizeof runtime;
    args.option = static_cast<std::uint32_t>(events.get()); // the driver keeps a reference
    return device_->debug(args);
}

Result<void> DebugTransport::clear_new_queues() {
    std::vector<kfd::QueueSnapshot> entries(max_queues);
    kfd::DebugTrapArgs args{};
    args.op = kfd::debug_queue_snapshot;
    args.exception_mask = kfd::exception_queue_new;
    args.address = address_of(entries.data());
    args.number = static_cast<std::uint32_t>(entries.size());
    args.option = sizeof entries[0];
    return device_->debug(args);
}

Result<void> DebugTransport::suspend(std::uint32_t kfd_queue_id) {
    if (const auto cleared = clear_new_queues(); !cleared)
        return cleared;
    std::uint32_t id = kfd_queue_id;
    kfd::DebugTrapArgs args{};
    args.op = kfd::debug_suspend_queues;
    args.address = address_of(&id);
    args.number = 1;
    args.option = kfd::default_grace_period;
    if (const auto sent = device_->debug(args); !sent)
        return sent;
    if (const int problem = errno_of(id); problem != 0)
        return fail(problem, Op::debug_trap, kfd_queue_id);
    return {};
}

Result<void> DebugTransport::stop(const hip::QueueRecord& queue, StopType) {
    const std::lock_guard lock(mutex_);
    if (held_.empty())
        if (const auto enabled = enable(); !enabled)
            return fail(enabled.error().errno_value == EALREADY ? EBUSY // a debugger is attached
                                                                : enabled.error().errno_value,
                        Op::debug_trap, queue.kfd_queue_id);
    auto suspended = suspend(queue.kfd_queue_id);
    if (suspended) {
        held_.insert(queue.kfd_queue_id);
        return {};
    }
    suspended.error().id = queue.kfd_queue_id;
    if (held_.empty()) {
        kfd::DebugTrapArgs args{};
        args.op = kfd::debug_disable;
        (void)device_->debug(args);
    }
    return suspended;
}

Result<void> DebugTransport::start(const hip::QueueRecord& queue) {
    const std::lock_guard lock(mutex_);
    std::uint32_t id = queue.kfd_queue_id;
    kfd::DebugTrapArgs args{};
    args.op = kfd::debug_resume_queues;
    args.exception_mask = address_of(&id); // resume begins with the array
    args.address = 1;
    auto sent = device_->debug(args);
    if (sent && errno_of(id) != 0)
        sent = fail(errno_of(id), Op::debug_trap, queue.kfd_queue_id);
    // One that is gone is held no more.
    if (sent || sent.error().errno_value == ENOENT)
        held_.erase(queue.kfd_queue_id);
    if (held_.empty()) {
        args = {};
        args.op = kfd::debug_disable;
        (void)device_->debug(args);
    }
    return sent;
}

std::string debug_refusal(const kfd::Device& device, const kfd::LoadedModule& module) {
    const auto version = device.version();
    if (!version)
        return "the driver reports no version";
    if (version->major != 1 || version->minor < first_minor)
        return "the driver has no debugger interface (KFD " + std::to_string(version->major) + "." +
               std::to_string(version->minor) + ", it came with 1.13)";
    if (module.sched_policy == 2)
        return "debugging needs firmware scheduling (amdgpu.sched_policy is 2)";
    return {};
}

} // namespace xpreempt::backend
