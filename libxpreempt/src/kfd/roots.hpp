// SPDX-License-Identifier: MIT
// Where the kernel's and the system's trees are; tests put fixture trees in their place.
#pragma once

#include <filesystem>

namespace xpreempt::kfd {

struct Roots {
    std::filesystem::path device = "/dev/kfd";
    std::filesystem::path sysfs = "/sys";
    std::filesystem::path proc = "/proc";
    std::filesystem::path system = "/"; // of lib/modules, var/lib/dkms, etc/group

    [[nodiscard]] std::filesystem::path kfd_class() const { return sysfs / "class/kfd/kfd"; }
    [[nodiscard]] std::filesystem::path amdgpu_module() const { return sysfs / "module/amdgpu"; }
};

// KFD_PREEMPT_DEV, KFD_PREEMPT_SYSFS_ROOT, KFD_PREEMPT_PROC_ROOT and KFD_PREEMPT_SYSTEM_ROOT
// replace the defaults, but not in a program that runs with more rights than its caller.
Roots roots_from_environment();

} // namespace xpreempt::kfd
