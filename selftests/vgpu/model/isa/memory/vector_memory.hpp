// SPDX-License-Identifier: MIT
// Helpers of DS, MUBUF and FLAT: data registers, lanes and LDS accesses.
#pragma once

#include "model/isa/vector/vector_alu.hpp"

#include <cstring>

namespace vgpu::isa {

// A data operand: memory instructions reach AccVGPRs as well. Null (and `illegal`) beyond them.
inline Words* data_lanes(Execution& e, unsigned index, bool acc) {
    const unsigned base = acc ? e.wave.arch_vgprs : 0;
    const unsigned count = acc ? e.wave.acc_vgprs() : e.wave.arch_vgprs;
    if (index >= count) {
        e.illegal("data VGPR beyond the allocation");
        return nullptr;
    }
    return &e.wave.vgpr[base + index].lane;
}

// `count` consecutive data registers from `first`.
template <std::size_t count>
bool data_registers(Execution& e, unsigned first, bool acc, std::array<Words*, count>& registers) {
    for (unsigned i = 0; i < count; ++i) {
        registers[i] = data_lanes(e, first + i, acc);
        if (registers[i] == nullptr) {
            return false;
        }
    }
    return true;
}

// Where a load of 16 bits or less leaves its value. d16 forms clear the other half: a GPU whose
// SRAM has ECC (sramecc+, as an MI300X) writes whole words. LLVM:
// GCNSubtarget::d16PreservesUnusedBits().
enum class D16 : std::uint8_t { whole, low, high };
template <D16 half> std::uint32_t in_half(std::uint32_t value) {
    switch (half) {
    case D16::low: return value & 0xffff;
    case D16::high: return value << 16;
    default: return value;
    }
}

template <typename Function> void for_each_lane(std::uint64_t exec, Function function) {
    for (; exec != 0; exec &= exec - 1) {
        function(static_cast<unsigned>(std::countr_zero(exec)));
    }
}

// LDS: accesses beyond the workgroup's allocation read 0 and write nothing (MI300 ISA, "LDS").
template <typename T> T lds_load(const WaveState& wave, std::uint64_t address) {
    T value{};
    if (address + sizeof(T) <= wave.lds.size()) {
        std::memcpy(&value, wave.lds.data() + address, sizeof(T));
    }
    return value;
}
template <typename T> void lds_store(WaveState& wave, std::uint64_t address, T value) {
    if (address + sizeof(T) <= wave.lds.size()) {
        std::memcpy(wave.lds.data() + address, &value, sizeof(T));
    }
}

// A T from one or two data registers, and back.
template <typename T> constexpr unsigned words_of = sizeof(T) / 4;
template <typename T, std::size_t count>
T lane_value(const std::array<Words*, count>& registers, unsigned from, unsigned lane) {
    if constexpr (sizeof(T) == 8) {
        return std::bit_cast<T>((*registers[from])[lane] |
                                static_cast<std::uint64_t>((*registers[from + 1])[lane]) << 32);
    } else {
        return std::bit_cast<T>((*registers[from])[lane]);
    }
}
template <typename T, std::size_t count>
void set_lane_value(const std::array<Words*, count>& registers, unsigned lane, T value) {
    const auto words = std::bit_cast<std::array<std::uint32_t, words_of<T>>>(value);
    for (unsigned i = 0; i < words_of<T>; ++i) {
        (*registers[i])[lane] = words[i];
    }
}

} // namespace vgpu::isa
