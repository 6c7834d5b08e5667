// SPDX-License-Identifier: MIT
// The one control socket of this process.
#pragma once

#include "base/error.hpp"

#include <cstddef>

namespace xpreempt::capi {

class Library;

Result<void> open_control(Library& library, bool read_only, std::size_t max_clients);

// Opens the socket if XPREEMPT_CONTROL=1. Reports errors on stderr, because no call returns them to
// the user.
void open_control_as_environment_says(Library& library);

// For the end of the process: nothing that is under way there is waited for very long.
void abandon_control();

} // namespace xpreempt::capi
