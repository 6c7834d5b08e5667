// SPDX-License-Identifier: MIT
// Edit distance over short words. Allocates nothing, because the hook needs it in other programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace xpreempt {

// Longer words are no misspelling of ours, and the distance costs length times length.
constexpr std::size_t longest_word = 64;

// Insertions, deletions, substitutions and swaps of neighbours, case aside. `text` has at most
// longest_word characters.
inline std::size_t edits_between(std::string_view text, std::string_view word) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const auto equal = [&](std::size_t i, std::size_t j) {
        return lower(word[i - 1]) == lower(text[j - 1]);
    };
    std::array<std::size_t, longest_word + 1> row{}, last{}, before_last{};
    for (std::size_t j = 0; j <= text.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
        before_last = last;
        last = row;
        row[0] = i;
        for (std::size_t j = 1; j <= text.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (equal(i, j) ? 0 : 1)});
            if (i > 1 && j > 1 && equal(i, j - 1) && equal(i - 1, j))
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
    }
    return row[text.size()];
}

} // namespace xpreempt
