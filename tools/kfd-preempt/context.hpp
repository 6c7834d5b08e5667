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
    std::function<kfd::Result<kfd::Device>()> open_device;
};

} // namespace cli
