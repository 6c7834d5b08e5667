// SPDX-License-Identifier: MIT
// How many commands may be in flight, so that those of a suspended queue end within a budget.
#pragma once

#include "xqueue/prompt_wait.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace xpreempt::xqueue {

struct LaunchConfig {
    std::uint32_t threshold = 16;        // commands that may be in flight
    std::uint32_t batch = 8;             // commands between two markers; at most threshold
    std::uint32_t capacity = 65536;      // commands that may wait; then submit blocks
    std::uint64_t latency_budget_ns = 0; // 0: threshold and batch as given; else threshold at most
    bool deferred = false; // the thread that submits launches only while nothing is in flight
};

// Measures how long a command takes, and allows as many in flight as the budget has room for. If it
// has no room for two, the second is launched just in time: shortly before the first is expected to
// end. Where that leaves the hardware idle too often, two or more are in flight all the time. Not
// thread-safe; knows no clock.
class Pace {
public:
    explicit Pace(const LaunchConfig& config) : config_(config) {}

    // Keeps the measured command time, which doesn't depend on the configuration.
    void configure(const LaunchConfig& config) { config_ = config; }

    [[nodiscard]] bool adapts() const { return config_.latency_budget_ns != 0; }
    [[nodiscard]] const LaunchConfig& config() const { return config_; }
    [[nodiscard]] std::uint32_t threshold() const;
    [[nodiscard]] std::uint32_t batch() const;

    // The median of the last measurements. 0: not known yet.
    [[nodiscard]] std::uint64_t command_ns() const { return command_ns_; }

    // How many more may be launched at once.
    [[nodiscard]] std::uint32_t room(std::uint32_t in_flight) const;
    // Time until the next launch is due, which is later than now only just in time.
    [[nodiscard]] std::uint64_t launch_delay_ns(std::uint32_t in_flight,
                                                std::uint64_t now_ns) const;

    // Time for which a thread that launches may sleep, 0: not. With room it sleeps until the next
    // launch is due, else until the oldest have ended, or if that isn't to be measured until it
    // launches again. It is awake `margin` earlier, unless enough is in flight behind the oldest.
    [[nodiscard]] std::uint64_t sleep_ns(std::uint32_t in_flight, std::uint32_t oldest,
                                         bool measures, std::uint64_t margin_ns,
                                         std::uint64_t now_ns) const;
    // A launch that much before it is due costs a suspend less than it costs to poll until then.
    [[nodiscard]] std::uint64_t accepted_early_ns() const { return command_ns_ / 8; }

    // Time until the end of the next `commands` of those in flight: at the soonest if each takes as
    // long as the shortest measured, at the latest if each takes the median and begins now.
    [[nodiscard]] Expected expect(std::uint64_t commands, std::uint64_t now_ns) const;

    // Return true if as many commands as may be in flight, or one command, end within the budget.
    // An eighth of a command more is accepted, as the measured time varies. False while the time is
    // not known.
    [[nodiscard]] bool keeps_budget() const { return fits(threshold()); }
    [[nodiscard]] bool command_keeps_budget() const { return fits(1); }

    // So many commands have completed since the last call, the hardware being busy with them all
    // the time, and it was noticed at once.
    void completed(std::uint64_t now_ns, std::uint32_t count);
    // The same, but they may have completed long ago: so their time is known only if it is shorter
    // than was measured before.
    void completed_unseen(std::uint64_t now_ns, std::uint32_t count);
    // A command was launched while nothing was in flight; alone: nor of others on the device. If it
    // completes as the only one, its time is measured from then.
    void started(std::uint64_t now_ns, bool alone) {
        seen_ns_ = now_ns;
        last_ns_ = alone ? now_ns : 0;
        since_start_ = true;
        unseen_ = 0;
    }
    // The next completion measures nothing: there was something else between.
    void gap() { last_ns_ = 0; }
    // The measured times are wrong: a sleep that relied on them ended with the hardware dry.
    void forget() {
        sampled_ = 0;
        command_ns_ = shortest_ns_ = last_ns_ = 0;
    }

    // More was launched after a wait for room, and the hardware had run dry, or had not.
    void refilled(bool was_dry);

private:
    static constexpr std::size_t num_samples = 8;

    [[nodiscard]] bool fits(std::uint64_t commands) const;
    [[nodiscard]] bool just_in_time() const;
    [[nodiscard]] std::uint64_t lead_ns() const;
    void add_sample(std::uint64_t sample_ns);

    LaunchConfig config_;
    std::uint64_t command_ns_ = 0;
    std::uint64_t shortest_ns_ = 0; // of the last measurements
    std::uint64_t last_ns_ = 0;     // of the last completion, 0 behind a gap
    std::uint64_t seen_ns_ = 0; // of the last completion, or of the launch that ended an idle time
    bool since_start_ = false;  // last_ns_ is of that launch
    std::uint32_t unseen_ = 0;  // completed since last_ns_, at unknown times
    std::array<std::uint64_t, num_samples> samples_{};
    std::size_t sampled_ = 0;
    std::uint32_t at_least_ = 1; // in flight, or the hardware runs dry; 1: just in time
    std::uint32_t refills_ = 0;  // since at_least_ was last considered
    std::uint32_t dry_refills_ = 0;
    std::uint32_t calm_ = 0;     // times in a row that there were few dry ones
    std::uint32_t patience_ = 1; // such times until at_least_ is lowered
    bool lowered_ = false;       // by its last change
};

} // namespace xpreempt::xqueue
