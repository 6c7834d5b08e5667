// SPDX-License-Identifier: MIT
// Parameters of the policies in TOML: a table for each policy that has some.
#pragma once

#include "toml/policy_parameters.hpp"
#include "toml/toml_table.hpp"

namespace xpreemptd {

// Reads [policy.NAME] of each policy, and of parameters.plugin if it is there. Other keys are the
// caller's, and finish() too.
void read_policy_parameters(TomlTable& policy, PolicyParameters& parameters);

} // namespace xpreemptd
