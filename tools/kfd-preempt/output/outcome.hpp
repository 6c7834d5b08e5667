// SPDX-License-Identifier: MIT
// A value, or the failure that the verb reports.
#pragma once

#include "output/report.hpp"

#include <tl/expected.hpp>

namespace cli {

template <typename T> using Outcome = tl::expected<T, Failure>;

} // namespace cli
