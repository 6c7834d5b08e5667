// SPDX-License-Identifier: MIT
// Parses TOML from any bytes.
#pragma once

#include "toml/toml_table.hpp"

#include <optional>
#include <string_view>

namespace xpreemptd {

// Nothing if the text is no TOML or beyond our bounds; then the error is added. Accepts TOML 1.0
// but for strings in three quotes, in at most max_toml_bytes and lines of max_toml_line_bytes.
constexpr std::size_t max_toml_bytes = 65536, max_toml_line_bytes = 1024;
[[nodiscard]] std::optional<toml::table> parse_toml(std::string_view text, TomlErrors& errors);

} // namespace xpreemptd
