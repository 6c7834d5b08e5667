// SPDX-License-Identifier: MIT
// One turn at a time, and a queue for the next ones.
#include "xqueue/device_turns.hpp"

#include "xqueue/hw_queue.hpp"

#include <algorithm>

namespace xpreempt::xqueue {

namespace {

// The device may run dry while the next thread wakes up, for less than 300 us: a small part of a
// turn. The time of a command is measured from the end of the one before it, so a turn has two.
constexpr std::uint64_t turn_ns = 4'000'000;
constexpr std::uint32_t least_launches = 2;

// Beyond the time of two commands: what was launched may wait for a command of an xqueue in the
// queue, or the launch function for anything.
constexpr std::uint64_t patience_ns = 2'000'000;

} // namespace

bool DeviceTurns::is_over(std::uint64_t now_ns) const {
    return !waiting_.empty() && launches_ >= least_launches && now_ns - began_ns_ >= turn_ns;
}

void DeviceTurns::begin(const Seat* seat) {
    turn_ = seat;
    launches_ = 0;
}

void DeviceTurns::dequeue(Seat& seat) {
    std::erase(waiting_, &seat);
    seat.waits_ = false;
}

void DeviceTurns::pass_on() {
    begin(nullptr);
    if (waiting_.empty())
        return;
    Seat& next = *waiting_.front();
    dequeue(next);
    begin(&next);
    next.passed_on_.notify_one();
}

bool DeviceTurns::may_launch(const Seat& seat, Launcher launcher) {
    if (turn_ == nullptr && waiting_.empty())
        begin(&seat);
    if (turn_ != &seat || is_over(launcher.now_ns))
        return false;
    if (launches_++ == 0)
        began_ns_ = launcher.now_ns;
    command_ns_ = launcher.command_ns;
    ++all_launches_;
    return true;
}

bool DeviceTurns::take(const Seat& seat, Launcher launcher) {
    const std::lock_guard lock(mutex_);
    return may_launch(seat, launcher);
}

bool DeviceTurns::take_or_queue(Seat& seat, Launcher launcher) {
    const std::lock_guard lock(mutex_);
    if (may_launch(seat, launcher))
        return true;
    if (turn_ == &seat)
        pass_on();
    if (!seat.waits_)
        waiting_.push_back(&seat);
    seat.waits_ = true;
    return false;
}

void DeviceTurns::wait(Seat& seat, HwQueue& clock) {
    std::unique_lock lock(mutex_);
    while (seat.waits_) {
        const std::uint64_t launches = all_launches_;
        clock.sleep(lock, seat.passed_on_, patience_ns + 2 * command_ns_,
                    [&seat] { return !seat.waits_; });
        if (!seat.waits_ || launches != all_launches_)
            continue;
        dequeue(seat);
        begin(&seat);
    }
}

void DeviceTurns::leave(Seat& seat) {
    const std::lock_guard lock(mutex_);
    if (turn_ == &seat)
        pass_on();
    if (!seat.waits_)
        return;
    dequeue(seat);
    seat.passed_on_.notify_one();
}

} // namespace xpreempt::xqueue
