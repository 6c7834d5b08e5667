// SPDX-License-Identifier: MIT
// The constants of the GPU model: key, default, meaning, source.
#pragma once

#include "scenario.hpp"

#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace sim {

struct Constant {
    std::string_view key;
    std::variant<double GpuModel::*, std::uint32_t GpuModel::*, Time GpuModel::*, bool GpuModel::*>
        field;
    double least, most; // a Time: in seconds
    std::string_view meaning, source;
};

[[nodiscard]] std::span<const Constant> constants();
[[nodiscard]] std::string value_of(const Constant& constant, const GpuModel& model);

} // namespace sim
