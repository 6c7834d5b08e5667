// SPDX-License-Identifier: MIT
// Attributes of a job, set by rules and users: those that policies read, and about VRAM.
#pragma once

#include "sched/snapshot.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace xpreemptd {

namespace sched = xpreempt::sched;

struct Attributes {
    sched::Band band = sched::Band::normal;
    std::uint32_t weight = sched::default_weight; // 1 to sched::max_weight
    std::optional<std::chrono::microseconds> deadline;
    std::int32_t priority = 0; // sched::min_priority to sched::max_priority
    bool yields = false;       // its memory may leave VRAM for another job's
    // If it yields: idle for so long, it leaves VRAM even if no job needs it. max(): never.
    std::chrono::nanoseconds park_after = std::chrono::nanoseconds::max();
    std::uint64_t vram_limit = UINT64_MAX; // bytes on a GPU; with more it is the first to yield
    std::uint32_t utilization = sched::max_utilization; // share of each of its GPUs, in percent
    // A request that has waited for so long is critical.
    std::optional<std::chrono::microseconds> lax = {};

    bool operator==(const Attributes&) const = default;
};

// Those that a rule, a user or a request sets; the others stay as they are.
struct AttributeChange {
    std::optional<sched::Band> band = {};
    std::optional<std::uint32_t> weight = {};
    std::optional<std::chrono::microseconds> deadline = {};
    std::optional<std::int32_t> priority = {};
    std::optional<bool> yields = {};
    std::optional<std::chrono::nanoseconds> park_after = {};
    std::optional<std::uint64_t> vram_limit = {};
    std::optional<std::uint32_t> utilization = {};
    std::optional<std::chrono::microseconds> lax = {};

    void apply_to(Attributes& attributes) const;
    void apply_to(AttributeChange& earlier) const;  // keeps what only the earlier one sets
    void remove_from(AttributeChange& other) const; // what this one sets
    bool operator==(const AttributeChange&) const = default;
};

// Set for one job by `kfd-preempt run` and `renice`. A choice of root stands for the rule.
struct Choices {
    AttributeChange by_root, by_owner;

    void add(const AttributeChange& change, bool is_root);
    bool operator==(const Choices&) const = default;
};

// Lowers those that an owner may choose to those of `highest`.
void lower_to(Attributes& attributes, const Attributes& highest);

// "realtime", "high", "normal", "idle"; nothing for other names.
[[nodiscard]] std::optional<sched::Band> band_named(std::string_view name);
[[nodiscard]] std::string_view name_of(sched::Band band);

} // namespace xpreemptd
