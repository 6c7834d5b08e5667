// SPDX-License-Identifier: MIT
// Maps a stream at the moment it is stopped, and stops the queue found.
#include "backend/stream_queue.hpp"

#include "backend/queue_use.hpp"
#include "backend/ungated.hpp"
#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

namespace xpreempt::backend {

namespace {

// Between two questions whether a late stop is confirmed.
constexpr std::chrono::milliseconds first_pause{1}, longest_pause{64};

xqueue::LevelChoice only_block(std::string reason) {
    return {xqueue::Level::block, xqueue::DeactivateMethod::none, std::move(reason)};
}

// One launch while its callback runs. A callback may submit to another xqueue, which then launches
// in the same thread.
class LaunchScope {
public:
    LaunchScope(const Guardian& guardian, hook::PacketLog* log, const hook::Table* hook)
        : guardian_(guardian), log_(log), hook_(hook), outer_(current_) {
        current_ = this;
        // The inner one's packets aren't the outer one's, but come before some of them.
        if (outer_ != nullptr && outer_->log_ != nullptr)
            outer_->log_->incomplete = 1;
        if (log_ != nullptr)
            hook_->log_packets(log_);
    }
    ~LaunchScope() {
        if (log_ != nullptr)
            hook_->log_packets(nullptr);
        current_ = outer_;
    }
    LaunchScope(const LaunchScope&) = delete;
    LaunchScope& operator=(const LaunchScope&) = delete;

    static const Guardian* guardian() {
        return current_ != nullptr ? &current_->guardian_ : nullptr;
    }

private:
    static thread_local LaunchScope* current_;

    Guardian guardian_;
    hook::PacketLog* log_;
    const hook::Table* hook_;
    LaunchScope* outer_;
};
thread_local LaunchScope* LaunchScope::current_ = nullptr;

// A positive answer is a HIP error that the callback passed on.
Result<void> result_of(int answer) {
    return answer < 0 ? fail(-answer, Op::launch) : hip::check(answer);
}

bool has(const xqueue::Launch& launch, std::uint32_t flag) {
    return (launch.command.flags & flag) != 0;
}

} // namespace

const Guardian* guardian_of_launch() {
    return LaunchScope::guardian();
}

xqueue::LevelChoice level_of(const Transport& transport, const Probe& probe,
                             const hip::Mapping& mapping, hip::Stream stream, bool allow_shared) {
    if (!mapping.available())
        return only_block("libxpreempt-hook.so is not loaded: preload it, or link it before HIP");
    if (transport.kind() == TransportKind::none)
        return only_block(probe.reason);
    const auto queue = mapping.queue_of(stream);
    if (!queue)
        return only_block(why_unmapped(queue.error(), mapping));
    if (queue->queue_type != kfd::queue_type_aql)
        return only_block("the stream's KFD queue is not an AQL compute queue");
    for (const hip::QueueRecord& busy : mapping.busy_queues(stream))
        if (busy.num_streams > 1 && !allow_shared)
            return only_block(std::to_string(busy.num_streams) + " streams share KFD queue " +
                              std::to_string(busy.kfd_queue_id));
    if (!transport.can(StopType::save) || queue->save_area_bytes == 0)
        return {xqueue::Level::deactivate, xqueue::DeactivateMethod::hardware,
                "the queue's waves cannot be saved (no CWSR)"};
    return {xqueue::Level::interrupt, xqueue::DeactivateMethod::hardware, ""};
}

StreamQueue::~StreamQueue() {
    pace_direct(0, 0);
    // Reuse the guardians only if the last marker has passed; otherwise kernels may still read
    // them. It never passes on a dead queue.
    if (guardians_ == nullptr || last_marker_ == nullptr || !last_marker_->passed())
        return;
    guardians_->retire_all();
    environment_.guardians.give_back(std::move(guardians_));
}

xqueue::LevelChoice StreamQueue::level_when_held() const {
    return level_of(environment_.transport, environment_.probe, environment_.mapping, key_,
                    rules_.allow_shared);
}

StreamQueue::MethodChoice StreamQueue::method_of(xqueue::DeactivateMethod method,
                                                 const xqueue::LevelChoice& when_held) const {
    using xqueue::DeactivateMethod;
    const Transport& transport = environment_.transport;
    const std::lock_guard lock(launched_mutex_);
    switch (method) {
    case DeactivateMethod::none: break;
    case DeactivateMethod::hardware:
        if (when_held.level != xqueue::Level::block)
            return {method, ""};
        return {DeactivateMethod::none, when_held.reason};
    case DeactivateMethod::guardian:
        if (launched_.can_guard())
            return {method, ""};
        return {DeactivateMethod::none, "the newest command is not guarded"};
    case DeactivateMethod::flush:
        if (!environment_.mapping.available())
            return {DeactivateMethod::none, "a flush needs libxpreempt-hook.so"};
        if (transport.kind() == TransportKind::none)
            return {DeactivateMethod::none,
                    "a flush has to stop the queue: " + environment_.probe.reason};
        // The CPU's write to VRAM may not have arrived when the queue is read again, so the kernel
        // might run after all.
        if (const auto queue = environment_.mapping.queue_of(key_);
            queue && environment_.mapping.queues_in_vram().contains(hip::ref_of(*queue)))
            return {DeactivateMethod::none, "a flush rewrites packets, and the ring of KFD queue " +
                                                std::to_string(queue->kfd_queue_id) +
                                                " is in VRAM"};
        if (launched_.can_flush())
            return {method, ""};
        return {DeactivateMethod::none, "the newest command cannot be flushed"};
    }
    return {DeactivateMethod::none, "no such deactivate method"};
}

// Holding the queue asks nothing of the commands, but other streams stop with it.
StreamQueue::MethodChoice StreamQueue::method_now(const xqueue::LevelChoice& when_held) const {
    using xqueue::DeactivateMethod;
    if (rules_.deactivate_method != DeactivateMethod::none)
        return method_of(rules_.deactivate_method, when_held);
    const auto queue = environment_.mapping.queue_of(key_);
    const MethodChoice hardware = method_of(DeactivateMethod::hardware, when_held);
    if (hardware.method != DeactivateMethod::none && queue && queue->num_streams == 1)
        return hardware;
    MethodChoice last;
    for (const DeactivateMethod method : {DeactivateMethod::guardian, DeactivateMethod::flush})
        if (last = method_of(method, when_held); last.method != DeactivateMethod::none)
            return last;
    return hardware.method != DeactivateMethod::none
               ? hardware
               : MethodChoice{DeactivateMethod::none, hardware.why + "; " + last.why};
}

xqueue::LevelChoice StreamQueue::best_level(xqueue::Level highest) try {
    using xqueue::Level;
    if (highest == Level::block)
        return only_block("");
    const xqueue::LevelChoice when_held = level_when_held();
    if (highest == Level::interrupt && when_held.level == Level::interrupt)
        return when_held;
    const MethodChoice choice = method_now(when_held);
    if (choice.method == xqueue::DeactivateMethod::none)
        return only_block(choice.why);
    return {Level::deactivate, choice.method, highest == Level::interrupt ? when_held.reason : ""};
} catch (const std::bad_alloc&) {
    return {xqueue::Level::block, xqueue::DeactivateMethod::none, ""};
}

// No guardian is no error: the command then is one that can't be taken back.
std::optional<Guardian> StreamQueue::guard(const xqueue::Launch& launch) {
    Guardian guardian;
    if (!has(launch, xqueue::command_guarded) || guardians_ == nullptr ||
        !guardians_->arm(guardian))
        return std::nullopt;
    return guardian;
}

Result<void> StreamQueue::launch(const xqueue::Launch& launch) {
    const Ungated ungated; // a command is the xqueue's business, not its stream's
    const hip::OnDevice scope(environment_.hip, device_);
    if (!scope.result())
        return scope.result();
    // It is never stopped, and its graph must not have a guardian, which is used again.
    if (launch.captured) {
        const LaunchScope launching(Guardian{}, nullptr, environment_.mapping.table());
        return result_of(launch.command.launch(stream_, launch.command.argument));
    }
    LaunchedCommands::Entry entry;
    entry.ticket = launch.ticket;
    if (launch.command.flags != 0)
        any_flags_.store(true, std::memory_order_relaxed);
    const bool remember = any_flags_.load(std::memory_order_relaxed);
    // Without the lock: HIP is called.
    if (has(launch, xqueue::command_guarded) && guardians_ == nullptr)
        if (auto acquired = environment_.guardians.acquire(environment_.hip, stream_))
            guardians_ = std::move(*acquired);
    if (remember) {
        const std::lock_guard lock(launched_mutex_);
        const std::uint32_t done = launched_.forget(launch.completed);
        if (guardians_ != nullptr)
            guardians_->retire(done);
        entry.guardian = guard(launch);
    }
    if (has(launch, xqueue::command_idempotent) && environment_.mapping.available())
        entry.log = std::make_unique<hook::PacketLog>();
    int answer = 0;
    {
        const LaunchScope launching(entry.guardian.value_or(Guardian{}), entry.log.get(),
                                    environment_.mapping.table());
        answer = launch.command.launch(stream_, launch.command.argument);
    }
    if (remember) {
        // A part of a command that failed may be in the queue, and is never launched again.
        if (answer != 0)
            entry.log.reset();
        const std::lock_guard lock(launched_mutex_);
        launched_.add(std::move(entry), answer == 0);
    }
    return result_of(answer);
}

Result<std::shared_ptr<xqueue::Marker>> StreamQueue::mark() {
    auto marker = place_marker(events_, stream_);
    if (marker)
        last_marker_ = *marker;
    return marker;
}

xqueue::DeviceLoad* StreamQueue::load() {
    // Never destroyed, as the library: an xqueue that the program leaves behind launches until the
    // process has ended.
    using Loads = std::array<xqueue::DeviceLoad, 64>;
    static Loads& loads = *new Loads;
    const std::size_t device = hip::place_of(device_);
    return device < loads.size() ? &loads[device] : nullptr;
}

Result<xqueue::Deactivated> StreamQueue::deactivate() try {
    const MethodChoice choice = method_now(level_when_held());
    switch (choice.method) {
    case xqueue::DeactivateMethod::none: break;
    case xqueue::DeactivateMethod::hardware: {
        const bool can_drain = environment_.transport.can(StopType::drain);
        TRY(hold_.stop(can_drain ? StopType::drain : StopType::save, rules_.allow_shared));
        return xqueue::Deactivated{std::nullopt, choice.method};
    }
    case xqueue::DeactivateMethod::guardian: {
        const std::lock_guard lock(launched_mutex_);
        return xqueue::Deactivated{launched_.take_back_guarded(), choice.method};
    }
    case xqueue::DeactivateMethod::flush: return flush();
    }
    return fail(EOPNOTSUPP, Op::choose_level);
} catch (const std::bad_alloc&) { // nothing is held
    return fail(ENOMEM, Op::allocate);
}

// The queue is stopped only while packets are rewritten. It isn't held afterwards: running work
// and the other streams' packets continue.
Result<xqueue::Deactivated> StreamQueue::flush() {
    const auto queue = TRY(environment_.mapping.queue_of(key_));
    const bool can_save = environment_.transport.can(StopType::save);
    TRY(environment_.holds.hold(queue, can_save ? StopType::save : StopType::drain, stream_));
    const auto release = [&](Holds* holds) { holds->release(queue, stream_); };
    const std::unique_ptr<Holds, decltype(release)> released_at_end(&environment_.holds, release);
    // Packets are rewritten only while the queue is known to read none.
    if (environment_.holds.is_late(hip::ref_of(queue)))
        return fail(ETIME, Op::preempt_queue, queue.kfd_queue_id);
    const std::lock_guard lock(launched_mutex_);
    AqlRing ring(queue);
    return xqueue::Deactivated{launched_.take_back_packets(ring, queue.hsa_queue),
                               xqueue::DeactivateMethod::flush};
}

// The driver notifies nobody, so ask it.
void StreamQueue::finish_stop() {
    const auto is_late = [this](const hip::QueueRecord& queue) {
        return environment_.holds.is_late(hip::ref_of(queue));
    };
    for (auto pause = first_pause;
         std::ranges::any_of(environment_.mapping.busy_queues(key_), is_late);
         pause = std::min(2 * pause, longest_pause))
        std::this_thread::sleep_for(pause);
}

void StreamQueue::start() {
    if (hold_.any())
        hold_.start();
}

bool StreamQueue::OwnLaunch::stop() {
    return queue_.level_when_held().level == xqueue::Level::interrupt &&
           hold_.stop(StopType::save, queue_.rules_.allow_shared).has_value();
}

void StreamQueue::OwnLaunch::start() {
    hold_.start();
}

void StreamQueue::withhold_direct(bool withhold) {
    if (calls_ == nullptr)
        return;
    if (withhold)
        calls_->withhold(rules_.stop_for_own_launch ? &own_launch_ : nullptr);
    else
        calls_->admit();
}

void StreamQueue::pace_direct(std::uint32_t threshold, std::uint32_t batch) {
    if (calls_ != nullptr)
        calls_->pace(threshold, batch);
}

bool StreamQueue::has_direct_work() const {
    return calls_ != nullptr && calls_->has_work();
}

void StreamQueue::observe_direct(const std::shared_ptr<xqueue::Observer>& observer) {
    if (calls_ != nullptr)
        calls_->observe(observer);
}

} // namespace xpreempt::backend
