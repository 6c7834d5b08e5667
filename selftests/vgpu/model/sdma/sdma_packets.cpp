// SPDX-License-Identifier: MIT
// One SDMA engine: what its packets do (vega10_sdma_pkt_open.h).
#include "model/cp/pm4.hpp"
#include "model/sdma/sdma_engine.hpp"

#include "model/base/bits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace vgpu {
namespace {

enum class Op : std::uint8_t {
    nop = 0,
    copy = 1,
    write = 2,
    indirect = 4,
    fence = 5,
    trap = 6,
    poll_regmem = 8,
    atomic = 10,
    constant_fill = 11,
    pte_pde = 12,
    timestamp = 13,
    srbm_write = 14,
};

std::uint64_t address(std::span<const std::uint32_t> packet, std::size_t dword) {
    return join(packet[dword], packet[dword + 1]);
}

// Dwords of the fixed part of a packet.
std::size_t fixed_dwords(Op op) {
    switch (op) {
    case Op::copy: return 7;
    case Op::write: return 4;
    case Op::indirect: return 6;
    case Op::fence: return 4;
    case Op::trap: return 2;
    case Op::poll_regmem: return 6;
    case Op::atomic: return 8;
    case Op::constant_fill: return 5;
    case Op::pte_pde: return 10;
    case Op::timestamp: return 3;
    case Op::srbm_write: return 3;
    default: return 1;
    }
}

} // namespace

std::size_t SdmaEngine::execute(Ring& ring, unsigned vmid, std::span<const std::uint32_t> packet) {
    const auto op = static_cast<Op>(packet[0] & 0xff);
    if (packet.size() < fixed_dwords(op))
        return unknown(packet);
    switch (op) {
    case Op::nop: return 1 + bits(packet[0], 29, 16);
    case Op::copy: return copy(vmid, packet);
    case Op::write: return write(vmid, packet);
    case Op::indirect: return indirect(ring, vmid, packet);
    case Op::poll_regmem: return poll(vmid, packet);
    case Op::atomic: return atomic(vmid, packet);
    case Op::constant_fill: return fill(vmid, packet);
    case Op::pte_pde: return page_entries(vmid, packet);
    case Op::trap: return trap(ring, vmid, packet);
    case Op::fence:
        unit_.memory.store32(vmid, address(packet, 1), packet[3]);
        trace(fmt::format("fence {:#x} = {:#x}", address(packet, 1), packet[3]));
        return fixed_dwords(op);
    case Op::timestamp:
        unit_.memory.store64(vmid, address(packet, 1), unit_.clock.ticks());
        return fixed_dwords(op);
    case Op::srbm_write:
        unit_.registers.write(packet[1] & 0x3ffff & (RegisterFile::dword_count - 1), packet[2],
                              name_);
        return fixed_dwords(op);
    }
    return unknown(packet);
}

std::size_t SdmaEngine::unknown(std::span<const std::uint32_t> packet) {
    unit_.observer.unmodelled(
        name_, fmt::format("packet {:#x} of {} dwords", packet[0] & 0xffff, packet.size()));
    return packet.size(); // its length is unknown too: give up the rest of the buffer
}

std::size_t SdmaEngine::copy(unsigned vmid, std::span<const std::uint32_t> packet) {
    if (bits(packet[0], 15, 8) != 0) // only COPY_LINEAR
        return unknown(packet);
    std::uint64_t left = (packet[1] & 0x3fff'ffff) + 1ULL;
    std::uint64_t source = address(packet, 3);
    std::uint64_t target = address(packet, 5);
    trace(fmt::format("copy {:#x} to {:#x} bytes {:#x} vmid {}", source, target, left, vmid));
    unit_.clock.advance(left / 64);
    std::array<std::byte, 4096> buffer;
    while (left != 0) {
        const auto part = std::span(buffer).first(std::min<std::uint64_t>(left, buffer.size()));
        if (!unit_.memory.read(vmid, source, part) || !unit_.memory.write(vmid, target, part))
            break;
        source += part.size();
        target += part.size();
        left -= part.size();
    }
    return 7;
}

std::size_t SdmaEngine::write(unsigned vmid, std::span<const std::uint32_t> packet) {
    const std::size_t count = (packet[3] & 0xf'ffff) + 1ULL;
    if (bits(packet[0], 15, 8) != 0 || packet.size() < 4 + count)
        return unknown(packet);
    trace(fmt::format("write {:#x} dwords {} vmid {}", address(packet, 1), count, vmid));
    unit_.memory.write(vmid, address(packet, 1), std::as_bytes(packet.subspan(4, count)));
    return 4 + count;
}

std::size_t SdmaEngine::indirect(Ring& ring, unsigned vmid, std::span<const std::uint32_t> packet) {
    const unsigned buffer_vmid = ring.user ? vmid : bits(packet[0], 19, 16);
    Buffer buffer{buffer_vmid, std::vector<std::uint32_t>(packet[3] & 0xf'ffff), 0};
    const std::uint64_t base = address(packet, 1) & ~std::uint64_t{31};
    trace(fmt::format("indirect buffer {:#x} dwords {} vmid {}", base, buffer.dwords.size(),
                      buffer_vmid));
    if (unit_.memory.read(buffer_vmid, base, std::as_writable_bytes(std::span(buffer.dwords))))
        ring.buffers.push_back(std::move(buffer));
    return 6;
}

// Header: HDP_FLUSH 26, FUNC [30:28], MEM_POLL 31. Without MEM_POLL the address is a register's,
// in bytes; an HDP flush writes the reference to the second address first.
std::size_t SdmaEngine::poll(unsigned vmid, std::span<const std::uint32_t> packet) {
    const bool memory = bit(packet[0], 31);
    const unsigned function = bits(packet[0], 30, 28);
    std::uint32_t value = 0;
    if (memory)
        value = unit_.memory.read32(vmid, address(packet, 1));
    else {
        constexpr std::uint32_t dwords = RegisterFile::dword_count;
        if (bit(packet[0], 26))
            unit_.registers.write(packet[2] / 4 % dwords, packet[3], name_);
        value = unit_.registers.read(packet[1] / 4 % dwords, name_);
    }
    return pm4::compare(function, value & packet[4], packet[3]) ? 6 : 0;
}

std::size_t SdmaEngine::atomic(unsigned vmid, std::span<const std::uint32_t> packet) {
    constexpr unsigned add64 = 47; // TC_OP_ATOMIC_ADD_RTN_64
    if (bits(packet[0], 31, 25) != add64)
        return unknown(packet);
    std::byte* target = unit_.memory.translate(vmid, address(packet, 1), 8, Access::write);
    if (target != nullptr)
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(target)).fetch_add(address(packet, 3));
    return 8;
}

std::size_t SdmaEngine::fill(unsigned vmid, std::span<const std::uint32_t> packet) {
    // FILLSIZE [31:30]: 2 is dwords, 0 bytes. The driver says bytes and passes a dword whose
    // bytes are all alike; what a byte fill does with any other is not known here.
    std::uint64_t left = (packet[4] & 0x3fff'ffff) + 1ULL;
    const unsigned fill_size = bits(packet[0], 31, 30);
    const bool alike = packet[3] == (packet[3] & 0xff) * 0x0101'0101U;
    if (fill_size != 2 && !(fill_size == 0 && alike))
        return unknown(packet);
    std::uint64_t target = address(packet, 1);
    trace(fmt::format("fill {:#x} with {:#x} bytes {:#x}", target, packet[3], left));
    std::array<std::uint32_t, 1024> pattern;
    pattern.fill(packet[3]);
    const auto bytes = std::as_bytes(std::span(pattern));
    while (left != 0) {
        const auto part = bytes.first(std::min<std::uint64_t>(left, bytes.size()));
        if (!unit_.memory.write(vmid, target, part))
            break;
        target += part.size();
        left -= part.size();
    }
    return 5;
}

// Page table entries: value | flags, value advancing by the increment.
std::size_t SdmaEngine::page_entries(unsigned vmid, std::span<const std::uint32_t> packet) {
    const std::uint64_t target = address(packet, 1);
    const std::uint64_t flags = address(packet, 3);
    const std::uint64_t value = address(packet, 5);
    const std::uint64_t increment = address(packet, 7);
    std::vector<std::uint64_t> entries((packet[9] & 0x7'ffff) + 1ULL);
    for (std::size_t i = 0; i < entries.size(); ++i)
        entries[i] = (value + i * increment) | flags;
    trace(fmt::format("page entries {:#x} count {} value {:#x} flags {:#x}", target, entries.size(),
                      value, flags));
    unit_.memory.write(vmid, target, std::as_bytes(std::span(entries)));
    unit_.memory.invalidate();
    return 10;
}

std::size_t SdmaEngine::trap(const Ring& ring, unsigned vmid,
                             std::span<const std::uint32_t> packet) {
    unit_.interrupts.raise({.client = engine_ == 0 ? ih::client_sdma0 : ih::client_sdma1,
                            .source = ih::source_sdma_trap,
                            .vmid = static_cast<std::uint8_t>(ring.user ? vmid : 0),
                            .pasid = ring.user ? unit_.memory.pasid(vmid) : std::uint16_t{0},
                            .context = {packet[1] & 0xfff'ffff}});
    return 2;
}

} // namespace vgpu
