// SPDX-License-Identifier: MIT
// Scalar operands that aren't plain SGPRs. MI300 ISA, "Scalar ALU Operands".
#include "model/isa/operands.hpp"

#include <array>
#include <bit>

namespace vgpu::isa {

namespace {

// 0.5 -0.5 1.0 -1.0 2.0 -2.0 4.0 -4.0 and 1/(2*pi), codes 240 to 248.
constexpr std::array<std::uint32_t, 9> float_constants{
    0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
    0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983,
};
constexpr std::array<std::uint64_t, 9> double_constants{
    0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
    0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
    0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882,
};

// Where FLAT_SCRATCH, XNACK_MASK and VCC (codes 102 to 107) sit in the allocation.
std::size_t special_sgpr(const WaveState& wave, unsigned code) {
    return wave.sgpr.size() - 6 + (code - source::flat_scratch_lo);
}

bool is_inline_integer(unsigned code) {
    return code >= source::zero && code <= 208;
}

std::int32_t inline_integer(unsigned code) {
    return code <= 192 ? static_cast<std::int32_t>(code - source::zero)
                       : -static_cast<std::int32_t>(code - 192);
}

// Apertures: the upper 16 bits of an address, as src_shared_base & co. show them in the high half.
std::uint64_t aperture(const WaveState& wave, unsigned code) {
    const bool shared = code <= source::shared_base + 1;
    const bool limit = (code - source::shared_base) % 2 == 1;
    const std::uint64_t top = shared ? wave.sh_mem_bases >> 16 : wave.sh_mem_bases & 0xffff;
    return top << 48 | (limit ? 0xffff'ffffULL : 0);
}

bool is_aperture(unsigned code) {
    return code >= source::shared_base && code < source::shared_base + 4;
}

} // namespace

std::uint32_t read_scalar_slow(Execution& e, unsigned code) {
    const WaveState& wave = e.wave;
    if (is_inline_integer(code)) {
        return static_cast<std::uint32_t>(inline_integer(code));
    }
    if (code >= source::flat_scratch_lo && code < source::ttmp0) {
        return wave.sgpr[special_sgpr(wave, code)];
    }
    if (code >= source::ttmp0 && code <= source::ttmp15) {
        // Trap temporaries read as zero outside the trap handler.
        return wave.priv ? wave.ttmp[code - source::ttmp0] : 0;
    }
    if (code >= source::half && code <= source::inverse_two_pi) {
        return float_constants[code - source::half];
    }
    switch (code) {
    case source::m0: return wave.m0;
    case source::exec_lo: return static_cast<std::uint32_t>(wave.exec);
    case source::exec_hi: return static_cast<std::uint32_t>(wave.exec >> 32);
    case source::vccz: return wave.vcc() == 0 ? 1 : 0;
    case source::execz: return wave.exec == 0 ? 1 : 0;
    case source::scc: return wave.scc ? 1 : 0;
    case source::literal: return e.literal();
    default: break;
    }
    if (is_aperture(code)) {
        return static_cast<std::uint32_t>(aperture(wave, code));
    }
    if (code >= source::sgpr_end) {
        e.illegal("scalar operand");
    } else {
        reach_too_far(e);
        return wave.sgpr[0];
    }
    return 0;
}

std::uint64_t read_scalar64_slow(Execution& e, unsigned code, Wide wide) {
    if (is_inline_integer(code)) {
        return static_cast<std::uint64_t>(std::int64_t{inline_integer(code)});
    }
    if (code >= source::half && code <= source::inverse_two_pi) {
        return double_constants[code - source::half];
    }
    if (code == source::literal) {
        // A double takes the literal as its high half.
        const std::uint64_t value = e.literal();
        return wide == Wide::floating ? value << 32 : value;
    }
    if (is_aperture(code)) {
        return aperture(e.wave, code);
    }
    if (code >= source::vccz) {
        return read_scalar(e, code);
    }
    const std::uint64_t low = read_scalar(e, code);
    return low | static_cast<std::uint64_t>(read_scalar(e, code + 1)) << 32;
}

void write_scalar_slow(Execution& e, unsigned code, std::uint32_t value) {
    WaveState& wave = e.wave;
    if (code >= source::flat_scratch_lo && code < source::ttmp0) {
        wave.sgpr[special_sgpr(wave, code)] = value;
    } else if (code >= source::ttmp0 && code <= source::ttmp15) {
        if (wave.priv) {
            wave.ttmp[code - source::ttmp0] = value;
        }
    } else if (code == source::m0) {
        wave.m0 = value;
    } else if (code == source::exec_lo) {
        wave.exec = (wave.exec & ~0xffff'ffffULL) | value;
    } else if (code == source::exec_hi) {
        wave.exec = (wave.exec & 0xffff'ffffULL) | static_cast<std::uint64_t>(value) << 32;
    } else if (code >= source::sgpr_end) {
        e.illegal("scalar destination");
    } else {
        reach_too_far(e);
    }
}

} // namespace vgpu::isa
