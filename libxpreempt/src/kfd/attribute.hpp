// SPDX-License-Identifier: MIT
// Reading of small kernel files: sysfs attributes, /proc/PID/status, lists of names.
#pragma once

#include "base/error.hpp"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xpreempt::kfd {

// At most max_bytes of a regular file. Anything else (a fifo, a directory, a device) is EINVAL,
// so that a hostile tree can neither block nor flood the reader.
Result<std::string> read_text(const std::filesystem::path& path, Op op,
                              std::size_t max_bytes = 4096);

std::string_view trim(std::string_view text);

// The whole text, blanks around it aside, as an unsigned decimal number.
template <typename T> std::optional<T> parse_unsigned(std::string_view text) {
    text = trim(text);
    T value{};
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto parsed = std::from_chars(begin, end, value);
    if (text.empty() || text.front() == '-' || parsed.ec != std::errc{} || parsed.ptr != end)
        return std::nullopt;
    return value;
}

template <typename T> Result<T> read_unsigned(const std::filesystem::path& path, Op op) {
    const std::optional<T> value = parse_unsigned<T>(TRY(read_text(path, op)));
    if (!value)
        return fail(EINVAL, op);
    return *value;
}

// Returns the trimmed VALUE of the first line "NAME: VALUE", or nullopt.
std::optional<std::string> field_of(std::string_view text, std::string_view name);

// The number in the line "NAME VALUE" of a node's properties.
std::optional<std::uint64_t> property_of(std::string_view text, std::string_view name);

// Names of the entries of a directory, sorted; empty when it can't be read.
std::vector<std::string> entries_of(const std::filesystem::path& directory);

} // namespace xpreempt::kfd
