// SPDX-License-Identifier: MIT
// Moves virtual time from event to event.
#include "virtual_device.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>

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
            device_.wait_until(passes_at_ns_ + device_.wake_ns(passes_at_ns_));
        return {};
    }
    Result<void> wait_promptly(const xpreempt::xqueue::Expected& expected) override {
        const std::uint64_t begin_ns = device_.now_ns();
        if (passes_at_ns_ <= begin_ns)
            return {};
        const auto plan = xpreempt::xqueue::prompt_wait(expected);
        if (!xpreempt::xqueue::is_worth_polling(expected) ||
            passes_at_ns_ > begin_ns + plan.give_up_ns)
            return wait();
        const std::uint64_t polls_from_ns =
            begin_ns + (plan.sleep_ns != 0 ? plan.sleep_ns + device_.wake_ns(passes_at_ns_) : 0);
        device_.poll_until(polls_from_ns,
                           std::max(passes_at_ns_, polls_from_ns) + device_.costs_.poll_ns);
        return {};
    }

    bool passes_within(std::uint64_t ns, const std::atomic<std::uint32_t>&) override {
        using xpreempt::xqueue::timer_lateness_ns;
        const std::uint64_t begin_ns = device_.now_ns();
        std::uint64_t polls_from_ns = begin_ns;
        if (ns > timer_lateness_ns(ns))
            polls_from_ns += ns - timer_lateness_ns(ns) + device_.wake_ns(begin_ns + ns);
        const std::uint64_t noticed_ns = std::max(passes_at_ns_, polls_from_ns);
        device_.poll_until(polls_from_ns,
                           std::min(noticed_ns, std::max(begin_ns + ns, polls_from_ns)) +
                               device_.costs_.poll_ns);
        return passed();
    }

private:
    VirtualDevice& device_;
    std::uint64_t passes_at_ns_;
};

void VirtualHwQueue::sleep(std::unique_lock<std::mutex>& lock, std::condition_variable& /*wakes*/,
                           std::uint64_t ns, const std::function<bool()>& /*over*/) {
    lock.unlock();
    const std::uint64_t end_ns = device_.now_ns() + ns;
    const DeviceCosts& costs = device_.costs_;
    device_.wait_until(end_ns + device_.late_ns(end_ns, costs.nap_median_ns, costs.nap_p99_ns));
    lock.lock();
}

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
// driver's suspend waiting, and no thread would advance time.
void VirtualDevice::launch() {
    const std::lock_guard lock(mutex_);
    host_free_ns_ = std::max(host_free_ns_, now_ns_) + costs_.launch_ns;
    const bool is_first = costs_.first_ns != 0 && launched_++ < costs_.num_first;
    busy_until_ns_ =
        std::max(busy_until_ns_, host_free_ns_) + (is_first ? costs_.first_ns : costs_.command_ns);
}

std::uint64_t VirtualDevice::mark() {
    const std::lock_guard lock(mutex_);
    busy_until_ns_ += costs_.marker_ns;
    return busy_until_ns_;
}

std::uint64_t VirtualDevice::wakes() const {
    const std::lock_guard lock(mutex_);
    return wakes_;
}

std::uint64_t VirtualDevice::polled_ns() const {
    const std::lock_guard lock(mutex_);
    return polled_ns_;
}

// The thread is awake from begin_ns on.
void VirtualDevice::poll_until(std::uint64_t begin_ns, std::uint64_t end_ns) {
    {
        const std::lock_guard lock(mutex_);
        polled_ns_ += end_ns - std::min(begin_ns, end_ns);
    }
    wait_until(end_ns);
}

std::uint64_t VirtualDevice::wake_ns(std::uint64_t awaited_ns) {
    return late_ns(awaited_ns, costs_.wake_median_ns, costs_.wake_p99_ns);
}

// The same for the same time and thread, whatever the order in which threads come here.
std::uint64_t VirtualDevice::late_ns(std::uint64_t awaited_ns, double median_ns, double p99_ns) {
    {
        const std::lock_guard lock(mutex_);
        ++wakes_;
    }
    constexpr double z_of_p99 = 2.3263;
    std::mt19937_64 random(2 * awaited_ns + (std::this_thread::get_id() == driver_ ? 1 : 0));
    std::lognormal_distribution<double> distribution(std::log(median_ns),
                                                     std::log(p99_ns / median_ns) / z_of_p99);
    return static_cast<std::uint64_t>(distribution(random));
}

void VirtualDevice::wait_until(std::uint64_t time_ns) {
    if (std::this_thread::get_id() == driver_)
        return run_until(time_ns);
    std::unique_lock lock(mutex_);
    wakes_at_ns_ = time_ns;
    changed_.notify_all();
    changed_.wait(lock, [this, time_ns] { return now_ns_ >= time_ns || ended_; });
}

void VirtualDevice::end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
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
