// SPDX-License-Identifier: MIT
// The GPU's own writes to the doorbell BAR.
#include "model/nbio/doorbell_window.hpp"

#include "model/base/bits.hpp"

namespace vgpu {
namespace {

constexpr std::uint64_t untouched = ~std::uint64_t{0};

} // namespace

std::byte* DoorbellWindow::at(std::uint64_t offset, std::size_t bytes) {
    const std::size_t in_page = offset % page_bytes;
    if (bytes > page_bytes - in_page)
        return nullptr;
    const auto [page, is_new] = pages_.try_emplace(offset - in_page);
    if (is_new)
        page->second.fill(untouched);
    return reinterpret_cast<std::byte*>(page->second.data()) + in_page;
}

std::vector<DoorbellWindow::Write> DoorbellWindow::take() {
    std::vector<Write> writes;
    for (auto& [offset, page] : pages_)
        for (std::size_t i = 0; i < page.size(); ++i) {
            const std::uint64_t value = page[i];
            if (value == untouched)
                continue;
            page[i] = untouched;
            const auto dword = static_cast<std::uint32_t>((offset + i * sizeof value) / 4);
            if (low_half(value) == low_half(untouched))
                writes.push_back({dword + 1, high_half(value)}); // 32 bits of an odd dword
            else if (high_half(value) == high_half(untouched))
                writes.push_back({dword, low_half(value)});
            else
                writes.push_back({dword, value});
        }
    return writes;
}

} // namespace vgpu
