// SPDX-License-Identifier: MIT
// Translates between the provider's terms and the ioctls of uapi/kfd_preempt.h.
#include "driver/kfd_provider.hpp"

#include "driver/queue_reading.hpp"
#include "kfd/module.hpp"
#include "kfd/sysfs.hpp"
#include "system/real_time.hpp"

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
        return fmt::format("{0} is missing: this machine has no AMD GPU, or amdgpu is not loaded; "
                           "start a container with --device {0} --device /dev/dri",
                           device);
    case EACCES:
    case EPERM:
        return fmt::format("not allowed to open {0}: run xpreemptd as root, its container with "
                           "--device {0} --device /dev/dri (Kubernetes: privileged: true)",
                           device);
    case ENOTTY:
        return "the loaded amdgpu has no preemption: `kfd-preempt doctor` says how to install it";
    default: return fmt::format("{}: {}", device, std::strerror(error.errno_value));
    }
}

Event event_of(const kfd_preempt_watch_event& event) {
    constexpr std::uint64_t bytes_of_mib = 1 << 20;
    // steady_clock is CLOCK_MONOTONIC.
    Event told{EventKind::queues_changed, event.cookie, Time(std::chrono::nanoseconds(event.ns)),
               event.gpu_id, event.doorbell};
    switch (event.type) {
    case KFD_PREEMPT_WATCH_RANG: told.kind = EventKind::rang; break;
    case KFD_PREEMPT_WATCH_EXITED: told.kind = EventKind::exited; break;
    case KFD_PREEMPT_WATCH_WANTS_MEMORY:
        told.kind = EventKind::wants_memory;
        told.bytes = event.doorbell * bytes_of_mib;
        break;
    default: break;
    }
    return told;
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
            std::string("no GPU that xpreemptd may use can save its waves, or operator_mode is 0: "
                        "`kfd-preempt doctor` says which; start a container with --device "
                        "/dev/dri, too"));
    auto by = std::make_shared<KfdSwitch>(std::move(*device), query->max_batch);
    auto watch = Watches::make([by] { return kfd::Watch::open(by->device(), kfd::plain_ioctl); });
    if (!watch && watch.error().errno_value != ENOTTY)
        return tl::make_unexpected(fmt::format("cannot create a watch (PREEMPT_WATCH): {}",
                                               std::strerror(watch.error().errno_value)));
    std::unique_ptr<KfdProvider> provider(new KfdProvider(roots, std::move(by)));
    if (watch)
        provider->watch_ = std::move(*watch);
    if ((query->caps & KFD_PREEMPT_CAP_YIELD_MEMORY) == 0)
        return provider;
    auto mover =
        Mover::start([by = provider->switch_](std::span<Switch> switches) { by->move(switches); });
    if (!mover)
        return tl::make_unexpected(fmt::format("cannot start the thread that moves memory: {}",
                                               std::strerror(mover.error().errno_value)));
    provider->mover_ = std::move(*mover);
    provider->gives_ = (query->caps & KFD_PREEMPT_CAP_GIVE_MEMORY) != 0;
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
    const auto status = device().status_of(pid, queue_id);
    if (!status)
        return tl::make_unexpected(status.error());
    return reading_of(*status);
}

// No queue has uid 0, so this changes nothing: a process that isn't locked gives ESTALE or ENOENT.
bool KfdProvider::is_locked(pid_t pid) {
    constexpr std::uint32_t least_ms = 1;
    kfd_preempt_switch_entry entry{};
    entry.op = KFD_PREEMPT_OP_RESUME;
    const auto answer = device().switch_queues_of(pid, KFD_PREEMPT_SWITCH_MATCH_UID,
                                                  std::span(&entry, 1), least_ms);
    return answer ? entry.result == -EBUSY : answer.error().errno_value == EBUSY;
}

Result<std::uint32_t> KfdProvider::watch(pid_t pid, std::uint64_t cookie, bool gives) {
    if (!watch_)
        return xpreempt::fail(ENOTTY, xpreempt::Op::watch);
    return watch_->add(pid, cookie,
                       gives && can_give_memory() ? KFD_PREEMPT_WATCH_GIVE_MEMORY : 0U);
}

void KfdProvider::unwatch(std::uint32_t watch_id) {
    if (watch_)
        watch_->remove(watch_id);
}

Result<void> KfdProvider::arm(std::span<Arming> entries) {
    for (; !entries.empty(); entries = entries.subspan(arming_.size())) {
        arming_.clear();
        for (const Arming& entry :
             entries.first(std::min<std::size_t>(entries.size(), switch_->max_batch())))
            arming_.emplace_back().id = entry.watch_id;
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): watch() worked
        if (auto armed = watch_->arm(arming_); !armed)
            return armed;
        for (Arming& entry : entries.first(arming_.size())) {
            const auto armed = std::ranges::lower_bound(arming_, entry.watch_id, {},
                                                        &kfd_preempt_watch_arm_entry::id);
            entry.result = -armed->result;
            entry.busy = (armed->state & KFD_PREEMPT_WATCH_STATE_BUSY) != 0;
            entry.blind = (armed->state & KFD_PREEMPT_WATCH_STATE_BLIND) != 0;
        }
    }
    return {};
}

Result<std::size_t> KfdProvider::take_events(std::span<Event> events) {
    std::array<kfd_preempt_watch_event, events_at_once> taken{};
    const auto count =
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): watch() worked
        watch_->read(std::span(taken).first(std::min(events.size(), events_at_once)));
    if (!count)
        return count;
    std::transform(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(*count),
                   events.begin(), event_of);
    return *count;
}

Result<void> KfdProvider::change(std::span<Switch> switches) {
    const LongCall waits_for_firmware;
    return switch_->change(switches, 0);
}

Result<VramUse> KfdProvider::vram_of(pid_t pid, std::uint32_t queue_id) {
    // While KFD evicts or restores it, its buffers are locked.
    auto status = device().status_of(pid, queue_id);
    if (status && (status->status & KFD_PREEMPT_STATUS_EVICTED) != 0)
        return xpreempt::fail(EAGAIN, xpreempt::Op::queue_status);
    if (status)
        status = device().status_of(pid, queue_id, KFD_PREEMPT_STATUS_COUNT_MEMORY);
    if (!status)
        return tl::make_unexpected(status.error());
    const std::uint64_t stays = status->pinned_bytes + status->shared_bytes + status->peer_bytes;
    return VramUse{0, status->vram_bytes - std::min<std::uint64_t>(stays, status->vram_bytes),
                   stays, status->yielded_bytes,
                   std::chrono::nanoseconds(status->yield_ns + status->reclaim_ns)};
}

Result<std::uint64_t> KfdProvider::free_vram(std::uint32_t gpu_id) {
    return device().available_memory(gpu_id);
}

void KfdProvider::answer(std::uint32_t watch_id, bool last) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it asked
    watch_->answer(watch_id, last ? KFD_PREEMPT_WATCH_NO_ROOM : 0U);
}

void KfdProvider::begin(Move move) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): can_give_memory()
    mover_->begin(std::move(move));
}

std::vector<Move> KfdProvider::take_moved() {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): can_give_memory()
    return mover_->take();
}

} // namespace xpreemptd
