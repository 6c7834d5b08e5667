// SPDX-License-Identifier: MIT
// Finding of doctor about xpreemptd.
#pragma once

#include "output/context.hpp"
#include "verbs/doctor/finding.hpp"

namespace cli {

// Whether it runs and schedules. A machine without it is all right.
Finding check_daemon(const Context& context);

} // namespace cli
