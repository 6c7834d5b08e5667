// SPDX-License-Identifier: MIT
// Finds the word that a misspelled one was meant to be, and shows foreign text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace xpreemptd {

// The word with the fewest edits from `text`, case aside. Nothing if each is too far off.
[[nodiscard]] std::optional<std::string_view> closest(std::string_view text,
                                                      std::span<const std::string_view> words);

// As printable_line(), in double quotes, cut after 64 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

} // namespace xpreemptd
