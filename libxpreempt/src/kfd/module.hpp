// SPDX-License-Identifier: MIT
// Reads the state of the loaded amdgpu module from sysfs, without a call to the driver.
#pragma once

#include "kfd/roots.hpp"

#include <optional>
#include <string>

namespace xpreempt::kfd {

struct LoadedModule {
    bool loaded = false;
    std::string preempt_abi;   // parameter kfd_preempt_abi, empty on a driver without preemption
    bool switched_off = false; // loaded with amdgpu.kfd_preempt=0
    std::optional<unsigned> operator_mode;
    std::optional<int> sched_policy; // 2: without firmware scheduling
    bool cwsr_off = false;           // loaded with amdgpu.cwsr_enable=0
    bool rocm = false;               // of ROCm's package amdgpu-dkms: it comes with amdkcl
    std::string version;             // of the module; ROCm's has one
};

LoadedModule loaded_module(const Roots& roots);

} // namespace xpreempt::kfd
