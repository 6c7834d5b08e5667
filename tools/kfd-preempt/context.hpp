// SPDX-License-Identifier: MIT
// What a verb may touch: the trees it reads and the way to the driver.
#pragma once

#include "kfd/device.hpp"
#include "kfd/roots.hpp"

#include <functional>
#include <string>

namespace cli {

struct Context {
    kfd::Roots roots;
    std::string kernel_release; // uname -r
    std::string kernel_series;  // those there are patches for: "6.12 7.2"
    std::function<kfd::Result<kfd::Device>()> open_device;
};

} // namespace cli
