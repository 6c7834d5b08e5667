// SPDX-License-Identifier: MIT
// Everything that a verb may use: the trees it reads and the way to the driver.
#pragma once

#include "base/error.hpp"
#include "kfd/device.hpp"
#include "kfd/roots.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace cli {

// The modules that the command shares with libxpreempt.
namespace kfd = xpreempt::kfd;
using xpreempt::Error;
using xpreempt::fail;
using xpreempt::Op;
using xpreempt::Result;

struct Context {
    kfd::Roots roots;
    std::filesystem::path daemon_socket; // of xpreemptd
    std::string kernel_release;          // uname -r
    std::string kernel_series;           // those there are patches for: "6.12 7.2"
    std::function<Result<kfd::Device>()> open_device;
};

} // namespace cli
