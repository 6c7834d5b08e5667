// SPDX-License-Identifier: MIT
// Compares accesses with watches and collects the hits.
#include "model/sq/address_watch.hpp"

#include <cstring>

namespace vgpu::sq {

namespace {

// Watches compare lines of 128 bytes: bits [47:7] of the address.
constexpr std::uint64_t line_bytes = 128;
constexpr std::uint64_t address_mask = 0xffff'ffff'ffff;
// CNTL.MASK [23:0] says which of the bits [30:7] count; those above always do.
constexpr std::uint64_t high_bits = address_mask & ~0x7fff'ffffULL;

// CNTL.MODE [30:29], as KFD's enum kfd_dbg_trap_address_watch_mode has it.
enum Mode : std::uint32_t { mode_read, mode_nonread, mode_atomic, mode_all };

bool watched(std::uint32_t mode, AddressWatch::Kind kind) {
    switch (mode) {
    case mode_read: return kind == AddressWatch::Kind::read;
    case mode_nonread: return kind != AddressWatch::Kind::read;
    case mode_atomic: return kind == AddressWatch::Kind::atomic;
    default: return true;
    }
}

} // namespace

bool AddressWatch::matches(Kind kind, std::uint64_t va, std::size_t bytes) const {
    if (!valid() || !watched(control_ >> 29 & 3, kind)) {
        return false;
    }
    const std::uint64_t compared = high_bits | std::uint64_t{control_ & 0xff'ffff} << 7;
    const std::uint64_t first = va & address_mask & ~(line_bytes - 1);
    for (std::uint64_t line = first; line < (va & address_mask) + bytes; line += line_bytes) {
        if (((line ^ address_) & compared) == 0) {
            return true;
        }
    }
    return false;
}

void WatchedMemory::set(unsigned number, const AddressWatch& watch) {
    watches_.at(number) = watch;
    vmids_ = 0;
    for (const AddressWatch& other : watches_) {
        vmids_ |= other.valid() ? 1U << other.vmid() : 0;
    }
}

// FLAT and MUBUF go through the TCP, scalar loads and fetches don't. In both formats the atomics
// begin at opcode 64 of 128.
void WatchedMemory::decode(std::uint32_t word0) {
    constexpr std::uint32_t flat = 0b110111;
    constexpr std::uint32_t mubuf = 0b111000;
    vector_ = word0 >> 26 == flat || word0 >> 26 == mubuf;
    atomic_ = (word0 >> 24 & 1) != 0;
}

void WatchedMemory::begin_instruction() {
    fetched_ = false;
    vector_ = false;
    hit_ = 0;
}

// TRAPSTS.EXCP has bit 7 for watch 0, EXCP_HI [14:12] has watches 1 to 3.
std::uint32_t WatchedMemory::hits() const {
    return (hit_ & 1) << 7 | (hit_ >> 1) << 12;
}

std::byte* WatchedMemory::translate(unsigned vmid, std::uint64_t va, std::size_t bytes,
                                    Access access) {
    std::byte* host = memory_.translate(vmid, va, bytes, access);
    if (host != nullptr && access == Access::execute && !fetched_) {
        std::uint32_t word0 = 0;
        std::memcpy(&word0, host, sizeof(word0));
        decode(word0);
        fetched_ = true;
    }
    if (host == nullptr || !vector_ || access == Access::execute) {
        return host;
    }
    const auto plain =
        access == Access::write ? AddressWatch::Kind::write : AddressWatch::Kind::read;
    const auto kind = atomic_ ? AddressWatch::Kind::atomic : plain;
    for (unsigned i = 0; i < address_watches; ++i) {
        if (watches_.at(i).vmid() == vmid && watches_.at(i).matches(kind, va, bytes)) {
            hit_ |= 1U << i;
        }
    }
    return host;
}

} // namespace vgpu::sq
