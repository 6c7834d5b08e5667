// SPDX-License-Identifier: MIT
// The dwords of a control stack, as SPI takes them to launch saved waves again.
#pragma once

#include "model/sq/program.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vgpu::sq::relaunch {

// ROCdbgapi reads them (architecture.cpp: control_stack_iterate, cwsr_record_t). Bit 30: an event,
// which it steps over. Bit 31: the state of the waves behind it. Else a wave.
inline constexpr std::uint32_t event_bit = 1U << 30;
inline constexpr std::uint32_t state_bit = 1U << 31;
inline constexpr std::uint32_t event_payload = event_bit - 1;

constexpr bool is_event(std::uint32_t word) {
    return (word & event_bit) != 0;
}
constexpr bool is_state(std::uint32_t word) {
    return !is_event(word) && (word & state_bit) != 0;
}

// Registers and LDS of the waves that follow.
std::uint32_t state_word(const Program& program, std::uint32_t lds_bytes);

struct WaveWord {
    std::uint32_t scratch_slot = 0; // 9 bits
    unsigned shader_engine = 0;
    bool scratch = false;
    bool first = false; // of the workgroup: its data has the LDS
    bool last = false;
};
inline constexpr std::uint32_t scratch_slot_mask = 0x1ff;

std::uint32_t encode(isa::Isa isa, const WaveWord& wave);
WaveWord decode(isa::Isa isa, std::uint32_t word);

// Bytes in events: their count, and 30 bits in each of the following.
void append_events(std::vector<std::uint32_t>& words, std::span<const std::byte> bytes);
// Takes them from the beginning of `words`. Nothing if other words are there.
std::optional<std::vector<std::byte>> take_events(std::span<const std::uint32_t>& words);
// Count of the words for so many bytes.
constexpr std::size_t event_words(std::size_t bytes) {
    return 1 + (bytes * 8 + 29) / 30;
}

} // namespace vgpu::sq::relaunch
