// SPDX-License-Identifier: MIT
// Rules that every policy keeps, tried out with random jobs in virtual time.
#pragma once

#include "sched/policy.hpp"

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace sim {

namespace sched = xpreempt::sched;

struct CheckOptions {
    std::uint64_t events = 20'000; // decisions, at least
    std::uint32_t seed = 1;        // the first one; each run has the next
};

struct Checks {
    std::string text; // TAP
    bool passed = false;
};

[[nodiscard]] Checks check_policy(const sched::Policy& policy, const CheckOptions& options);

// Checks the plug-in in this file. The error says why it can't be loaded.
[[nodiscard]] tl::expected<Checks, std::string> check_command(const std::string& plugin,
                                                              const CheckOptions& options);

} // namespace sim
