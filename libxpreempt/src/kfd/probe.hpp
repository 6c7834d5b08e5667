// SPDX-License-Identifier: MIT
// Whether the loaded driver has queue preemption.
#pragma once

#include "base/error.hpp"
#include "kfd/device.hpp"
#include "kfd/module.hpp"

namespace xpreempt::kfd {

// QUERY of the driver as a whole. Returns ENOTTY for every driver without preemption, also where
// the driver itself returns EINVAL: ROCm's amdgpu-dkms does so for each ioctl it doesn't know.
Result<kfd_ioctl_preempt_query_args> query_driver(const Device& device, const LoadedModule& module);

} // namespace xpreempt::kfd
