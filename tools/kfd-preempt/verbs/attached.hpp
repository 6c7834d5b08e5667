// SPDX-License-Identifier: MIT
// suspend --attach: the command lives as long as it shall hold something.
#pragma once

#include "output/report.hpp"

namespace cli {

// At once, when the report holds nothing; else after SIGINT, SIGTERM or SIGHUP, or when what was
// held is gone, which is a failure.
Exit stay_attached(const Report& report);

} // namespace cli
