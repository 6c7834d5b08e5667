// SPDX-License-Identifier: MIT
// Keeps from toml++ 3.3 the texts that it cannot parse safely:
// - It makes a table for each dot of a key, one in the other, and destroys them by recursion; so
//   lines are bounded.
// - It asks whether a character is a blank in a way that is undefined for U+00A1 to U+0499 and
//   others. It asks so outside of strings and comments, where only ASCII is valid, and after a
//   backslash in a string in three quotes; so these strings are rejected.
#include "toml_input.hpp"

#include "spelling.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace xpreemptd {

namespace {

struct Fault {
    std::size_t offset;
    std::string_view text;
};

// Behind the string that begins at `begin`, or the end of the line.
std::size_t end_of_string(std::string_view line, std::size_t begin) {
    const char quote = line[begin];
    std::size_t at = begin + 1;
    while (at < line.size() && line[at] != quote)
        at += quote == '"' && line[at] == '\\' ? 2 : 1;
    return std::min(at + 1, line.size());
}

// A quote behind anything else, such as a bare word, begins nothing: toml++ takes what follows it
// for text outside of strings.
bool string_may_begin(std::string_view line, std::size_t at) {
    const std::size_t last = line.substr(0, at).find_last_not_of(" \t");
    return last == std::string_view::npos ||
           std::string_view("=[{,.").find(line[last]) != std::string_view::npos;
}

std::optional<Fault> fault_in(std::string_view line) {
    if (line.size() > max_toml_line_bytes)
        return Fault{max_toml_line_bytes, "the line is too long, expected at most 1024 bytes"};
    for (std::size_t at = 0; at < line.size() && line[at] != '#';) {
        if (line.substr(at).starts_with(R"(""")") || line.substr(at).starts_with("'''"))
            return Fault{at, "a string in three quotes, expected one in one quote"};
        if (static_cast<unsigned char>(line[at]) >= 0x80)
            return Fault{at, "a character that is not ASCII, expected it in strings and comments "
                             "only"};
        const bool quote = line[at] == '"' || line[at] == '\'';
        at = quote && string_may_begin(line, at) ? end_of_string(line, at) : at + 1;
    }
    return std::nullopt;
}

// In characters, from 1, as toml++ counts.
std::uint32_t column_of(std::string_view line, std::size_t offset) {
    const auto characters = std::ranges::count_if(line.substr(0, offset), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
    });
    return static_cast<std::uint32_t>(characters) + 1;
}

// Adds the first fault.
bool is_safe(std::string_view text, TomlErrors& errors) {
    if (text.size() > max_toml_bytes) {
        errors.add({1, 1},
                   fmt::format("the file is too large, expected at most {} bytes", max_toml_bytes));
        return false;
    }
    for (std::uint32_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (const auto fault = fault_in(line)) {
            errors.add({number, column_of(line, fault->offset)}, std::string(fault->text));
            return false;
        }
    }
    return true;
}

} // namespace

std::optional<toml::table> parse_toml(std::string_view text, TomlErrors& errors) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    if (!is_safe(text, errors))
        return std::nullopt;
    toml::parse_result result = toml::parse(text);
    if (!result) {
        const toml::parse_error& error = result.error();
        errors.add(error.source().begin,
                   fmt::format("not valid TOML: {}", escaped(error.description())));
        return std::nullopt;
    }
    return std::move(result).table();
}

} // namespace xpreemptd
