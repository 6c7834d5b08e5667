// SPDX-License-Identifier: MIT
// What is loaded and what is installed of the driver, without asking the driver itself.
#pragma once

#include "kfd/roots.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kfd {

struct LoadedModule {
    bool loaded = false;
    std::string preempt_abi;   // parameter kfd_preempt_abi, empty on a driver without preemption
    bool switched_off = false; // loaded with amdgpu.kfd_preempt=0
    std::optional<unsigned> operator_mode;
};

struct InstalledModule {
    std::filesystem::path path;                 // empty: none below updates/
    std::optional<std::string> preempt_version; // MODULE_INFO kfd_preempt; none: another module
    bool readable = true; // false: modinfo is missing or could not read the file
};

LoadedModule loaded_module(const Roots& roots);

// The amdgpu that depmod prefers over the kernel's own: updates/, where DKMS puts it.
InstalledModule installed_module(const Roots& roots, const std::string& kernel_release);

// AMD's own out-of-tree driver is known to DKMS.
bool amdgpu_dkms_installed(const Roots& roots);

// nullopt: not an EFI machine, or it does not tell.
std::optional<bool> secure_boot(const Roots& roots);

// The group that may read and write /dev/kfd by its mode; none when only root may.
std::optional<std::string> group_with_access(const Roots& roots);

} // namespace kfd
