// SPDX-License-Identifier: MIT
// Policies of a scheduler in this process, by the numbers of xpreempt/sched.h.
#pragma once

#include "sched/policies/linger.hpp"
#include "sched/scheduler.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace xpreempt::capi {

constexpr std::uint32_t least_slice_us = 100, most_slice_us = 10'000'000;
constexpr std::uint32_t most_k = 1000;
constexpr std::uint32_t most_linger_us = 10'000'000;

struct PolicySettings {
    std::chrono::nanoseconds slice{0}; // 0: the policy's own
    std::uint32_t k = 1;               // of K-EDF
    std::chrono::nanoseconds linger = sched::Linger::usual;
};

// Null for XP_POLICY_DAEMON, XP_POLICY_PROGRAM and numbers that are none of XP_POLICY_*.
[[nodiscard]] sched::Decide decide_of(std::uint32_t kind, const PolicySettings& settings);

// XP_POLICY_* of a name in XSched's environment; nothing for other names.
[[nodiscard]] std::optional<std::uint32_t> policy_kind_named(std::string_view name);

} // namespace xpreempt::capi
