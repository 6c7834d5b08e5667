// SPDX-License-Identifier: MIT
// Queues in memory whose calls take long or fail, while programs start, work and end.
#pragma once

#include "fake_provider.hpp"

#include <functional>
#include <map>
#include <random>
#include <set>

namespace test {

class Dice {
public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
    bool chance(double probability) {
        return static_cast<double>(below(1'000'000)) < probability * 1e6;
    }
    template <typename Map> auto any_of(Map& map) { // of one that isn't empty
        return std::next(map.begin(), static_cast<std::ptrdiff_t>(below(map.size())));
    }

private:
    std::mt19937_64 engine_;
};

class FaultyProvider final : public xpreemptd::Provider {
public:
    FaultyProvider(FakeProvider& gpu, Dice& dice, std::function<void()> happen)
        : gpu_(gpu), dice_(dice), happen_(std::move(happen)) {}

    static constexpr std::chrono::milliseconds longest{10}; // call
    // Probabilities, in each call, that it fails, takes long, and that programs do something
    // meanwhile.
    double fails = 0, is_slow = 0, is_interrupted = 0;
    // The daemon has handled all events that it took: calls about processes whose end was among
    // them are wrong from now on.
    void end_turn() {
        known_gone_.merge(taken_gone_);
        taken_gone_.clear();
    }
    // Another process has that pid now.
    void note_start(pid_t pid) {
        known_gone_.erase(pid);
        taken_gone_.erase(pid);
    }

    Result<std::vector<pid_t>> processes() override {
        if (disturbed())
            return xpreempt::fail(EMFILE, xpreempt::Op::read_sysfs);
        return gpu_.processes();
    }
    Result<std::vector<std::uint32_t>> queue_ids(pid_t pid) override {
        if (disturbed(pid))
            return xpreempt::fail(EMFILE, xpreempt::Op::read_sysfs);
        return gpu_.queue_ids(pid);
    }
    Result<QueueFound> describe(pid_t pid, std::uint32_t id) override {
        if (disturbed(pid))
            return xpreempt::fail(EMFILE, xpreempt::Op::read_sysfs);
        return gpu_.describe(pid, id);
    }
    Result<QueueReading> read(pid_t pid, std::uint32_t id) override {
        if (disturbed(pid))
            return xpreempt::fail(EBUSY, xpreempt::Op::queue_status);
        return gpu_.read(pid, id);
    }
    bool is_locked(pid_t pid) override { return disturbed(pid) || gpu_.is_locked(pid); }
    [[nodiscard]] int event_fd() const override { return gpu_.event_fd(); }
    Result<std::uint32_t> watch(pid_t pid, std::uint64_t cookie, bool gives) override {
        if (disturbed(pid))
            return xpreempt::fail(ENOMEM, xpreempt::Op::watch);
        if (!gpu_.running.contains(pid))
            return xpreempt::fail(ESRCH, xpreempt::Op::watch);
        pids_[cookie] = pid;
        return gpu_.watch(pid, cookie, gives);
    }
    void unwatch(std::uint32_t watch_id) override { gpu_.unwatch(watch_id); }
    Result<void> arm(std::span<Arming> entries) override {
        if (disturbed())
            return xpreempt::fail(EINTR, xpreempt::Op::watch);
        return gpu_.arm(entries);
    }
    Result<std::size_t> take_events(std::span<Event> to) override {
        if (disturbed())
            return xpreempt::fail(EAGAIN, xpreempt::Op::watch);
        const auto count = gpu_.take_events(to);
        for (const Event& event : to.first(*count))
            if (event.kind == EventKind::exited && !gpu_.running.contains(pids_.at(event.cookie)))
                taken_gone_.insert(pids_.at(event.cookie));
        return count;
    }
    Result<void> change(std::span<Switch> switches) override {
        for (const Switch& each : switches)
            (void)disturbed(each.pid);
        const auto done = gpu_.change(switches);
        (void)disturbed(); // before the answer is read
        return done;
    }

    [[nodiscard]] bool can_move_memory() const override { return gpu_.can_move_memory(); }
    Result<xpreemptd::VramUse> vram_of(pid_t pid, std::uint32_t id) override {
        if (disturbed(pid))
            return xpreempt::fail(EBUSY, xpreempt::Op::queue_status);
        return gpu_.vram_of(pid, id);
    }
    Result<std::uint64_t> free_vram(std::uint32_t gpu_id) override {
        if (disturbed())
            return xpreempt::fail(EMFILE, xpreempt::Op::read_sysfs);
        return gpu_.free_vram(gpu_id);
    }
    [[nodiscard]] bool can_give_memory() const override { return gpu_.can_give_memory(); }
    void answer(std::uint32_t watch_id, bool last) override { gpu_.answer(watch_id, last); }
    void begin(xpreemptd::Move move) override {
        for (const Switch& each : move.switches)
            (void)disturbed(each.pid);
        gpu_.begin(std::move(move));
    }
    [[nodiscard]] int moved_fd() const override { return gpu_.moved_fd(); }
    std::vector<xpreemptd::Move> take_moved() override { return gpu_.take_moved(); }

private:
    // Returns true if the call fails.
    bool disturbed() {
        if (dice_.chance(is_interrupted))
            happen_();
        if (dice_.chance(is_slow))
            gpu_.now +=
                std::chrono::nanoseconds(dice_.below(std::chrono::nanoseconds(longest).count()));
        return dice_.chance(fails);
    }
    bool disturbed(pid_t pid) {
        if (known_gone_.contains(pid) && !gpu_.running.contains(pid))
            ADD_FAILURE() << "a call about pid " << pid << ", whose end was reported";
        return disturbed();
    }

    FakeProvider& gpu_;
    Dice& dice_;
    std::function<void()> happen_;
    std::map<std::uint64_t, pid_t> pids_; // by cookie
    std::set<pid_t> taken_gone_, known_gone_;
};

} // namespace test
