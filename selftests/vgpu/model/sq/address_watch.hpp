// SPDX-License-Identifier: MIT
// Address watch of an XCC's vector memory (TCP_WATCHn): a debugger's watchpoints.
#pragma once

#include "model/base/memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace vgpu::sq {

inline constexpr unsigned address_watches = 4;

// TCP_WATCHn_ADDR_H/L and TCP_WATCHn_CNTL.
class AddressWatch {
public:
    AddressWatch() = default;
    AddressWatch(std::uint64_t address, std::uint32_t control)
        : address_(address), control_(control) {}

    bool valid() const { return control_ >> 31 != 0; }
    unsigned vmid() const { return control_ >> 24 & 15; }

    enum class Kind : std::uint8_t { read, write, atomic };
    // Some byte of the access is in the watched range, and MODE watches such accesses.
    bool matches(Kind kind, std::uint64_t va, std::size_t bytes) const;

private:
    std::uint64_t address_ = 0;
    std::uint32_t control_ = 0;
};

// Memory that notes which watches an instruction hits. It must see each access as it is: see
// isa::AddressSpace::Caching.
class WatchedMemory final : public Memory {
public:
    explicit WatchedMemory(Memory& memory) : memory_(memory) {}

    void set(unsigned number, const AddressWatch& watch);
    bool watches(unsigned vmid) const { return (vmids_ >> vmid & 1) != 0; }

    // The next access fetches the first word of an instruction; those behind it are its own.
    void begin_instruction();
    // Bits of SQ_WAVE_TRAPSTS for the watches that were hit since then.
    std::uint32_t hits() const;

    std::byte* translate(unsigned vmid, std::uint64_t va, std::size_t bytes,
                         Access access) override;
    std::uint64_t epoch() const override { return memory_.epoch(); }

private:
    void decode(std::uint32_t word0);

    Memory& memory_;
    bool fetched_ = false;
    bool vector_ = false; // the instruction is one of vector memory
    bool atomic_ = false;
    std::array<AddressWatch, address_watches> watches_{};
    std::uint32_t vmids_ = 0; // that some watch is for
    std::uint32_t hit_ = 0;   // bit for each watch
};

} // namespace vgpu::sq
