// SPDX-License-Identifier: MIT
// Parts of the driver that are installed, and requirements of the machine.
#pragma once

#include "output/context.hpp"

#include <optional>
#include <string>

namespace cli {

struct InstalledModule {
    std::filesystem::path path;                 // empty: none below updates/
    std::optional<std::string> preempt_version; // MODULE_INFO kfd_preempt; none: another module
    bool readable = true; // false: modinfo is missing or couldn't read the file
};

// The amdgpu that depmod prefers over the kernel's own: updates/, where DKMS puts it.
InstalledModule installed_module(const kfd::Roots& roots, const std::string& kernel_release);

// ROCm's own driver, package amdgpu-dkms, is known to DKMS.
bool amdgpu_dkms_installed(const kfd::Roots& roots);

// The newest version of our driver whose source DKMS could build; empty if there is none.
std::string driver_source(const kfd::Roots& roots);

// The commands of this distribution, by /etc/os-release and the commands that are there.
struct Distribution {
    std::string install;   // "dnf install"; that of PackageKit where no other is known
    std::string remove;    // "dnf remove"
    std::string driver;    // the package of our driver, which builds ROCm's too
    std::string kernel;    // the packages of one with a patch series; empty: unknown
    std::string initramfs; // the command that makes the one of a kernel again; empty: unknown
};
Distribution distribution(const kfd::Roots& roots, const std::string& kernel_release);

// nullopt: not an EFI machine, or unknown.
std::optional<bool> secure_boot(const kfd::Roots& roots);

// The group that may read and write /dev/kfd by its mode; none when only root may.
std::optional<std::string> group_with_access(const kfd::Roots& roots);

} // namespace cli
