// SPDX-License-Identifier: MIT
// Threads beside the loop, for calls that may block.
#pragma once

#include "base/error.hpp"

#include <functional>

namespace xpreemptd {

// Calls it in a thread without the loop's priority and without signals, which the main thread gets.
// The objects that it uses must live as long as it runs.
[[nodiscard]] xpreempt::Result<void> run_in_background(std::function<void()> call);

} // namespace xpreemptd
