// SPDX-License-Identifier: MIT
// Edit distance over short words.
#include "toml/spelling.hpp"

#include "protocol/printable.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <vector>

namespace xpreemptd {

namespace {

// Longer words are no misspelling of ours, and the distance costs length times length.
constexpr std::size_t longest_word = 64;

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Insertions, deletions, substitutions and swaps of neighbours.
std::size_t edits_between(std::string_view a, std::string_view b) {
    const std::size_t width = b.size() + 1;
    std::vector<std::size_t> costs((a.size() + 1) * width);
    const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
        return costs[i * width + j];
    };
    for (std::size_t i = 0; i <= a.size(); ++i)
        at(i, 0) = i;
    for (std::size_t j = 0; j <= b.size(); ++j)
        at(0, j) = j;
    const auto equal = [&](std::size_t i, std::size_t j) {
        return lower(a[i - 1]) == lower(b[j - 1]);
    };
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            at(i, j) = std::min(
                {at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (equal(i, j) ? 0 : 1)});
            if (i > 1 && j > 1 && equal(i, j - 1) && equal(i - 1, j))
                at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
        }
    return costs.back();
}

} // namespace

std::optional<std::string_view> closest(std::string_view text,
                                        std::span<const std::string_view> words) {
    if (text.size() > longest_word)
        return std::nullopt;
    std::optional<std::string_view> best;
    std::size_t fewest = std::max<std::size_t>(1, text.size() / 3) + 1;
    for (const std::string_view word : words)
        if (const std::size_t edits = edits_between(text, word); edits < fewest) {
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
