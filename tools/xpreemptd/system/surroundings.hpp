// SPDX-License-Identifier: MIT
// Finds what a container or a service manager keeps from the daemon.
#pragma once

#include "kfd/roots.hpp"

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace xpreemptd {

namespace kfd = xpreempt::kfd;

// The error names what is missing without which no job can be stopped, and how to give it to the
// daemon. Otherwise the warnings: what works less well, and the same. Empty on a plain host.
[[nodiscard]] tl::expected<std::vector<std::string>, std::string>
check_surroundings(const kfd::Roots& roots);

} // namespace xpreemptd
