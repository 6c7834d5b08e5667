// SPDX-License-Identifier: MIT
// Fields of the dwords, by instruction set.
#include "model/sq/relaunch_words.hpp"

namespace vgpu::sq::relaunch {

namespace {

using u32 = std::uint32_t;

constexpr u32 scratch_enabled = 1U << 15;
constexpr u32 last_wave = 1U << 16;
constexpr u32 first_wave = 1U << 17;
constexpr unsigned payload_bits = 30;

struct EngineField {
    unsigned shift;
    u32 mask;
};

constexpr EngineField engine_field(isa::Isa isa) {
    switch (isa) {
    case isa::Isa::gfx908: return {11, 7};
    case isa::Isa::gfx90a: return {9, 7};
    case isa::Isa::gfx942: return {9, 3};
    }
    return {9, 3};
}

} // namespace

u32 state_word(const Program& program, u32 lds_bytes) {
    // SPI gives 16 SGPRs more: the TTMPs.
    const u32 sgprs = (program.sgprs() + 16) / 16 - 1;
    const u32 common = state_bit | sgprs << 6 | lds_bytes / 512 << 9;
    if (program.two_files()) {
        return common | (program.arch_vgprs() / 4 - 1);
    }
    return common | (program.vgprs() / 8 - 1) | (program.arch_vgprs() / 4 - 1) << 24;
}

u32 encode(isa::Isa isa, const WaveWord& wave) {
    const EngineField engine = engine_field(isa);
    return (wave.scratch_slot & scratch_slot_mask) |
           (wave.shader_engine & engine.mask) << engine.shift |
           (wave.scratch ? scratch_enabled : 0) | (wave.first ? first_wave : 0) |
           (wave.last ? last_wave : 0);
}

WaveWord decode(isa::Isa isa, u32 word) {
    const EngineField engine = engine_field(isa);
    return {.scratch_slot = word & scratch_slot_mask,
            .shader_engine = word >> engine.shift & engine.mask,
            .scratch = (word & scratch_enabled) != 0,
            .first = (word & first_wave) != 0,
            .last = (word & last_wave) != 0};
}

void append_events(std::vector<u32>& words, std::span<const std::byte> bytes) {
    words.push_back(event_bit | static_cast<u32>(bytes.size()));
    std::uint64_t held = 0;
    unsigned bits = 0;
    for (const std::byte byte : bytes) {
        held |= std::to_integer<std::uint64_t>(byte) << bits;
        bits += 8;
        if (bits >= payload_bits) {
            words.push_back(event_bit | static_cast<u32>(held & event_payload));
            held >>= payload_bits;
            bits -= payload_bits;
        }
    }
    if (bits > 0) {
        words.push_back(event_bit | static_cast<u32>(held));
    }
}

std::optional<std::vector<std::byte>> take_events(std::span<const u32>& words) {
    const auto is_plain = [](u32 word) { return (word & (event_bit | state_bit)) == event_bit; };
    if (words.empty() || !is_plain(words[0])) {
        return std::nullopt;
    }
    const std::size_t count = words[0] & event_payload;
    if (words.size() < event_words(count)) {
        return std::nullopt;
    }
    std::vector<std::byte> bytes;
    bytes.reserve(count);
    std::uint64_t held = 0;
    unsigned bits = 0;
    for (const u32 word : words.subspan(1, event_words(count) - 1)) {
        if (!is_plain(word)) {
            return std::nullopt;
        }
        held |= std::uint64_t{word & event_payload} << bits;
        bits += payload_bits;
        for (; bits >= 8 && bytes.size() < count; bits -= 8) {
            bytes.push_back(static_cast<std::byte>(held & 0xff));
            held >>= 8;
        }
    }
    if (held != 0) {
        return std::nullopt;
    }
    words = words.subspan(event_words(count));
    return bytes;
}

} // namespace vgpu::sq::relaunch
