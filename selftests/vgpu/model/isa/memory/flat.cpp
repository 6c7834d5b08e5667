// SPDX-License-Identifier: MIT
// FLAT, GLOBAL and SCRATCH: addresses and the merged opcode tables. MI300 ISA, "FLAT".
#include "model/isa/memory/flat.hpp"

#include <vector>

namespace vgpu::isa {

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
LaneAddresses::LaneAddresses(Execution& e, const FlatInstruction& i)
    : wave_(e.wave), segment_(i.segment) {
    if (i.segment == Segment::scratch) {
        scratch(e, i);
    } else {
        global(e, i);
    }
}

void LaneAddresses::global(Execution& e, const FlatInstruction& i) {
    const Words* low = vgpr_lanes(e, i.vaddr);
    const auto offset = static_cast<std::uint64_t>(std::int64_t{i.offset});
    if (i.has_saddr()) {
        const std::uint64_t base = read_scalar64(e, i.saddr) + offset;
        for (unsigned lane = 0; lane < lane_count && low != nullptr; ++lane) {
            va_[lane] = base + (*low)[lane];
        }
        return;
    }
    const Words* high = vgpr_lanes(e, i.vaddr + 1);
    for (unsigned lane = 0; lane < lane_count && low != nullptr && high != nullptr; ++lane) {
        va_[lane] = ((*low)[lane] | std::uint64_t{(*high)[lane]} << 32) + offset;
    }
}

// 32 bits of offset: VADDR, SADDR, both or neither, and the instruction's.
void LaneAddresses::scratch(Execution& e, const FlatInstruction& i) {
    const std::uint32_t base =
        static_cast<std::uint32_t>(i.offset) + (i.has_saddr() ? read_scalar(e, i.saddr) : 0);
    const Words* vector = i.sve ? vgpr_lanes(e, i.vaddr) : nullptr;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        va_[lane] = base + (vector != nullptr ? (*vector)[lane] : 0U);
    }
    same_scratch_ = vector == nullptr && base % 4 == 0 && wave_.flat_scratch() % 256 == 0 &&
                    wave_.exec == ~0ULL;
    if (wave_.flat_scratch() == 0 && wave_.exec != 0) {
        e.violate_aperture(va_[0]); // SPI has set no scratch up for this wave
    }
}

Space LaneAddresses::space(std::uint64_t va) const {
    if (segment_ != Segment::flat) {
        return segment_ == Segment::global ? Space::memory : Space::scratch;
    }
    const std::uint64_t top = va >> 48;
    if (top == 0 || top == 0xffff) [[likely]] {
        return Space::memory;
    }
    // Both apertures have 4 GiB.
    if ((va >> 32 & 0xffff) != 0) {
        return Space::none;
    }
    if (top == wave_.sh_mem_bases >> 16) {
        return Space::lds;
    }
    const bool scratch = top == (wave_.sh_mem_bases & 0xffff) && wave_.flat_scratch() != 0;
    return scratch ? Space::scratch : Space::none;
}

bool LaneAddresses::contiguous(unsigned bytes) const {
    constexpr std::uint64_t page = AddressSpace::page_bytes;
    const std::uint64_t first = va_[0];
    if (wave_.exec != ~0ULL || segment_ == Segment::scratch || first % 4 != 0 ||
        first % page + std::uint64_t{bytes} * lane_count > page ||
        (segment_ == Segment::flat && space(first) != Space::memory)) {
        return false;
    }
    std::uint64_t different = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        different |= va_[lane] ^ (first + std::uint64_t{lane} * bytes);
    }
    return different == 0;
}

namespace {

constexpr unsigned opcode_count = 128;

std::vector<std::span<const ScalarOp>> families(Segment segment) {
    std::vector<std::span<const ScalarOp>> chosen{flat_load_store_ops()};
    if (segment != Segment::flat) {
        chosen.push_back(flat_lds_ops());
    }
    if (segment != Segment::scratch) {
        chosen.push_back(flat_atomic_ops());
        chosen.push_back(flat_float_addition_ops(segment));
    }
    return chosen;
}

auto tables_of(Segment segment) {
    return index_families<opcode_count>(families(segment));
}

} // namespace

void execute_flat(Execution& e) {
    static const std::array tables{
        tables_of(Segment::flat),
        tables_of(Segment::scratch),
        tables_of(Segment::global),
    };
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    if (e.wave.isa != Isa::gfx942 && (e.word0 >> 13 & 1) != 0) {
        e.illegal("FLAT with LDS bit not modelled");
        return;
    }
    const unsigned segment = e.word0 >> 14 & 3;
    const unsigned opcode = e.word0 >> 18 & 0x7f;
    const ScalarHandler handler =
        segment < tables.size() ? tables[segment][e.wave.isa][opcode] : nullptr;
    if (handler == nullptr) {
        e.illegal("opcode not modelled");
        return;
    }
    handler(e);
}

std::vector<OpName> flat_names(Segment segment) {
    return names_of_families(families(segment));
}

} // namespace vgpu::isa
