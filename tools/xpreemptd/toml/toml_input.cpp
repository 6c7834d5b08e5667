// SPDX-License-Identifier: MIT
// Keeps from toml++ 3.3 the texts that it can't parse safely:
// - It makes a table for each dot of a key, one in the other, and destroys them by recursion; so
//   lines are bounded.
// - It asks whether a character is a blank in a way that is undefined for U+00A1 to U+0499 and
//   others. It asks so outside of strings and comments, where only ASCII is valid, and after a
//   backslash in a string in three quotes; so these strings are rejected.
#include "toml/toml_input.hpp"

#include "protocol/printable.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <utility>

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

// Where a quote begins a string: where a key or a value may begin. In or behind a bare value it
// begins nothing, whatever stands before it, as in 1={"x": toml++ takes what follows for text
// outside of strings.
class Position {
public:
    bool string_may_begin() const { return may_begin_; }

    // Moves behind a character that is in no string.
    void pass(char c) {
        switch (c) {
        case ' ':
        case '\t': break;
        case ',': begin(true); break;
        case '{':
        case '[':
            if (may_begin_)
                begin(c == '{');
            break;
        case '=': may_begin_ = std::exchange(is_key_, false) && may_have_value_; break;
        case '.': may_begin_ = is_key_; break;
        default:
            is_key_ = is_key_ || (may_begin_ && !has_begun_ &&
                                  (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'));
            may_begin_ = false;
            has_begun_ = true;
        }
    }
    void pass_string() {
        is_key_ = is_key_ || !has_begun_;
        may_begin_ = false;
        has_begun_ = true;
    }

private:
    void begin(bool may_have_value) {
        *this = Position();
        may_have_value_ = may_have_value;
    }

    bool may_begin_ = true;
    bool has_begun_ = false;     // a key or a value
    bool is_key_ = false;        // or could be: not the first character of a number
    bool may_have_value_ = true; // a key in a header has none
};

std::optional<Fault> fault_in(std::string_view line) {
    if (line.size() > max_toml_line_bytes)
        return Fault{max_toml_line_bytes, "the line is too long, expected at most 1024 bytes"};
    Position position;
    for (std::size_t at = 0; at < line.size() && line[at] != '#';) {
        if (line.substr(at).starts_with(R"(""")") || line.substr(at).starts_with("'''"))
            return Fault{at, "a string in three quotes, expected one in one quote"};
        if (static_cast<unsigned char>(line[at]) >= 0x80)
            return Fault{at, "a character that is not ASCII, expected it in strings and comments "
                             "only"};
        const bool quote = line[at] == '"' || line[at] == '\'';
        if (quote && position.string_may_begin()) {
            position.pass_string();
            at = end_of_string(line, at);
        } else {
            position.pass(line[at++]);
        }
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
                   fmt::format("not valid TOML: {}", printable_line(error.description())));
        return std::nullopt;
    }
    return std::move(result).table();
}

} // namespace xpreemptd
