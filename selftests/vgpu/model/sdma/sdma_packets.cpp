// SPDX-License-Identifier: MIT
// One SDMA engine: its packets but for the large ones (vega10_sdma_pkt_open.h).
#include "model/sdma/sdma_engine.hpp"

#include "model/base/bits.hpp"
#include "model/base/polling.hpp"

#include <fmt/format.h>

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
    conditional_execute = 9,
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
    case Op::conditional_execute: return 5;
    case Op::atomic: return 8;
    case Op::constant_fill: return 5;
    case Op::pte_pde: return 10;
    case Op::timestamp: return 3;
    case Op::srbm_write: return 3;
    default: return 1;
    }
}

} // namespace

std::optional<std::string_view> sdma_packet_name(std::uint8_t opcode) {
    switch (static_cast<Op>(opcode)) {
    case Op::nop: return "NOP";
    case Op::copy: return "COPY (linear, broadcast, sub-window)";
    case Op::write: return "WRITE (linear)";
    case Op::indirect: return "INDIRECT";
    case Op::fence: return "FENCE";
    case Op::trap: return "TRAP";
    case Op::poll_regmem: return "POLL_REGMEM";
    case Op::conditional_execute: return "COND_EXE";
    case Op::atomic: return "ATOMIC (64-bit add)";
    case Op::constant_fill: return "CONST_FILL";
    case Op::pte_pde: return "PTEPDE (generate)";
    case Op::timestamp: return "TIMESTAMP";
    case Op::srbm_write: return "SRBM_WRITE";
    }
    return std::nullopt;
}

SdmaEngine::Step SdmaEngine::execute(Ring& ring, unsigned vmid, Packet packet) {
    const auto op = static_cast<Op>(packet[0] & 0xff);
    if (packet.size() < fixed_dwords(op))
        return unknown(packet);
    switch (op) {
    case Op::nop: return {Step::Result::done, 1 + bits(packet[0], 29, 16)};
    case Op::copy: return copy(ring, vmid, packet);
    case Op::write: return write(vmid, packet);
    case Op::indirect: return indirect(ring, vmid, packet);
    case Op::fence: return fence(vmid, packet);
    case Op::poll_regmem: return poll(vmid, packet);
    case Op::atomic: return atomic(vmid, packet);
    case Op::constant_fill: return fill(ring, vmid, packet);
    case Op::pte_pde: return page_entries(vmid, packet);
    case Op::trap: return trap(ring, vmid, packet);
    case Op::timestamp: return timestamp(vmid, packet);
    case Op::conditional_execute:
        // Skips EXEC_COUNT dwords unless the word at the address is the reference.
        return {Step::Result::done, 5 + (unit_.memory.read32(vmid, address(packet, 1)) == packet[3]
                                             ? 0
                                             : std::size_t{packet[4] & 0x3fff})};
    case Op::srbm_write:
        if (ring.user)
            return unknown(packet); // registers are the kernel's
        // vega10_sdma_pkt_open.h has 18 bits for the register; the memory hubs of AIDs 2 and 3 are
        // behind their reach, and the driver names them so all the same.
        unit_.registers.write(packet[1] % RegisterFile::dwords(), packet[2], name_);
        return {Step::Result::done, 3};
    }
    return unknown(packet);
}

SdmaEngine::Step SdmaEngine::unknown(Packet packet) {
    unit_.observer.unmodelled(
        name_, fmt::format("packet {:#x} of {} dwords", packet[0] & 0xffff, packet.size()));
    // Its length is unknown too: give up the rest of the buffer.
    return {Step::Result::done, packet.size()};
}

SdmaEngine::Step SdmaEngine::write(unsigned vmid, Packet packet) {
    const std::size_t count = (packet[3] & 0xf'ffff) + 1ULL;
    if (bits(packet[0], 15, 8) != 0 || packet.size() < 4 + count)
        return unknown(packet);
    trace(fmt::format("write {:#x} dwords {} vmid {}", address(packet, 1), count, vmid));
    if (!unit_.memory.write(vmid, address(packet, 1), std::as_bytes(packet.subspan(4, count))))
        return {Step::Result::fault};
    return {Step::Result::done, 4 + count};
}

SdmaEngine::Step SdmaEngine::indirect(Ring& ring, unsigned vmid, Packet packet) {
    const unsigned buffer_vmid = ring.user ? vmid : bits(packet[0], 19, 16);
    Buffer buffer{buffer_vmid, std::vector<std::uint32_t>(packet[3] & 0xf'ffff), 0};
    const std::uint64_t base = address(packet, 1) & ~std::uint64_t{31};
    trace(fmt::format("indirect buffer {:#x} dwords {} vmid {}", base, buffer.dwords.size(),
                      buffer_vmid));
    if (!unit_.memory.read(buffer_vmid, base, std::as_writable_bytes(std::span(buffer.dwords))))
        return {Step::Result::fault};
    ring.buffers.push_back(std::move(buffer));
    return {Step::Result::done, indirect_dwords};
}

SdmaEngine::Step SdmaEngine::fence(unsigned vmid, Packet packet) {
    trace(fmt::format("fence {:#x} = {:#x}", address(packet, 1), packet[3]));
    if (!unit_.memory.store32(vmid, address(packet, 1), packet[3]))
        return {Step::Result::fault};
    return {Step::Result::done, 4};
}

// Header: HDP_FLUSH 26, FUNC [30:28], MEM_POLL 31. Without MEM_POLL the address is a register's,
// in bytes; an HDP flush writes the reference to the second address first. ROCr's own HDP flush
// is a poll of nothing (function 0): memory is coherent here, so nothing is what it does.
SdmaEngine::Step SdmaEngine::poll(unsigned vmid, Packet packet) {
    constexpr std::uint32_t dwords = RegisterFile::dwords();
    const unsigned function = bits(packet[0], 30, 28);
    std::uint32_t value = 0;
    if (function == 0)
        return {Step::Result::done, 6};
    if (bit(packet[0], 31)) {
        value = unit_.memory.read32(vmid, address(packet, 1));
    } else {
        if (bit(packet[0], 26))
            unit_.registers.write(packet[2] / 4 % dwords, packet[3], name_);
        value = unit_.registers.read(packet[1] / 4 % dwords, name_);
    }
    if (!poll_succeeds(function, value & packet[4], packet[3]))
        return {Step::Result::wait};
    return {Step::Result::done, 6};
}

SdmaEngine::Step SdmaEngine::atomic(unsigned vmid, Packet packet) {
    constexpr unsigned add64 = 47; // TC_OP_ATOMIC_ADD_RTN_64
    if (bits(packet[0], 31, 25) != add64)
        return unknown(packet);
    std::byte* target = unit_.memory.translate(vmid, address(packet, 1), 8, Access::write);
    if (target == nullptr)
        return {Step::Result::fault};
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(target)).fetch_add(address(packet, 3));
    trace(fmt::format("atomic {:#x} += {:#x}", address(packet, 1), address(packet, 3)));
    return {Step::Result::done, 8};
}

// TIMESTAMP_GET and _GET_GLOBAL: both are the one clock there is.
SdmaEngine::Step SdmaEngine::timestamp(unsigned vmid, Packet packet) {
    if (bits(packet[0], 15, 8) == 0)
        return unknown(packet); // TIMESTAMP_SET
    if (!unit_.memory.store64(vmid, address(packet, 1), unit_.clock.ticks()))
        return {Step::Result::fault};
    return {Step::Result::done, 3};
}

// Page table entries: value | flags, value advancing by the increment.
SdmaEngine::Step SdmaEngine::page_entries(unsigned vmid, Packet packet) {
    const std::uint64_t target = address(packet, 1);
    const std::uint64_t flags = address(packet, 3);
    const std::uint64_t value = address(packet, 5);
    const std::uint64_t increment = address(packet, 7);
    std::vector<std::uint64_t> entries((packet[9] & 0x7'ffff) + 1ULL);
    for (std::size_t i = 0; i < entries.size(); ++i)
        entries[i] = (value + i * increment) | flags;
    trace(fmt::format("page entries {:#x} count {} value {:#x} flags {:#x}", target, entries.size(),
                      value, flags));
    if (!unit_.memory.write(vmid, target, std::as_bytes(std::span(entries))))
        return {Step::Result::fault};
    unit_.memory.invalidate();
    return {Step::Result::done, 10};
}

// The kernel takes ring id 0 for its own ring (sdma_v4_4_2_process_trap_irq).
SdmaEngine::Step SdmaEngine::trap(const Ring& ring, unsigned vmid, Packet packet) {
    trace(fmt::format("trap {:#x} vmid {}", packet[1] & 0xfff'ffff, vmid));
    unit_.interrupts.raise({.client = ih::clients_sdma[place_],
                            .source = ih::source_sdma_trap,
                            .ring = static_cast<std::uint8_t>(ring.user ? 1 : 0),
                            .vmid = static_cast<std::uint8_t>(ring.user ? vmid : 0),
                            .pasid = ring.user ? unit_.memory.pasid(vmid) : std::uint16_t{0},
                            .context = {packet[1] & 0xfff'ffff},
                            .node = Dies::aid_node(aid_)});
    return {Step::Result::done, 2};
}

} // namespace vgpu
