// SPDX-License-Identifier: MIT
// What a report says of the machine that it comes from.
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
    int render_minor;
};

// The date (UTC); versions of this program, the kernel, its amdgpu ("of the kernel" unless it has
// one) and ROCm (null where no /opt/rocm says it: AMD's packages write .info/version); of each GPU
// its name and partition, null where nothing says them.
Json machine(const xpreempt::kfd::Roots& roots, const std::vector<GpuPlace>& gpus,
             std::chrono::system_clock::time_point now);

// Of the GPU whose directory that is: as its board says it, else as libdrm's table does.
std::string name_of_gpu(const xpreempt::kfd::Roots& roots, const std::filesystem::path& device);

} // namespace verify
