// SPDX-License-Identifier: MIT
// Kinds of the attributes in attributes.def: how users, rules and policies have a value.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace xpreempt::attribute {

using us = std::chrono::microseconds;

constexpr std::uint32_t default_weight = 100, max_weight = 10000; // as cgroup v2's
constexpr std::int32_t min_priority = -255, max_priority = 255;
constexpr std::uint32_t max_utilization = 100;
constexpr us longest_time = std::chrono::hours{1};
constexpr std::nullopt_t none = std::nullopt; // of a time

// Value: what a user gives. Stored: of a job, where a time may be missing. Seen: as policies read
// it.
template <typename Number> struct Plain {
    using Value = Number;
    using Stored = Number;
    using Seen = Number;
    static constexpr Seen seen(Stored value) { return value; }
};
struct Count : Plain<std::uint32_t> {};
struct Signed : Plain<std::int32_t> {};
struct Time {
    using Value = us;
    using Stored = std::optional<us>;
    using Seen = std::chrono::nanoseconds; // max(): none
    static constexpr Seen seen(Stored time) { return time ? Seen(*time) : Seen::max(); }
};

} // namespace xpreempt::attribute
