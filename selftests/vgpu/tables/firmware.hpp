// SPDX-License-Identifier: MIT
// Firmware images with valid headers and no code: the model does what the firmware would do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vgpu::tables {

struct FirmwareFile {
    std::string name; // relative to /lib/firmware
    std::vector<std::byte> bytes;
};

// The driver and ROCr turn features on by the version of the MEC's, and so does the model, which
// learns it when the driver loads it. A MI308X with ROCm 7 has this one.
inline constexpr std::uint32_t usual_mec_version = 185;

std::vector<FirmwareFile> firmware_files(std::uint32_t mec_version = usual_mec_version);

} // namespace vgpu::tables
