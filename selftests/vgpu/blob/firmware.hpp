// SPDX-License-Identifier: MIT
// Firmware images with valid headers and no code: the model does what the firmware would do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vgpu::blob {

struct FirmwareFile {
    std::string name; // relative to /lib/firmware
    std::vector<std::byte> bytes;
};

std::vector<FirmwareFile> firmware_files();

} // namespace vgpu::blob
