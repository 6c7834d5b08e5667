// SPDX-License-Identifier: MIT
// The FLAT, GLOBAL and SCRATCH encodings: their fields, and where each lane's address leads.
#pragma once

#include "model/isa/memory/vector_memory.hpp"

namespace vgpu::isa {

struct FlatInstruction {
    explicit FlatInstruction(const Execution& e)
        : segment(static_cast<Segment>(e.word0 >> 14 & 3)), sve(has_vaddr(e)),
          returns_old((e.word0 >> 16 & 1) != 0), acc((e.word1 >> 23 & 1) != 0),
          vaddr(e.word1 & 0xff), vdata(e.word1 >> 8 & 0xff), saddr(e.word1 >> 16 & 0x7f),
          vdst(e.word1 >> 24),
          // 13 bits, signed; FLAT has 12 bits, unsigned.
          offset(segment == Segment::flat
                     ? std::int32_t{static_cast<std::uint16_t>(e.word0 & 0xfff)}
                     : static_cast<std::int32_t>(e.word0 << 19) >> 19) {}

    // A gfx942 says it by SVE, others have VADDR where there is no SADDR.
    static bool has_vaddr(const Execution& e) {
        return e.wave.isa == Isa::gfx942 ? (e.word0 >> 13 & 1) != 0
                                         : (e.word1 >> 16 & 0x7f) == 0x7f;
    }
    bool has_saddr() const { return segment != Segment::flat && saddr != 0x7f; }

    Segment segment;
    bool sve; // SCRATCH: VADDR takes part
    bool returns_old;
    bool acc;
    unsigned vaddr;
    unsigned vdata;
    unsigned saddr;
    unsigned vdst;
    std::int32_t offset;
};

// Scratch is interleaved by dword: dword i of the 64 lanes lies together. MI300 ISA, "Scratch".
inline std::uint64_t scratch_address(const WaveState& wave, std::uint32_t offset, unsigned lane) {
    return wave.flat_scratch() + std::uint64_t{offset & ~3U} * lane_count +
           std::uint64_t{lane} * 4 + (offset & 3);
}

enum class Space : std::uint8_t { memory, lds, scratch, none };

// The address of each lane that EXEC has on.
class LaneAddresses {
public:
    LaneAddresses(Execution& e, const FlatInstruction& i);

    std::uint64_t operator[](unsigned lane) const { return va_[lane]; }
    // Where the address leads: a FLAT one is in LDS or scratch when it lies in their apertures.
    Space space(std::uint64_t va) const;
    // All 64 lanes are on and access `bytes` bytes each, one behind the other, in one page of
    // memory.
    bool contiguous(unsigned bytes) const;
    // All 64 lanes are on and access the same dwords of their scratch, which lie together.
    bool same_scratch() const { return same_scratch_; }

private:
    void global(Execution& e, const FlatInstruction& i);
    void scratch(Execution& e, const FlatInstruction& i);

    const WaveState& wave_;
    Segment segment_;
    bool same_scratch_ = false;
    alignas(64) std::array<std::uint64_t, lane_count> va_;
};

// One instruction's loads or stores, lane by lane. A bad address is e.fault().
template <Access access> class LaneMemory {
public:
    LaneMemory(Execution& e, const LaneAddresses& addresses)
        : e_(e), addresses_(addresses), memory_(e.memory, e.wave.vmid) {}

    template <typename T> T load(std::uint64_t va, unsigned lane) {
        T value{};
        switch (addresses_.space(va)) {
        case Space::memory: check(memory_.load(va, value), va); break;
        case Space::lds: return lds_load<T>(e_.wave, va & 0xffff'ffff);
        case Space::scratch: load_scratch(va, lane, value); break;
        case Space::none: e_.violate_aperture(va); break;
        }
        return value;
    }
    template <typename T> void store(std::uint64_t va, unsigned lane, T value) {
        switch (addresses_.space(va)) {
        case Space::memory: check(memory_.store(va, value), va); break;
        case Space::lds: lds_store<T>(e_.wave, va & 0xffff'ffff, value); break;
        case Space::scratch: store_scratch(va, lane, value); break;
        case Space::none: e_.violate_aperture(va); break;
        }
    }
    // The dwords of all lanes at once: see contiguous() and same_scratch(). Null after a fault.
    std::uint32_t* at_once(std::uint64_t va, unsigned dwords) {
        std::byte* host = memory_.at(va, std::size_t{dwords} * 4);
        check(host != nullptr, va);
        return reinterpret_cast<std::uint32_t*>(host);
    }

private:
    void check(bool worked, std::uint64_t va) {
        if (!worked && !e_.failed()) [[unlikely]] {
            e_.fault(va);
        }
    }
    // The bytes of a value over the end of a dword lie in the lane's next dword.
    static constexpr bool fits(std::uint64_t va, std::size_t bytes) { return va % 4 + bytes <= 4; }

    template <typename T> void load_scratch(std::uint64_t va, unsigned lane, T& value) {
        const auto offset = static_cast<std::uint32_t>(va);
        if (fits(va, sizeof(T))) [[likely]] {
            const std::uint64_t at = scratch_address(e_.wave, offset, lane);
            check(memory_.load(at, value), at);
            return;
        }
        std::array<std::uint8_t, sizeof(T)> bytes{};
        for (std::uint32_t i = 0; i < sizeof(T); ++i) {
            const std::uint64_t at = scratch_address(e_.wave, offset + i, lane);
            check(memory_.load(at, bytes.at(i)), at);
        }
        std::memcpy(&value, bytes.data(), sizeof(T));
    }
    template <typename T> void store_scratch(std::uint64_t va, unsigned lane, T value) {
        const auto offset = static_cast<std::uint32_t>(va);
        if (fits(va, sizeof(T))) [[likely]] {
            const std::uint64_t at = scratch_address(e_.wave, offset, lane);
            check(memory_.store(at, value), at);
            return;
        }
        std::array<std::uint8_t, sizeof(T)> bytes{};
        std::memcpy(bytes.data(), &value, sizeof(T));
        for (std::uint32_t i = 0; i < sizeof(T); ++i) {
            const std::uint64_t at = scratch_address(e_.wave, offset + i, lane);
            check(memory_.store(at, bytes.at(i)), at);
        }
    }

    Execution& e_;
    const LaneAddresses& addresses_;
    AddressSpace::Cursor<access> memory_;
};

// Loads and stores without "flat_", "global_" or "scratch_"; all three have them.
std::span<const ScalarOp> flat_load_store_ops();
// Loads to LDS: GLOBAL and SCRATCH.
std::span<const ScalarOp> flat_lds_ops();
// Atomics: FLAT and GLOBAL.
std::span<const ScalarOp> flat_atomic_ops();
// FLAT has them on a gfx942 only.
std::span<const ScalarOp> flat_float_addition_ops(Segment segment);

} // namespace vgpu::isa
