// SPDX-License-Identifier: MIT
// The driver of the simulated GPUs, as the daemon calls it.
#pragma once

#include "gpu.hpp"
#include "random.hpp"
#include "xpreemptd/driver/provider.hpp"

#include <functional>
#include <span>
#include <vector>

namespace sim {

// Each job is a process with a queue on each of its nodes. The daemon learns of the first work of
// an idle job by the trap on its doorbell, or by a poll, after a random time; work that comes while
// the job isn't armed makes no event. The daemon is one thread: while it waits for a call,
// `run_call` runs everything else.
class ModelProvider final : public xpreemptd::Provider {
public:
    ModelProvider(const Scenario& scenario, std::span<const JobSpec> jobs, Gpu& gpu,
                  const Time& now, std::function<void()> run_call);

    [[nodiscard]] static pid_t pid_of(std::size_t job) { return static_cast<pid_t>(job) + 2; }
    [[nodiscard]] static std::size_t job_of(pid_t pid) { return static_cast<std::size_t>(pid) - 2; }
    // The daemon takes time 0 for a time that was never set.
    [[nodiscard]] static xpreemptd::Time daemon_time(Time time) {
        return xpreemptd::Time(std::chrono::hours{1} + std::chrono::nanoseconds{time});
    }
    [[nodiscard]] static Time time_of(xpreemptd::Time time) {
        return (time - daemon_time(0)).count();
    }

    void on_work(std::size_t job);                    // it was idle
    [[nodiscard]] Time next() const { return next_; } // when take_events() has some

    // A call of the driver, with the indexes of the jobs.
    struct Call {
        Time at = 0;
        std::vector<Gpu::Change> changes;
    };
    void keep_calls() { keeps_calls_ = true; }
    [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
    [[nodiscard]] std::uint64_t count() const { return count_; } // of calls
    [[nodiscard]] std::uint64_t stops_of(std::size_t job) const { return processes_[job].stops; }
    void reset_stops();

    xpreemptd::Result<std::vector<pid_t>> processes() override;
    xpreemptd::Result<std::vector<std::uint32_t>> queue_ids(pid_t pid) override;
    xpreemptd::Result<xpreemptd::QueueFound> describe(pid_t pid, std::uint32_t queue_id) override;
    xpreemptd::Result<xpreemptd::QueueReading> read(pid_t pid, std::uint32_t queue_id) override;
    bool is_locked(pid_t /*pid*/) override { return false; }
    [[nodiscard]] int event_fd() const override { return 0; }
    xpreemptd::Result<std::uint32_t> watch(pid_t pid, std::uint64_t cookie, bool gives) override;
    void unwatch(std::uint32_t /*watch_id*/) override {}
    xpreemptd::Result<void> arm(std::span<xpreemptd::Arming> entries) override;
    xpreemptd::Result<std::size_t> take_events(std::span<xpreemptd::Event> events) override;
    xpreemptd::Result<void> change(std::span<xpreemptd::Switch> switches) override;

    // Memory stays where it is.
    [[nodiscard]] bool can_move_memory() const override { return false; }
    xpreemptd::Result<xpreemptd::VramUse> vram_of(pid_t pid, std::uint32_t queue_id) override;
    xpreemptd::Result<std::uint64_t> free_vram(std::uint32_t gpu_id) override;
    [[nodiscard]] bool can_give_memory() const override { return false; }
    void answer(std::uint32_t /*watch_id*/, bool /*last*/) override {}
    void begin(xpreemptd::Move /*move*/) override {}
    [[nodiscard]] int moved_fd() const override { return -1; }
    std::vector<xpreemptd::Move> take_moved() override { return {}; }

private:
    struct Process {
        std::uint64_t cookie = 0;
        bool armed = false; // its next ring is reported
        Time rings_at = never, rang = 0;
        std::uint64_t stops = 0;
    };

    std::span<const JobSpec> jobs_;
    Gpu& gpu_;
    const Time& now_;
    std::function<void()> run_call_;
    Random random_;
    double median_, sigma_; // of the time after which a ring is reported
    bool measures_;         // what a switch costs
    std::vector<Process> processes_;
    Time next_ = never;
    std::uint64_t count_ = 0;
    bool keeps_calls_ = false;
    std::vector<Call> calls_;
};

} // namespace sim
