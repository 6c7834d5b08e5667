// SPDX-License-Identifier: MIT
// The loaded amdgpu module: its state, from sysfs, and whether it has queue preemption.
#pragma once

#include "kfd/device.hpp"
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

// Without a call to the driver.
LoadedModule loaded_module(const Roots& roots);

// QUERY of the driver as a whole. Returns ENOTTY for every driver without preemption, also where
// the driver itself returns EINVAL: ROCm's amdgpu-dkms does so for each ioctl it doesn't know.
Result<kfd_ioctl_preempt_query_args> query_driver(const Device& device, const LoadedModule& module);

} // namespace xpreempt::kfd
