// SPDX-License-Identifier: MIT
// Where the kernel's and the system's trees are; tests put fixture trees in their place.
#include "kfd/roots.hpp"

#include <cstdlib>

namespace xpreempt::kfd {

Roots roots_from_environment() {
    Roots roots;
    const auto replace = [](std::filesystem::path& path, const char* variable) {
        const char* value = ::secure_getenv(variable);
        if (value != nullptr && *value != '\0')
            path = value;
    };
    replace(roots.device, "KFD_PREEMPT_DEV");
    replace(roots.sysfs, "KFD_PREEMPT_SYSFS_ROOT");
    replace(roots.proc, "KFD_PREEMPT_PROC_ROOT");
    replace(roots.system, "KFD_PREEMPT_SYSTEM_ROOT");
    return roots;
}

} // namespace xpreempt::kfd
