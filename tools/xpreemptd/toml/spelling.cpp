// SPDX-License-Identifier: MIT
// The word with the fewest edits.
#include "toml/spelling.hpp"

#include "base/edit_distance.hpp"
#include "protocol/printable.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>

namespace xpreemptd {

using xpreempt::longest_word;

std::optional<std::string_view> closest(std::string_view text,
                                        std::span<const std::string_view> words) {
    if (text.size() > longest_word)
        return std::nullopt;
    std::optional<std::string_view> best;
    std::size_t fewest = std::max<std::size_t>(1, text.size() / 3) + 1;
    for (const std::string_view word : words)
        if (const std::size_t edits = xpreempt::edits_between(text, word); edits < fewest) {
            fewest = edits;
            best = word;
        }
    return best;
}

std::string in_quotes(std::string_view text) {
    return fmt::format("\"{}{}\"", printable_line(text.substr(0, longest_word)),
                       text.size() > longest_word ? "..." : "");
}

} // namespace xpreemptd
