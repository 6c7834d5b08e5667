// SPDX-License-Identifier: MIT
// Parameters of a plug-in in TOML: the keys that its own table names.
#pragma once

#include "sched/plugin.hpp"
#include "toml/toml_table.hpp"

namespace xpreemptd {

// Reads [policy.NAME] of the plug-in.
void read_plugin(TomlTable table, sched::Plugin& plugin);

} // namespace xpreemptd
