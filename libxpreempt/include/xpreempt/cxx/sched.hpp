// SPDX-License-Identifier: MIT
// xpreempt/sched.h in C++: the scheduler of this process.
#pragma once

#include <xpreempt/cxx/owned.hpp>
#include <xpreempt/sched.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace xpreempt::inline v0_tl {

// The running scheduler, stopped at the end of its scope. A process has one at most.
class Scheduler {
public:
    // xp_sched_start(). EALREADY if a scheduler runs, which then is not this object's to stop.
    [[nodiscard]] static Expected<Scheduler>
    start(std::uint32_t policy = XP_POLICY_HIGHEST_PRIORITY_FIRST) {
        return started(xp_sched_start(policy));
    }

    // xp_sched_start_with(). A parameter that is 0 is the policy's own; sz is set here.
    [[nodiscard]] static Expected<Scheduler> start(std::uint32_t policy,
                                                   xp_sched_parameters parameters) {
        parameters.sz = sizeof parameters;
        return started(xp_sched_start_with(policy, &parameters));
    }

    // xp_sched_start_policy(). The callable receives the sources, the time (CLOCK_MONOTONIC) and a
    // byte for each source, to be set to 1 for those that are not to run. It returns when to be
    // called again if nothing happens: a time, or std::nullopt. The scheduler keeps it.
    template <typename Policy>
        requires std::is_invocable_r_v<std::optional<std::chrono::nanoseconds>,
                                       std::decay_t<Policy>&, std::span<const xp_sched_source>,
                                       std::chrono::nanoseconds, std::span<std::uint8_t>>
    [[nodiscard]] static Expected<Scheduler> start_policy(Policy&& policy) {
        using Stored = std::decay_t<Policy>;
        auto kept = std::make_shared<Stored>(std::forward<Policy>(policy));
        const auto call = [](const xp_sched_source* sources, std::size_t count,
                             std::uint64_t now_ns, std::uint8_t* suspend,
                             void* argument) -> std::uint64_t {
            const std::optional<std::chrono::nanoseconds> next = (*static_cast<Stored*>(argument))(
                std::span(sources, count), std::chrono::nanoseconds(now_ns),
                std::span(suspend, count));
            return next ? static_cast<std::uint64_t>(next->count()) : UINT64_MAX;
        };
        return started(xp_sched_start_policy(call, kept.get()), kept);
    }

    // xp_sched_stop(), as the destructor does, with its error.
    Expected<void> stop() { return running_.end(); }

    // xp_sched_query(): the scheduler of this process, even if C code started it.
    [[nodiscard]] static Expected<xp_sched_state> query() {
        return detail::value_of<xp_sched_state>(xp_sched_query);
    }

private:
    struct Running {
        std::shared_ptr<void> policy; // of the program, until the scheduler has stopped
    };

    explicit Scheduler(Running running) : running_(std::move(running)) {}
    static Expected<Scheduler> started(int answer, std::shared_ptr<void> policy = nullptr) {
        return detail::as_expected(answer).map(
            [&] { return Scheduler(Running{std::move(policy)}); });
    }
    static int stop_running(const Running&) noexcept { return xp_sched_stop(); }
    detail::Owned<Running, stop_running> running_;
};

} // namespace xpreempt::inline v0_tl
