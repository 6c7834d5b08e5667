// SPDX-License-Identifier: MIT
// Translates between the provider's terms and the ioctls of uapi/kfd_preempt.h.
#include "kfd_provider.hpp"

#include "kfd/probe.hpp"
#include "kfd/sysfs.hpp"
#include "real_time.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace xpreemptd {

namespace {

namespace kfd = xpreempt::kfd;

constexpr std::size_t events_at_once = 64;

std::string why_not(const xpreempt::Error& error, const kfd::Roots& roots) {
    const std::string device = roots.device.string();
    switch (error.errno_value) {
    case ENOENT:
    case ENXIO:
        return fmt::format("{0} is missing: no AMD GPU, or amdgpu is not loaded, or a container "
                           "without it: start that with --device {0}",
                           device);
    case EACCES:
    case EPERM:
        return fmt::format("not allowed to open {0}: run xpreemptd as root, its container with "
                           "--device {0} (Kubernetes: privileged: true)",
                           device);
    case ENOTTY:
        return "the loaded amdgpu has no preemption: `kfd-preempt doctor` says how to install it";
    default: return fmt::format("{}: {}", device, std::strerror(error.errno_value));
    }
}

// Of an AQL queue the packet processor takes a packet before it is done.
bool is_busy(const kfd_ioctl_preempt_status_args& status) {
    return status.write_index != status.read_index ||
           ((status.valid & KFD_PREEMPT_VALID_SIGNAL) != 0 && status.last_signal > 0);
}

Event event_of(const kfd_preempt_watch_event& event) {
    const EventKind kind = event.type == KFD_PREEMPT_WATCH_RANG     ? EventKind::rang
                           : event.type == KFD_PREEMPT_WATCH_EXITED ? EventKind::exited
                                                                    : EventKind::queues_changed;
    // steady_clock is CLOCK_MONOTONIC.
    return {kind, event.cookie, Time(std::chrono::nanoseconds(event.ns)), event.gpu_id,
            event.doorbell};
}

} // namespace

tl::expected<std::unique_ptr<KfdProvider>, std::string> KfdProvider::open(const kfd::Roots& roots) {
    auto device = kfd::Device::open(roots.device, kfd::plain_ioctl);
    if (!device)
        return tl::make_unexpected(why_not(device.error(), roots));
    const auto query = kfd::query_driver(*device, kfd::loaded_module(roots));
    if (!query)
        return tl::make_unexpected(why_not(query.error(), roots));
    constexpr std::uint64_t needed = KFD_PREEMPT_CAP_BATCH | KFD_PREEMPT_CAP_OPERATOR;
    if ((query->caps & needed) != needed || (query->type_mask & 1U << KFD_PREEMPT_TYPE_SAVE) == 0)
        return tl::make_unexpected(
            std::string("no GPU of this machine can save its waves, or operator_mode is 0: "
                        "`kfd-preempt doctor` says which"));
    auto watch = kfd::Watch::open(*device, kfd::plain_ioctl);
    if (!watch && watch.error().errno_value != ENOTTY)
        return tl::make_unexpected(
            fmt::format("making a watch: {}", std::strerror(watch.error().errno_value)));
    std::unique_ptr<KfdProvider> provider(new KfdProvider(roots, std::move(*device)));
    provider->max_batch_ = query->max_batch;
    if (watch)
        provider->watch_ = std::move(*watch);
    return provider;
}

Result<std::vector<pid_t>> KfdProvider::processes() {
    auto pids = kfd::kfd_pids(roots_);
    if (pids) // our own file of /dev/kfd makes us one of them
        std::erase(*pids, ::getpid());
    return pids;
}

Result<std::vector<std::uint32_t>> KfdProvider::queue_ids(pid_t pid) {
    return kfd::queue_ids(roots_, pid);
}

Result<QueueFound> KfdProvider::describe(pid_t pid, std::uint32_t queue_id) {
    const auto queue = kfd::queue_of(roots_, pid, queue_id);
    if (!queue)
        return tl::make_unexpected(queue.error());
    return QueueFound{queue->gpu_id, queue->type == kfd::QueueType::compute};
}

Result<QueueReading> KfdProvider::read(pid_t pid, std::uint32_t queue_id) {
    const auto status = device_.status_of(pid, queue_id);
    if (!status)
        return tl::make_unexpected(status.error());
    QueueReading reading{status->queue_uid, status->doorbell,
                         (status->valid & KFD_PREEMPT_VALID_INDEXES) != 0, false,
                         status->holds != 0};
    reading.busy = reading.known && is_busy(*status);
    return reading;
}

Result<std::uint32_t> KfdProvider::watch(pid_t pid, std::uint64_t cookie) {
    if (!watch_)
        return xpreempt::fail(ENOTTY, xpreempt::Op::watch);
    return watch_->add(pid, cookie);
}

void KfdProvider::unwatch(std::uint32_t watch_id) {
    // ENOENT is as good: it is not watched.
    if (watch_)
        (void)watch_->remove(watch_id);
}

Result<void> KfdProvider::arm(std::span<Arming> entries) {
    for (; !entries.empty(); entries = entries.subspan(arming_.size())) {
        arming_.clear();
        for (const Arming& entry : entries.first(std::min<std::size_t>(entries.size(), max_batch_)))
            arming_.emplace_back().id = entry.watch_id;
        if (auto armed = watch_->arm(arming_); !armed)
            return armed;
        for (std::size_t i = 0; i < arming_.size(); ++i) {
            entries[i].result = -arming_[i].result;
            entries[i].busy = (arming_[i].state & KFD_PREEMPT_WATCH_STATE_BUSY) != 0;
            entries[i].blind = (arming_[i].state & KFD_PREEMPT_WATCH_STATE_BLIND) != 0;
        }
    }
    return {};
}

Result<std::size_t> KfdProvider::take_events(std::span<Event> events) {
    std::array<kfd_preempt_watch_event, events_at_once> taken{};
    const auto count =
        watch_->read(std::span(taken).first(std::min(events.size(), events_at_once)));
    if (!count)
        return count;
    std::transform(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(*count),
                   events.begin(), event_of);
    return *count;
}

Result<void> KfdProvider::change(std::span<Switch> switches) {
    const LongCall waits_for_firmware;
    Result<void> outcome;
    while (!switches.empty()) {
        const std::size_t count = std::min<std::size_t>(switches.size(), max_batch_);
        if (auto changed = change_batch(switches.first(count)); !changed)
            outcome = changed;
        switches = switches.subspan(count);
    }
    return outcome;
}

Result<void> KfdProvider::change_batch(std::span<Switch> switches) {
    entries_.clear();
    for (const Switch& wanted : switches) {
        const bool stop = wanted.change == Change::stop;
        kfd_preempt_switch_entry& entry = entries_.emplace_back();
        entry.queue_id = wanted.queue_id;
        entry.op = stop ? KFD_PREEMPT_OP_PREEMPT : KFD_PREEMPT_OP_RESUME;
        entry.preempt_type = stop ? KFD_PREEMPT_TYPE_SAVE : 0;
        entry.target_pid = wanted.pid;
        entry.queue_uid = wanted.queue_uid;
    }
    const auto answer = device_.switch_queues(KFD_PREEMPT_SWITCH_MATCH_UID, entries_);
    for (std::size_t i = 0; i < switches.size(); ++i) {
        switches[i].result = answer ? -entries_[i].result : answer.error().errno_value;
        switches[i].held_by_others =
            switches[i].change == Change::start && answer && entries_[i].holds != 0;
    }
    if (!answer)
        return tl::make_unexpected(answer.error());
    return {};
}

} // namespace xpreemptd
