// SPDX-License-Identifier: MIT
// The GPU's own writes to the doorbell BAR.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace vgpu {

// Waves and packets write memory by pointer, so each page of the BAR that they reach is a page of
// memory. All ones is what a doorbell holds that wasn't written since take() was called, and what
// a read finds, as it does in a BAR that doesn't answer.
class DoorbellWindow {
public:
    struct Write {
        std::uint32_t dword = 0; // in the BAR
        std::uint64_t value = 0;
    };

    // Memory of [offset, +bytes) of the BAR, which must lie in one page. Null when it doesn't.
    std::byte* at(std::uint64_t offset, std::size_t bytes);
    // The writes in the order of their addresses; the last one to a doorbell represents all to it.
    std::vector<Write> take();
    // No pointer of at() may be used any more.
    void clear() { pages_.clear(); }

private:
    static constexpr std::size_t page_bytes = 4096;
    using Page = std::array<std::uint64_t, page_bytes / sizeof(std::uint64_t)>;
    std::map<std::uint64_t, Page> pages_; // by offset in the BAR
};

} // namespace vgpu
