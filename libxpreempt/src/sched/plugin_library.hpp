// SPDX-License-Identifier: MIT
// Loads plug-ins. In no library: the programs that load plug-ins are built with it.
#pragma once

#include "sched/plugin.hpp"

#include <filesystem>
#include <string>
#include <tl/expected.hpp>

namespace xpreempt::sched {

// A new policy of the plug-in in this file. It has a copy of the file, so the file may be written
// again while the policy is in use, and a second call loads what is there then. The library stays
// loaded for as long as a copy of the policy lives. The error names the file, what is wrong with
// it, and what would be right.
[[nodiscard]] tl::expected<Plugin, std::string> load_plugin(const std::filesystem::path& file);

} // namespace xpreempt::sched
