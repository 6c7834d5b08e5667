// SPDX-License-Identifier: MIT
// Carries one request out.
#pragma once

#include "protocol/control.hpp"
#include "protocol/requests.hpp"

#include <string>

namespace xpreemptd {

// Calls `control` and returns the reply.
[[nodiscard]] std::string reply_to(Control& control, const Caller& caller, const Request& request);

} // namespace xpreemptd
