// SPDX-License-Identifier: MIT
// Moves virtual time from event to event.
#include "virtual_device.hpp"

#include <algorithm>
#include <chrono>

namespace bench {

using xpreempt::Result;
using xpreempt::xqueue::Launch;
using xpreempt::xqueue::Marker;

class VirtualMarker final : public Marker {
public:
    VirtualMarker(VirtualDevice& device, std::uint64_t passes_at_ns)
        : device_(device), passes_at_ns_(passes_at_ns) {}
    bool passed() override { return device_.now_ns() >= passes_at_ns_; }
    Result<void> wait() override {
        if (!passed())
            device_.wait_until(passes_at_ns_ + device_.costs_.wake_ns);
        return {};
    }

private:
    VirtualDevice& device_;
    std::uint64_t passes_at_ns_;
};

Result<void> VirtualHwQueue::launch(const Launch& launch) {
    (void)launch.command.launch(nullptr, launch.command.argument);
    device_.launch();
    return {};
}

Result<std::shared_ptr<Marker>> VirtualHwQueue::mark() {
    return std::make_shared<VirtualMarker>(device_, device_.mark());
}

std::uint64_t VirtualDevice::now_ns() const {
    const std::lock_guard lock(mutex_);
    return now_ns_;
}

std::uint64_t VirtualDevice::busy_until_ns() const {
    const std::lock_guard lock(mutex_);
    return busy_until_ns_;
}

// The host's time is counted and not slept through: a thread that sleeps in a launch would keep the
// driver's suspend waiting, and nobody would move time.
void VirtualDevice::launch() {
    const std::lock_guard lock(mutex_);
    host_free_ns_ = std::max(host_free_ns_, now_ns_) + costs_.launch_ns;
    busy_until_ns_ = std::max(busy_until_ns_, host_free_ns_) + costs_.command_ns;
}

std::uint64_t VirtualDevice::mark() {
    const std::lock_guard lock(mutex_);
    busy_until_ns_ += costs_.marker_ns;
    return busy_until_ns_;
}

void VirtualDevice::wait_until(std::uint64_t time_ns) {
    if (std::this_thread::get_id() == driver_)
        return run_until(time_ns);
    std::unique_lock lock(mutex_);
    wakes_at_ns_ = time_ns;
    changed_.notify_all();
    changed_.wait(lock, [this, time_ns] { return now_ns_ >= time_ns; });
}

// Until the worker sleeps here, or has nothing to launch and so sleeps in the XQueue.
void VirtualDevice::settle(std::unique_lock<std::mutex>& lock) {
    while (wakes_at_ns_ == nobody) {
        lock.unlock();
        const auto state = queue_->state();
        lock.lock();
        if (state.pending == 0 || state.suspends > 0)
            return;
        changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
}

void VirtualDevice::run_until(std::uint64_t time_ns) {
    std::unique_lock lock(mutex_);
    for (;;) {
        settle(lock);
        if (wakes_at_ns_ > time_ns)
            break;
        now_ns_ = std::max(now_ns_, wakes_at_ns_);
        wakes_at_ns_ = nobody;
        changed_.notify_all();
    }
    now_ns_ = std::max(now_ns_, time_ns);
}

void VirtualDevice::run_until_launched() {
    while (queue_->state().pending > 0) {
        std::unique_lock lock(mutex_);
        settle(lock);
        const std::uint64_t next_ns = wakes_at_ns_;
        lock.unlock();
        if (next_ns != nobody)
            run_until(next_ns);
    }
}

} // namespace bench
