// SPDX-License-Identifier: MIT
// Finds kfd-preempt-verify beside this command or in libexec, and becomes it.
#include "verbs/verify.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace cli {

Report run_verify(char** argv) {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error)
        return report_of(
            {Exit::cannot_execute, error.value(),
             fmt::format("/proc/self/exe cannot be read: {}: is /proc mounted?", error.message())});
    const std::filesystem::path directory = self.parent_path();
    // It freezes a cgroup by this command.
    ::setenv("KFD_PREEMPT_COMMAND", self.c_str(), 1);
    for (const auto& program :
         {directory / "kfd-preempt-verify",
          directory.parent_path() / "libexec/kfd-preempt/kfd-preempt-verify"}) {
        ::execv(program.c_str(), argv);
        if (errno != ENOENT)
            return report_of(
                {Exit::cannot_execute, errno,
                 fmt::format("cannot execute {}: {}", program.string(), std::strerror(errno))});
    }
    return report_of(
        {Exit::no_command, ENOENT,
         fmt::format("there is no kfd-preempt-verify beside {} or in libexec: install the "
                     "package kfd-preempt completely",
                     self.string())});
}

} // namespace cli
