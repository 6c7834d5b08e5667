// SPDX-License-Identifier: MIT
// Writes the bytes that a terminal would act on as digits.
#include "protocol/printable.hpp"

#include <cstddef>
#include <fmt/format.h>

namespace xpreemptd {

namespace {

// Length of the UTF-8 sequence at the start of text, 0 when there is none. Overlong forms,
// surrogates and numbers past U+10FFFF are none (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto between = [](unsigned value, unsigned low, unsigned high) {
        return value >= low && value <= high;
    };
    const auto tail = [&](std::size_t i) { return between(byte(i), 0x80, 0xbf); };
    const unsigned first = byte(0);
    if (first < 0x80)
        return 1;
    if (between(first, 0xc2, 0xdf))
        return tail(1) ? 2 : 0;
    if (between(first, 0xe0, 0xef)) {
        const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : 0xbf;
        return between(byte(1), low, high) && tail(2) ? 3 : 0;
    }
    if (between(first, 0xf0, 0xf4)) {
        const unsigned low = first == 0xf0 ? 0x90 : 0x80;
        const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
        return between(byte(1), low, high) && tail(2) && tail(3) ? 4 : 0;
    }
    return 0;
}

// C0, DEL and C1 (U+0080 to U+009F): terminals act on all of them.
bool is_control(std::string_view sequence) {
    const auto first = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() == 1)
        return first < 0x20 || first == 0x7f;
    return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

enum class Text { name, line, message };

std::string disarmed(std::string_view text, Text kind) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
        const bool ends_line = sequence == "\n" && kind == Text::message;
        if (length == 0 || (is_control(sequence) && !ends_line)) {
            for (const char c : sequence)
                result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else if (sequence == "\\" && kind == Text::name) {
            result += "\\\\";
        } else {
            result += sequence;
        }
        text.remove_prefix(sequence.size());
    }
    return result;
}

} // namespace

std::string printable(std::string_view text) {
    return disarmed(text, Text::name);
}

std::string printable_line(std::string_view text) {
    return disarmed(text, Text::line);
}

std::string printable_message(std::string_view text) {
    return disarmed(text, Text::message);
}

} // namespace xpreemptd
