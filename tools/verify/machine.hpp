// SPDX-License-Identifier: MIT
// Describes the machine that a report comes from.
#pragma once

#include "kfd/roots.hpp"
#include "stage.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace verify {

struct GpuPlace {
    std::uint32_t gpu_id;
    std::uint32_t render_minor;
};

// The date (UTC); versions of this program, the kernel, its amdgpu ("of the kernel" for one
// without) and ROCm (null where no /opt/rocm says it: AMD's packages write .info/version); of each
// GPU its name and partition, null where nothing says them.
Json machine(const xpreempt::kfd::Roots& roots, const std::vector<GpuPlace>& gpus,
             std::chrono::system_clock::time_point now);

// The name of the GPU with that directory: as its board says it, else as libdrm's table does.
std::string name_of_gpu(const xpreempt::kfd::Roots& roots, const std::filesystem::path& device);

} // namespace verify
