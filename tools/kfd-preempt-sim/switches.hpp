// SPDX-License-Identifier: MIT
// The calls of the driver in a recording, beside those that the simulator makes of it.
#pragma once

#include "recording.hpp"

#include <string>
#include <vector>

namespace sim {

// A table of the calls, whether they are the same in the same order, and what the model counts: so
// a recording shows how well the model fits a machine. Needs one policy.
[[nodiscard]] Answer<std::string> compare_switches(const Recording& recording,
                                                   const Scenario& scenario,
                                                   const std::vector<std::string>& policies);

} // namespace sim
