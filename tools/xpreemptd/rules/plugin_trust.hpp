// SPDX-License-Identifier: MIT
// Loads plug-ins that only root, or the daemon's own user, could have written.
#pragma once

#include "sched/plugin.hpp"

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <tl/expected.hpp>

namespace xpreemptd {

namespace sched = xpreempt::sched;

// The error names the first of the file and the directories above it that isn't owned by root or
// `user`, or that others may write to, and the command that mends it. In a directory with the
// sticky bit, as /tmp, others can't replace what isn't theirs, but their links may lead elsewhere
// later, so each link must be owned by root or `user`, too.
[[nodiscard]] tl::expected<void, std::string> check_trust(const std::filesystem::path& file,
                                                          uid_t user);

// As sched::load_plugin(), if the daemon's user may trust the file.
[[nodiscard]] tl::expected<sched::Plugin, std::string>
load_trusted_plugin(const std::filesystem::path& file);

} // namespace xpreemptd
