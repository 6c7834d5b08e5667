// SPDX-License-Identifier: MIT
// Checks of numbers on the command line. Those of CLI11 take "nan" as a number of any range, and
// 010 as 8.
#pragma once

#include "xpreemptd/protocol/decimal.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <string>

namespace cli {

using CheckWord = std::function<std::string(const std::string& word)>;

inline CheckWord seconds_between(double least, double most) {
    return [=](const std::string& word) {
        const auto seconds = xpreemptd::decimal<double>(word);
        if (seconds && *seconds >= least && *seconds <= most)
            return std::string();
        return fmt::format("'{}' is not a number of seconds from {} to {}", word, least, most);
    };
}

inline CheckWord number_between(std::uint64_t least, std::uint64_t most) {
    return [=](const std::string& word) {
        const auto number = xpreemptd::decimal<std::uint64_t>(word);
        if (number && *number >= least && *number <= most)
            return std::string();
        return fmt::format("'{}' is not a number from {} to {}", word, least, most);
    };
}

} // namespace cli
