// SPDX-License-Identifier: MIT
// A device in virtual time: one command after the other, each taking exactly as long as told.
#pragma once

#include "xqueue/xqueue.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace bench {

// Costs of the device's operations, in virtual nanoseconds. They are assumptions that define this
// device, not measurements.
struct DeviceCosts {
    std::uint64_t command_ns;   // on the device, each
    std::uint64_t first_ns = 0; // the first ones; 0: as the others
    std::uint32_t num_first = 1;
    std::uint64_t marker_ns = 100;  // on the device, each
    std::uint64_t launch_ns = 3000; // on the host, until the device has the command
    std::uint64_t poll_ns = 1300;   // a thread that polls notices a marker this much later
    // How late threads run again, log-normal: of a wait for a marker, and of a sleep with a time
    // slack of 1 ns. Measured in guests with an H200.
    double wake_median_ns = 46'000, wake_p99_ns = 282'000;
    double nap_median_ns = 29'000, nap_p99_ns = 283'000;
};

// Time stands still but for the thread that made the device and calls run_until(), or waits itself:
// it moves time from event to event, each when all other threads wait for the next. So what is
// measured doesn't depend on the machine, and repeats.
class VirtualDevice {
public:
    explicit VirtualDevice(const DeviceCosts& costs)
        : costs_(costs), driver_(std::this_thread::get_id()) {}

    // The XQueue in front of this device, which decides whether a thread still wants to launch.
    // Its last call on the device must be over before that dies.
    void attach(const xpreempt::xqueue::XQueue& queue) { queue_ = &queue; }

    void run_until(std::uint64_t time_ns);
    // Until the XQueue has launched everything. The driver must not wait in the XQueue before: for
    // a launch it waits there, and not here.
    void run_until_launched();
    // Time isn't moved any more: each thread that waits for a time returns, now and later.
    void end();
    [[nodiscard]] std::uint64_t now_ns() const;
    [[nodiscard]] std::uint64_t busy_until_ns() const; // when all that was launched is done
    [[nodiscard]] std::uint64_t wakes() const;     // of threads that slept for a marker, or a time
    [[nodiscard]] std::uint64_t polled_ns() const; // by all threads

private:
    friend class VirtualHwQueue;
    friend class VirtualMarker;

    void launch();
    std::uint64_t mark();
    void wait_until(std::uint64_t time_ns);
    void poll_until(std::uint64_t begin_ns, std::uint64_t end_ns);
    std::uint64_t wake_ns(std::uint64_t awaited_ns);
    std::uint64_t late_ns(std::uint64_t awaited_ns, double median_ns, double p99_ns);
    void settle(std::unique_lock<std::mutex>& lock);

    static constexpr std::uint64_t nobody = UINT64_MAX;

    const DeviceCosts costs_;
    const std::thread::id driver_;
    const xpreempt::xqueue::XQueue* queue_ = nullptr;
    mutable std::mutex mutex_; // all below
    std::condition_variable changed_;
    std::uint64_t now_ns_ = 1; // 0 would be "unknown"
    std::uint64_t host_free_ns_ = 0;
    std::uint64_t busy_until_ns_ = 0;
    std::uint32_t launched_ = 0;
    std::uint64_t wakes_at_ns_ = nobody; // the worker, asleep
    std::uint64_t wakes_ = 0;
    std::uint64_t polled_ns_ = 0;
    bool ended_ = false;
};

class VirtualHwQueue final : public xpreempt::xqueue::HwQueue {
public:
    explicit VirtualHwQueue(VirtualDevice& device) : device_(device) {}

    std::uint64_t now_ns() override { return device_.now_ns(); }
    void sleep(std::unique_lock<std::mutex>& lock, std::condition_variable& wakes, std::uint64_t ns,
               const std::function<bool()>& over) override;
    xpreempt::xqueue::LevelChoice best_level(xpreempt::xqueue::Level) override {
        return {xpreempt::xqueue::Level::block, xpreempt::xqueue::DeactivateMethod::none, ""};
    }
    xpreempt::Result<void> launch(const xpreempt::xqueue::Launch& launch) override;
    xpreempt::Result<std::shared_ptr<xpreempt::xqueue::Marker>> mark() override;
    xpreempt::Result<xpreempt::xqueue::Deactivated> deactivate() override {
        return xpreempt::xqueue::Deactivated{};
    }
    xpreempt::Result<void> interrupt() override { return {}; }
    void start() override {}

private:
    VirtualDevice& device_;
};

} // namespace bench
