// SPDX-License-Identifier: MIT
// ROCm's own driver, package amdgpu-dkms: its releases, and what it leaves behind.
#pragma once

#include "kfd/roots.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// The known facts of a version of the driver. All texts are constants.
struct RocmDriver {
    std::string_view version; // of the module
    std::string_view release; // "30.10": the number in AMD's documents
    std::string_view rocm;    // the ROCm that brought it
    std::string_view known;   // how far queue preemption was tried with it
};

// The newest entry for that version; "6.14.14-2212064.el8" is of 6.14.14. None: not known.
const RocmDriver* rocm_driver(std::string_view version);

// The exact release of a package, "30.10.1", by its build; else that of its version; empty:
// unknown.
std::string rocm_release(std::string_view package_version);

// The versions of amdgpu-dkms that DKMS knows.
std::vector<std::string> rocm_packages(const xpreempt::kfd::Roots& roots);

// Entries of DKMS whose source is gone, by their directories. With one of them dkms 3.0 builds no
// module at all.
std::vector<std::filesystem::path> broken_dkms_entries(const xpreempt::kfd::Roots& roots);

} // namespace cli
