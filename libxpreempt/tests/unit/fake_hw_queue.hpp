// SPDX-License-Identifier: MIT
// A hardware queue whose commands complete when the test says so.
#pragma once

#include "xqueue/hw_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace test {

using xpreempt::Result;
using xpreempt::xqueue::Deactivated;
using xpreempt::xqueue::DeactivateMethod;
using xpreempt::xqueue::Launch;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::LevelChoice;
using xpreempt::xqueue::Marker;
using xpreempt::xqueue::Ticket;

// Outlives the FakeHwQueue, which an XQueue owns.
class FakeHardware {
public:
    // A stopped queue completes nothing; what is launched into it waits.
    void complete_all() { complete(UINT64_MAX); }
    void complete(std::uint64_t count) {
        const std::lock_guard lock(mutex_);
        allowed_ = count;
        changed_.notify_all();
    }
    [[nodiscard]] std::uint64_t launched() const {
        const std::lock_guard lock(mutex_);
        return launched_;
    }
    [[nodiscard]] std::vector<std::string> verbs() const {
        const std::lock_guard lock(mutex_);
        return verbs_;
    }
    [[nodiscard]] std::uint64_t launched_while_stopped() const {
        const std::lock_guard lock(mutex_);
        return launched_while_stopped_;
    }

    [[nodiscard]] bool stopped() const {
        const std::lock_guard lock(mutex_);
        return stopped_;
    }

    [[nodiscard]] std::thread::id turned_by() const {
        const std::lock_guard lock(mutex_);
        return turned_by_;
    }

    // Each launch, in order, repeated ones included.
    [[nodiscard]] std::vector<Launch> launches() const {
        const std::lock_guard lock(mutex_);
        return launches_;
    }

    LevelChoice best{Level::interrupt, DeactivateMethod::hardware, "told by the test"};
    std::atomic<std::uint64_t> now_ns{0};
    std::atomic<int> stop_errno = 0;                    // answer of the next stops
    std::atomic<std::chrono::milliseconds> turn_time{}; // that each of them takes
    int mark_errno = 0;
    std::atomic<std::uint64_t> polls{0}; // of markers
    std::function<void()> in_poll{};     // called in each
    std::function<void()> in_wait{};     // called before a thread waits for a marker
    xpreempt::xqueue::DeviceLoad load;
    Deactivated deactivated{};             // answer of deactivate()
    std::function<void()> in_deactivate{}; // called there

private:
    friend class FakeHwQueue;
    friend class FakeMarker;

    // Markers behind what was taken back pass at once, as empty packets do.
    void take_back(Ticket from) {
        while (!queue_.empty() && queue_.back() >= from)
            queue_.pop_back();
        cuts_.push_back(queue_.size());
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t launched_ = 0, allowed_ = 0, launched_while_stopped_ = 0;
    std::vector<Launch> launches_;
    std::vector<Ticket> queue_;     // since the beginning, without what was taken back
    std::vector<std::size_t> cuts_; // lengths that the queue was cut to
    bool stopped_ = false;
    std::thread::id turned_by_; // stopped or started last
    std::vector<std::string> verbs_;
};

class FakeMarker final : public Marker {
public:
    explicit FakeMarker(FakeHardware& hardware)
        : hardware_(hardware), behind_(hardware.queue_.size()), cuts_(hardware.cuts_.size()) {}
    bool passed() override {
        ++hardware_.polls;
        if (hardware_.in_poll)
            hardware_.in_poll();
        const std::lock_guard lock(hardware_.mutex_);
        return is_passed();
    }
    Result<void> wait() override {
        if (hardware_.in_wait)
            hardware_.in_wait();
        std::unique_lock lock(hardware_.mutex_);
        hardware_.changed_.wait(lock, [this] { return is_passed(); });
        return {};
    }

private:
    bool is_passed() const {
        if (hardware_.stopped_)
            return false;
        for (std::size_t cut = cuts_; cut < hardware_.cuts_.size(); ++cut)
            if (hardware_.cuts_[cut] < behind_)
                return true;
        return hardware_.allowed_ >= behind_;
    }

    FakeHardware& hardware_;
    std::size_t behind_;
    std::size_t cuts_; // made before this marker
};

class FakeHwQueue : public xpreempt::xqueue::HwQueue {
public:
    explicit FakeHwQueue(FakeHardware& hardware) : hardware_(hardware) {}

    std::uint64_t now_ns() override { return hardware_.now_ns; }
    xpreempt::xqueue::DeviceLoad* load() override { return &hardware_.load; }
    LevelChoice best_level(Level highest) override {
        LevelChoice choice = hardware_.best;
        choice.level = std::min(choice.level, highest);
        return choice;
    }
    Result<void> launch(const Launch& launch) override {
        const int answer = launch.command.launch(&hardware_, launch.command.argument);
        if (answer != 0)
            return xpreempt::fail(-answer, xpreempt::Op::launch);
        const std::lock_guard lock(hardware_.mutex_);
        ++hardware_.launched_;
        hardware_.launches_.push_back(launch);
        hardware_.queue_.push_back(launch.ticket);
        hardware_.launched_while_stopped_ += hardware_.stopped_ ? 1U : 0U;
        return {};
    }
    Result<std::shared_ptr<Marker>> mark() override {
        if (hardware_.mark_errno != 0)
            return xpreempt::fail(hardware_.mark_errno, xpreempt::Op::call_hip);
        const std::lock_guard lock(hardware_.mutex_);
        return std::make_shared<FakeMarker>(hardware_);
    }
    Result<Deactivated> deactivate() override {
        const Deactivated answer = hardware_.deactivated;
        if (const auto turned = turn(answer.method == DeactivateMethod::hardware, "deactivate",
                                     hardware_.stop_errno);
            !turned)
            return tl::make_unexpected(turned.error());
        if (answer.relaunch_from) {
            const std::lock_guard lock(hardware_.mutex_);
            hardware_.take_back(*answer.relaunch_from);
            hardware_.changed_.notify_all();
        }
        if (hardware_.in_deactivate)
            hardware_.in_deactivate();
        return answer;
    }
    Result<void> interrupt() override { return turn(true, "interrupt", hardware_.stop_errno); }
    void start() override { (void)turn(false, "start"); }

private:
    Result<void> turn(bool stopped, const char* verb, int refused = 0) {
        std::this_thread::sleep_for(hardware_.turn_time.load());
        const std::lock_guard lock(hardware_.mutex_);
        hardware_.verbs_.emplace_back(verb);
        hardware_.turned_by_ = std::this_thread::get_id();
        if (refused != 0)
            return xpreempt::fail(refused, xpreempt::Op::preempt_queue);
        hardware_.stopped_ = stopped;
        hardware_.changed_.notify_all();
        return {};
    }

    FakeHardware& hardware_;
};

} // namespace test
