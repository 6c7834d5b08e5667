// SPDX-License-Identifier: MIT
// DS: LDS loads, stores, read-modify-write and lane permutes. MI300 ISA, "DS Instructions".
#include "model/isa/vector_memory.hpp"

namespace vgpu::isa {

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

bool acc(const Execution& e) {
    return (e.word0 >> 25 & 1) != 0;
}
unsigned address_vgpr(const Execution& e) {
    return e.word1 & 0xff;
}
unsigned data0(const Execution& e) {
    return e.word1 >> 8 & 0xff;
}
unsigned data1(const Execution& e) {
    return e.word1 >> 16 & 0xff;
}
unsigned vdst(const Execution& e) {
    return e.word1 >> 24;
}
// One 16-bit offset, or two of 8 bits in units of an element (st64: of 64 elements).
u32 offset16(const Execution& e) {
    return e.word0 & 0xffff;
}
u32 offset0(const Execution& e) {
    return e.word0 & 0xff;
}
u32 offset1(const Execution& e) {
    return e.word0 >> 8 & 0xff;
}

template <typename T> void read_narrow(Execution& e) {
    const Words* address = vgpr_lanes(e, address_vgpr(e));
    Words* to = data_lanes(e, vdst(e), acc(e));
    if (address == nullptr || to == nullptr) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const T value = lds_load<T>(e.wave, u64{(*address)[lane]} + offset16(e));
        (*to)[lane] = static_cast<u32>(i32{value});
    });
}

template <typename T> void write_narrow(Execution& e) {
    const Words* address = vgpr_lanes(e, address_vgpr(e));
    const Words* from = data_lanes(e, data0(e), acc(e));
    if (address == nullptr || from == nullptr) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        lds_store(e.wave, u64{(*address)[lane]} + offset16(e), static_cast<T>((*from)[lane]));
    });
}

template <unsigned count> void read(Execution& e) {
    const Words* address_lanes = vgpr_lanes(e, address_vgpr(e));
    std::array<Words*, count> to{};
    if (address_lanes == nullptr || !data_registers(e, vdst(e), acc(e), to)) {
        return;
    }
    const Words addresses = *address_lanes; // the destination may overwrite them
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned i = 0; i < count; ++i) {
            const u64 at = u64{addresses[lane]} + offset16(e) + u64{i} * 4;
            (*to[i])[lane] = lds_load<u32>(e.wave, at);
        }
    });
}

template <unsigned count> void write(Execution& e) {
    const Words* address = vgpr_lanes(e, address_vgpr(e));
    std::array<Words*, count> from{};
    if (address == nullptr || !data_registers(e, data0(e), acc(e), from)) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned i = 0; i < count; ++i) {
            const u64 at = u64{(*address)[lane]} + offset16(e) + u64{i} * 4;
            lds_store(e.wave, at, (*from[i])[lane]);
        }
    });
}

// `stride` is 1, or 64 for the st64 forms.
template <typename T, unsigned stride> void read2(Execution& e) {
    constexpr unsigned words = words_of<T>;
    const Words* address_lanes = vgpr_lanes(e, address_vgpr(e));
    std::array<Words*, 2 * words> to{};
    if (address_lanes == nullptr || !data_registers(e, vdst(e), acc(e), to)) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned half = 0; half < 2; ++half) {
            const u64 offset = u64{half == 0 ? offset0(e) : offset1(e)} * sizeof(T) * stride;
            for (unsigned i = 0; i < words; ++i) {
                const u64 at = addresses[lane] + offset + u64{i} * 4;
                (*to[half * words + i])[lane] = lds_load<u32>(e.wave, at);
            }
        }
    });
}

template <typename T, unsigned stride> void write2(Execution& e) {
    constexpr unsigned words = words_of<T>;
    const Words* address = vgpr_lanes(e, address_vgpr(e));
    std::array<Words*, words> from0{};
    std::array<Words*, words> from1{};
    if (address == nullptr || !data_registers(e, data0(e), acc(e), from0) ||
        !data_registers(e, data1(e), acc(e), from1)) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned half = 0; half < 2; ++half) {
            const u64 offset = u64{half == 0 ? offset0(e) : offset1(e)} * sizeof(T) * stride;
            for (unsigned i = 0; i < words; ++i) {
                const u64 at = (*address)[lane] + offset + u64{i} * 4;
                lds_store(e.wave, at, (*(half == 0 ? from0 : from1)[i])[lane]);
            }
        }
    });
}

// Lanes take their turns in order; hardware promises none.
template <typename T, auto operation, bool returns> void update(Execution& e) {
    const Words* address_lanes = vgpr_lanes(e, address_vgpr(e));
    std::array<Words*, words_of<T>> from{};
    std::array<Words*, words_of<T>> to{};
    if (address_lanes == nullptr || !data_registers(e, data0(e), acc(e), from) ||
        (returns && !data_registers(e, vdst(e), acc(e), to))) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const u64 at = u64{addresses[lane]} + offset16(e);
        const T old = lds_load<T>(e.wave, at);
        lds_store<T>(e.wave, at, operation(old, lane_value<T>(from, 0, lane)));
        if constexpr (returns) {
            set_lane_value(to, lane, old);
        }
    });
}

// Compare with DATA0, store DATA1.
template <typename T, bool returns> void compare_store(Execution& e) {
    const Words* address_lanes = vgpr_lanes(e, address_vgpr(e));
    std::array<Words*, words_of<T>> compare{};
    std::array<Words*, words_of<T>> value{};
    std::array<Words*, words_of<T>> to{};
    if (address_lanes == nullptr || !data_registers(e, data0(e), acc(e), compare) ||
        !data_registers(e, data1(e), acc(e), value) ||
        (returns && !data_registers(e, vdst(e), acc(e), to))) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const u64 at = u64{addresses[lane]} + offset16(e);
        const T old = lds_load<T>(e.wave, at);
        if (old == lane_value<T>(compare, 0, lane)) {
            lds_store<T>(e.wave, at, lane_value<T>(value, 0, lane));
        }
        if constexpr (returns) {
            set_lane_value(to, lane, old);
        }
    });
}

// bpermute: lane reads from lane ADDR/4; permute: lane writes to lane ADDR/4. Lanes off give 0.
template <bool backward> void permute(Execution& e) {
    const Words* address = vgpr_lanes(e, address_vgpr(e));
    const Words* from = data_lanes(e, data0(e), acc(e));
    Words* to = data_lanes(e, vdst(e), acc(e));
    if (address == nullptr || from == nullptr || to == nullptr) {
        return;
    }
    Words result{};
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const unsigned other = ((*address)[lane] + offset16(e)) / 4 % lane_count;
        if constexpr (backward) {
            result[lane] = (e.wave.exec >> other & 1) != 0 ? (*from)[other] : 0;
        } else {
            result[other] = (*from)[lane];
        }
    });
    merge_lanes(*to, result, e.wave.exec);
}

void no_effect(Execution&) {}

// clang-format off
#define VGPU_DS_UPDATES(U, S, suffix, unsigned_suffix, signed_suffix, base, returns, rtn)          \
    ScalarOp{(base) + 0, "ds_add_" rtn unsigned_suffix, update<U, atomic::add, returns>},          \
    ScalarOp{(base) + 1, "ds_sub_" rtn unsigned_suffix, update<U, atomic::sub, returns>},          \
    ScalarOp{(base) + 2, "ds_rsub_" rtn unsigned_suffix, update<U, atomic::rsub, returns>},        \
    ScalarOp{(base) + 3, "ds_inc_" rtn unsigned_suffix, update<U, atomic::inc, returns>},          \
    ScalarOp{(base) + 4, "ds_dec_" rtn unsigned_suffix, update<U, atomic::dec, returns>},          \
    ScalarOp{(base) + 5, "ds_min_" rtn signed_suffix, update<S, atomic::min, returns>},            \
    ScalarOp{(base) + 6, "ds_max_" rtn signed_suffix, update<S, atomic::max, returns>},            \
    ScalarOp{(base) + 7, "ds_min_" rtn unsigned_suffix, update<U, atomic::min, returns>},          \
    ScalarOp{(base) + 8, "ds_max_" rtn unsigned_suffix, update<U, atomic::max, returns>},          \
    ScalarOp{(base) + 9, "ds_and_" rtn suffix, update<U, atomic::bit_and, returns>},               \
    ScalarOp{(base) + 10, "ds_or_" rtn suffix, update<U, atomic::bit_or, returns>},                \
    ScalarOp{(base) + 11, "ds_xor_" rtn suffix, update<U, atomic::bit_xor, returns>}

constexpr std::array ops{
    VGPU_DS_UPDATES(u32, i32, "b32", "u32", "i32", 0, false, ""),
    VGPU_DS_UPDATES(u32, i32, "b32", "u32", "i32", 32, true, "rtn_"),
    VGPU_DS_UPDATES(u64, i64, "b64", "u64", "i64", 64, false, ""),
    VGPU_DS_UPDATES(u64, i64, "b64", "u64", "i64", 96, true, "rtn_"),
    ScalarOp{13, "ds_write_b32", write<1>},
    ScalarOp{14, "ds_write2_b32", write2<u32, 1>},
    ScalarOp{15, "ds_write2st64_b32", write2<u32, 64>},
    ScalarOp{16, "ds_cmpst_b32", compare_store<u32, false>},
    ScalarOp{20, "ds_nop", no_effect},
    ScalarOp{21, "ds_add_f32", update<float, atomic::add, false>},
    ScalarOp{30, "ds_write_b8", write_narrow<u8>},
    ScalarOp{31, "ds_write_b16", write_narrow<u16>},
    ScalarOp{45, "ds_wrxchg_rtn_b32", update<u32, atomic::swap, true>},
    ScalarOp{48, "ds_cmpst_rtn_b32", compare_store<u32, true>},
    ScalarOp{53, "ds_add_rtn_f32", update<float, atomic::add, true>},
    ScalarOp{54, "ds_read_b32", read<1>},
    ScalarOp{55, "ds_read2_b32", read2<u32, 1>},
    ScalarOp{56, "ds_read2st64_b32", read2<u32, 64>},
    ScalarOp{57, "ds_read_i8", read_narrow<std::int8_t>},
    ScalarOp{58, "ds_read_u8", read_narrow<u8>},
    ScalarOp{59, "ds_read_i16", read_narrow<std::int16_t>},
    ScalarOp{60, "ds_read_u16", read_narrow<u16>},
    ScalarOp{62, "ds_permute_b32", permute<false>},
    ScalarOp{63, "ds_bpermute_b32", permute<true>},
    ScalarOp{77, "ds_write_b64", write<2>},
    ScalarOp{78, "ds_write2_b64", write2<u64, 1>},
    ScalarOp{79, "ds_write2st64_b64", write2<u64, 64>},
    ScalarOp{80, "ds_cmpst_b64", compare_store<u64, false>},
    ScalarOp{109, "ds_wrxchg_rtn_b64", update<u64, atomic::swap, true>},
    ScalarOp{112, "ds_cmpst_rtn_b64", compare_store<u64, true>},
    ScalarOp{118, "ds_read_b64", read<2>},
    ScalarOp{119, "ds_read2_b64", read2<u64, 1>},
    ScalarOp{120, "ds_read2st64_b64", read2<u64, 64>},
    ScalarOp{222, "ds_write_b96", write<3>},
    ScalarOp{223, "ds_write_b128", write<4>},
    ScalarOp{254, "ds_read_b96", read<3>},
    ScalarOp{255, "ds_read_b128", read<4>},
};
#undef VGPU_DS_UPDATES
// clang-format on

constexpr auto table = index_by_opcode<256>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_ds(Execution& e) {
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    const bool gds = (e.word0 >> 16 & 1) != 0;
    const unsigned opcode = e.word0 >> 17 & 0xff;
    if (gds || table[opcode] == nullptr) {
        e.illegal(gds ? "GDS not modelled" : "opcode not modelled");
        return;
    }
    table[opcode](e);
}

std::span<const OpName> ds_names() {
    return op_names;
}

} // namespace vgpu::isa
