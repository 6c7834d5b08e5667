// SPDX-License-Identifier: MIT
// Numbers as people write them: on a command line, in a value of a rules file.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace xpreemptd {

// Returns the whole text as a decimal number, without blanks, "+" and leading zeros; nullopt if it
// is anything else, not finite, or does not fit. 010 would be 8 to C and to CLI11, and 10 to
// others.
template <typename Number> std::optional<Number> decimal(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
    if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]))
        return std::nullopt;
    Number number{};
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    if (parsed.ec != std::errc{} || parsed.ptr != end)
        return std::nullopt;
    if constexpr (std::is_floating_point_v<Number>)
        if (!std::isfinite(number)) // "nan" and "inf" are numbers to from_chars()
            return std::nullopt;
    return number;
}

} // namespace xpreemptd
