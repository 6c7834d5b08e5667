// SPDX-License-Identifier: MIT
// Checks of numbers on the command line. Those of CLI11 take "nan" as a number of any range, and
// 010 as 8.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <string>

namespace cli {

using CheckWord = std::function<std::string(const std::string& word)>;

template <class Number> bool is_whole_word(const std::string& word, Number& number) {
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, number);
    return error == std::errc() && rest == end;
}

inline CheckWord seconds_between(double least, double most) {
    return [=](const std::string& word) {
        double seconds = 0;
        if (is_whole_word(word, seconds) && std::isfinite(seconds) && seconds >= least &&
            seconds <= most)
            return std::string();
        return fmt::format("'{}' is not a number of seconds from {} to {}", word, least, most);
    };
}

inline CheckWord number_between(std::uint64_t least, std::uint64_t most) {
    return [=](const std::string& word) {
        std::uint64_t number = 0;
        if (is_whole_word(word, number) && (word.size() == 1 || word.front() != '0') &&
            number >= least && number <= most)
            return std::string();
        return fmt::format("'{}' is not a number from {} to {}", word, least, most);
    };
}

} // namespace cli
