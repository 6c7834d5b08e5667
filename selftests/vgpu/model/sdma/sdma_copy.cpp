// SPDX-License-Identifier: MIT
// One SDMA engine: copies and fills, a slice at a time, so that the device stays responsive.
#include "model/sdma/sdma_engine.hpp"

#include "model/base/bits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace vgpu {
namespace {

constexpr std::uint64_t page_bytes = 4096;
// Bytes in a turn: some hundred microseconds.
constexpr std::uint64_t slice_bytes = 1 << 20;

constexpr std::uint32_t copy_linear_op = 0;
constexpr std::uint32_t copy_rect_op = 4; // COPY_LINEAR_SUB_WIND
constexpr unsigned broadcast_bit = 27;

std::uint64_t address(std::span<const std::uint32_t> packet, std::size_t dword) {
    return join(packet[dword], packet[dword + 1]);
}

// One side of a sub-window copy: address, then x and y, z and pitch, slice pitch.
struct Window {
    std::uint64_t base;
    std::uint64_t x, y, z;
    std::uint64_t pitch, slice_pitch; // in elements

    static Window decode(std::span<const std::uint32_t> dwords) {
        return {join(dwords[0], dwords[1]),     bits(dwords[2], 13, 0),
                bits(dwords[2], 29, 16),        bits(dwords[3], 10, 0),
                bits(dwords[3], 31, 13) + 1ULL, bits(dwords[4], 27, 0) + 1ULL};
    }
    std::uint64_t row(std::uint64_t slice, std::uint64_t line, unsigned element_shift) const {
        return base + ((((z + slice) * slice_pitch) + (y + line) * pitch + x) << element_shift);
    }
};

} // namespace

SdmaEngine::Step SdmaEngine::copy(Ring& ring, unsigned vmid, Packet packet) {
    switch (bits(packet[0], 15, 8)) {
    case copy_linear_op: return copy_linear(ring, vmid, packet);
    case copy_rect_op: return copy_rect(ring, vmid, packet);
    default: return unknown(packet);
    }
}

// Page by page, straight between the places in memory. False after a fault.
bool SdmaEngine::move(unsigned vmid, std::uint64_t source, std::uint64_t target,
                      std::uint64_t bytes) {
    while (bytes != 0) {
        const std::uint64_t part =
            std::min({bytes, page_bytes - source % page_bytes, page_bytes - target % page_bytes});
        const std::byte* from = unit_.memory.translate(vmid, source, part, Access::read);
        if (from == nullptr)
            return false;
        std::byte* to = unit_.memory.translate(vmid, target, part, Access::write);
        if (to == nullptr)
            return false;
        std::memmove(to, from, part);
        source += part;
        target += part;
        bytes -= part;
    }
    return true;
}

SdmaEngine::Step SdmaEngine::copy_linear(Ring& ring, unsigned vmid, Packet packet) {
    const bool broadcast = bit(packet[0], broadcast_bit);
    const std::size_t dwords = broadcast ? 9 : 7;
    if (packet.size() < dwords)
        return unknown(packet);
    const std::uint64_t bytes = (packet[1] & 0x3fff'ffff) + 1ULL;
    const std::uint64_t source = address(packet, 3);
    if (ring.done == 0)
        trace(fmt::format("copy {:#x} to {:#x} bytes {:#x} vmid {}{}", source, address(packet, 5),
                          bytes, vmid, broadcast ? " and a second place" : ""));
    const std::uint64_t part = std::min(bytes - ring.done, slice_bytes);
    for (std::size_t target = 5; target < dwords; target += 2)
        if (!move(vmid, source + ring.done, address(packet, target) + ring.done, part))
            return {Step::Result::fault};
    unit_.clock.advance(part / 64);
    ring.done += part;
    if (ring.done < bytes)
        return {Step::Result::more};
    unit_.observer.count("sdma_copies", 1);
    unit_.observer.count("sdma_copied_bytes", bytes);
    return {Step::Result::done, dwords};
}

// Rows of a box; ring.done counts them. ELEMENTSIZE of the header is a logarithm; all extents
// and pitches in the packet are one less than they say.
SdmaEngine::Step SdmaEngine::copy_rect(Ring& ring, unsigned vmid, Packet packet) {
    constexpr std::size_t dwords = 13;
    if (packet.size() < dwords)
        return unknown(packet);
    const unsigned shift = bits(packet[0], 31, 29);
    const Window source = Window::decode(packet.subspan(1));
    const Window target = Window::decode(packet.subspan(6));
    const std::uint64_t width = bits(packet[11], 13, 0) + 1ULL;
    const std::uint64_t height = bits(packet[11], 29, 16) + 1ULL;
    const std::uint64_t rows = (bits(packet[12], 10, 0) + 1ULL) * height;
    if (ring.done == 0)
        trace(fmt::format("copy window {:#x} to {:#x} {} elements of {} x {} rows vmid {}",
                          source.base, target.base, width, 1U << shift, rows, vmid));
    std::uint64_t moved = 0;
    for (; ring.done < rows && moved < slice_bytes; ++ring.done) {
        const std::uint64_t slice = ring.done / height;
        const std::uint64_t line = ring.done % height;
        if (!move(vmid, source.row(slice, line, shift), target.row(slice, line, shift),
                  width << shift))
            return {Step::Result::fault};
        moved += width << shift;
    }
    unit_.clock.advance(moved / 64);
    if (ring.done < rows)
        return {Step::Result::more};
    return {Step::Result::done, dwords};
}

// FILLSIZE [31:30]: 2 is dwords, and COUNT then holds the bytes of all but the last one; 0 is
// bytes, and COUNT holds all but one. The driver says bytes and passes a dword whose bytes are
// all alike; what a byte fill does with any other isn't known here.
SdmaEngine::Step SdmaEngine::fill(Ring& ring, unsigned vmid, Packet packet) {
    const std::uint32_t count = packet[4] & 0x3fff'ffff;
    const unsigned fill_size = bits(packet[0], 31, 30);
    const bool alike = packet[3] == (packet[3] & 0xff) * 0x0101'0101U;
    if (fill_size != 2 && !(fill_size == 0 && alike))
        return unknown(packet);
    const std::uint64_t bytes = fill_size == 2 ? (count & ~3ULL) + 4 : count + 1ULL;
    const std::uint64_t target = address(packet, 1);
    if (ring.done == 0)
        trace(fmt::format("fill {:#x} with {:#x} bytes {:#x}", target, packet[3], bytes));
    std::array<std::uint32_t, page_bytes / 4> pattern{};
    pattern.fill(packet[3]);
    const auto page = std::as_bytes(std::span(pattern));
    const std::uint64_t end = std::min(bytes, ring.done + slice_bytes);
    while (ring.done < end) {
        const auto part = page.first(std::min(end - ring.done, page_bytes));
        if (!unit_.memory.write(vmid, target + ring.done, part))
            return {Step::Result::fault};
        ring.done += part.size();
    }
    if (ring.done < bytes)
        return {Step::Result::more};
    return {Step::Result::done, 5};
}

} // namespace vgpu
