// SPDX-License-Identifier: MIT
// Asks the container engines of this machine for the id behind a name.
#pragma once

#include "output/outcome.hpp"

#include <string>

namespace cli {

// Runs `docker`, `podman` and `nerdctl` of PATH, as far as they are there. The failure says what
// each of them answered.
Outcome<std::string> ask_engines(const std::string& name);

} // namespace cli
