// SPDX-License-Identifier: MIT
// A hardware queue whose commands complete when the test says so.
#pragma once

#include "xqueue/hw_queue.hpp"

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace test {

using xpreempt::Result;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::LevelChoice;
using xpreempt::xqueue::Marker;

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

    Level best = Level::interrupt;
    int stop_errno = 0;  // answer of the next stops
    int start_errno = 0; // and starts
    int mark_errno = 0;

private:
    friend class FakeHwQueue;
    friend class FakeMarker;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t launched_ = 0, allowed_ = 0, launched_while_stopped_ = 0;
    bool stopped_ = false;
    std::vector<std::string> verbs_;
};

class FakeMarker final : public Marker {
public:
    FakeMarker(FakeHardware& hardware, std::uint64_t behind)
        : hardware_(hardware), behind_(behind) {}
    bool passed() override {
        const std::lock_guard lock(hardware_.mutex_);
        return is_passed();
    }
    Result<void> wait() override {
        std::unique_lock lock(hardware_.mutex_);
        hardware_.changed_.wait(lock, [this] { return is_passed(); });
        return {};
    }

private:
    bool is_passed() const { return !hardware_.stopped_ && hardware_.allowed_ >= behind_; }

    FakeHardware& hardware_;
    std::uint64_t behind_;
};

class FakeHwQueue final : public xpreempt::xqueue::HwQueue {
public:
    explicit FakeHwQueue(FakeHardware& hardware) : hardware_(hardware) {}

    LevelChoice best_level() override { return {hardware_.best, "told by the test"}; }
    Result<void> launch(const Command& command) override {
        const int answer = command.launch(&hardware_, command.argument);
        if (answer != 0)
            return xpreempt::fail(-answer, xpreempt::Op::launch);
        const std::lock_guard lock(hardware_.mutex_);
        ++hardware_.launched_;
        hardware_.launched_while_stopped_ += hardware_.stopped_ ? 1U : 0U;
        return {};
    }
    Result<std::shared_ptr<Marker>> mark() override {
        if (hardware_.mark_errno != 0)
            return xpreempt::fail(hardware_.mark_errno, xpreempt::Op::call_hip);
        const std::lock_guard lock(hardware_.mutex_);
        return std::make_shared<FakeMarker>(hardware_, hardware_.launched_);
    }
    Result<void> deactivate() override { return turn(true, "deactivate"); }
    Result<void> reactivate() override { return turn(false, "reactivate"); }
    Result<void> interrupt() override { return turn(true, "interrupt"); }
    Result<void> restore() override { return turn(false, "restore"); }

private:
    Result<void> turn(bool stop, const char* verb) {
        const std::lock_guard lock(hardware_.mutex_);
        hardware_.verbs_.emplace_back(verb);
        if (const int refused = stop ? hardware_.stop_errno : hardware_.start_errno; refused != 0)
            return xpreempt::fail(refused, xpreempt::Op::preempt_queue);
        hardware_.stopped_ = stop;
        hardware_.changed_.notify_all();
        return {};
    }

    FakeHardware& hardware_;
};

} // namespace test
