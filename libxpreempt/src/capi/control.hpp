// SPDX-License-Identifier: MIT
// The one control socket of this process.
#pragma once

#include "base/error.hpp"

#include <cstddef>

namespace xpreempt::capi {

class Library;

Result<void> open_control(Library& library, bool read_only, std::size_t max_clients);
Result<void> close_control();

// XPREEMPT_CONTROL=1 opens it. What is wrong is said on stderr: the user asked, and no call
// answers.
void open_control_as_environment_says(Library& library);

// For the end of the process: nothing that is under way there is waited for very long.
void abandon_control();

} // namespace xpreempt::capi
