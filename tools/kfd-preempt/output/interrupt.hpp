// SPDX-License-Identifier: MIT
// The signals by which a person ends a verb that runs for a while.
#pragma once

#include <chrono>

namespace cli {

// Waits for SIGINT, SIGTERM or SIGHUP, which stay blocked from the first call on. Returns false
// when none came in time.
bool told_to_end(std::chrono::nanoseconds patience);

} // namespace cli
