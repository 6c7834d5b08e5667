// SPDX-License-Identifier: MIT
// DS: atomics on LDS, exchanges, and the counters that a whole wave shares. Lanes take their turns
// in order; hardware promises none.
#include "model/isa/memory/atomics.hpp"
#include "model/isa/memory/ds.hpp"

#include <bit>

namespace vgpu::isa {

namespace {

// new = operation(old, DATA0)
template <typename T, auto operation, bool returns> void ds_update(Execution& e) {
    const DsInstruction i(e);
    const Words* address_lanes = vgpr_lanes(e, i.address);
    std::array<Words*, words_of<T>> from{};
    std::array<Words*, words_of<T>> to{};
    if (address_lanes == nullptr || !data_registers(e, i.data0, i.acc, from) ||
        (returns && !data_registers(e, i.vdst, i.acc, to))) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const std::uint64_t at = ds_address(addresses[lane], i.offset);
        const T old = lds_load<T>(e.wave, at);
        lds_store<T>(e.wave, at, operation(old, lane_value<T>(from, 0, lane)));
        if constexpr (returns) {
            set_lane_value(to, lane, old);
        }
    });
}

// new = operation(old, DATA0, DATA1)
template <typename T, auto operation, bool returns> void ds_update2(Execution& e) {
    const DsInstruction i(e);
    const Words* address_lanes = vgpr_lanes(e, i.address);
    std::array<Words*, words_of<T>> first{};
    std::array<Words*, words_of<T>> second{};
    std::array<Words*, words_of<T>> to{};
    if (address_lanes == nullptr || !data_registers(e, i.data0, i.acc, first) ||
        !data_registers(e, i.data1, i.acc, second) ||
        (returns && !data_registers(e, i.vdst, i.acc, to))) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const std::uint64_t at = ds_address(addresses[lane], i.offset);
        const T old = lds_load<T>(e.wave, at);
        lds_store<T>(e.wave, at,
                     operation(old, lane_value<T>(first, 0, lane), lane_value<T>(second, 0, lane)));
        if constexpr (returns) {
            set_lane_value(to, lane, old);
        }
    });
}

// Compare with DATA0, store DATA1.
constexpr auto compare_store = [](auto old, auto compare, auto value) {
    return old == compare ? value : old;
};

constexpr auto masked_or = [](auto old, auto mask, auto value) { return (old & ~mask) | value; };
constexpr auto wrap = [](u32 old, u32 limit, u32 step) {
    return old >= limit ? old - limit : old + step;
};

// Two exchanges, at ADDR + offset0 and offset1 elements; `stride` is 1, or 64 for st64.
template <typename T, unsigned stride> void exchange2(Execution& e) {
    constexpr unsigned words = words_of<T>;
    const DsInstruction i(e);
    const Words* address_lanes = vgpr_lanes(e, i.address);
    std::array<Words*, words> from0{};
    std::array<Words*, words> from1{};
    std::array<Words*, std::size_t{2} * words> to{};
    if (address_lanes == nullptr || !data_registers(e, i.data0, i.acc, from0) ||
        !data_registers(e, i.data1, i.acc, from1) || !data_registers(e, i.vdst, i.acc, to)) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const std::array<T, 2> values{lane_value<T>(from0, 0, lane), lane_value<T>(from1, 0, lane)};
        for (unsigned half = 0; half < 2; ++half) {
            const u32 offset = half == 0 ? i.offset0 : i.offset1;
            const u64 at = ds_address(addresses[lane], offset * u32{sizeof(T)} * stride);
            const T old = lds_load<T>(e.wave, at);
            lds_store<T>(e.wave, at, values.at(half));
            for (unsigned word = 0; word < words; ++word) {
                (*to[half * words + word])[lane] = static_cast<u32>(u64{old} >> (32 * word));
            }
        }
    });
}

// The dword at M0[15:0] + offset grows (append) or shrinks (consume) by the number of lanes that
// are on; each of them gets what it was.
template <bool append> void count_lanes(Execution& e) {
    const DsInstruction i(e);
    Words* to = data_lanes(e, i.vdst, i.acc);
    if (to == nullptr) {
        return;
    }
    const u64 at = u64{e.wave.m0 & 0xffff} + i.offset;
    const auto lanes = static_cast<u32>(std::popcount(e.wave.exec));
    const auto old = lds_load<u32>(e.wave, at);
    lds_store<u32>(e.wave, at, append ? old + lanes : old - lanes);
    for_each_lane(e.wave.exec, [&](unsigned lane) { (*to)[lane] = old; });
}

// clang-format off
#define VGPU_DS_UPDATES(U, S, suffix, unsigned_suffix, signed_suffix, base, returns, rtn)          \
    ScalarOp{(base) + 0, "ds_add_" rtn unsigned_suffix, ds_update<U, atomic::add, returns>},       \
    ScalarOp{(base) + 1, "ds_sub_" rtn unsigned_suffix, ds_update<U, atomic::sub, returns>},       \
    ScalarOp{(base) + 2, "ds_rsub_" rtn unsigned_suffix, ds_update<U, atomic::rsub, returns>},     \
    ScalarOp{(base) + 3, "ds_inc_" rtn unsigned_suffix, ds_update<U, atomic::inc, returns>},       \
    ScalarOp{(base) + 4, "ds_dec_" rtn unsigned_suffix, ds_update<U, atomic::dec, returns>},       \
    ScalarOp{(base) + 5, "ds_min_" rtn signed_suffix, ds_update<S, atomic::min, returns>},         \
    ScalarOp{(base) + 6, "ds_max_" rtn signed_suffix, ds_update<S, atomic::max, returns>},         \
    ScalarOp{(base) + 7, "ds_min_" rtn unsigned_suffix, ds_update<U, atomic::min, returns>},       \
    ScalarOp{(base) + 8, "ds_max_" rtn unsigned_suffix, ds_update<U, atomic::max, returns>},       \
    ScalarOp{(base) + 9, "ds_and_" rtn suffix, ds_update<U, atomic::bit_and, returns>},            \
    ScalarOp{(base) + 10, "ds_or_" rtn suffix, ds_update<U, atomic::bit_or, returns>},             \
    ScalarOp{(base) + 11, "ds_xor_" rtn suffix, ds_update<U, atomic::bit_xor, returns>},           \
    ScalarOp{(base) + 12, "ds_mskor_" rtn suffix, ds_update2<U, masked_or, returns>}

#define VGPU_DS_FLOATS(T, suffix, base, returns, rtn)                                              \
    ScalarOp{(base) + 0, "ds_cmpst_" rtn suffix, ds_update2<T, compare_store, returns>},           \
    ScalarOp{(base) + 1, "ds_min_" rtn suffix, ds_update<T, atomic::min_float, returns>},          \
    ScalarOp{(base) + 2, "ds_max_" rtn suffix, ds_update<T, atomic::max_float, returns>}

constexpr std::array ops{
    VGPU_DS_UPDATES(u32, i32, "b32", "u32", "i32", 0, false, ""),
    VGPU_DS_UPDATES(u32, i32, "b32", "u32", "i32", 32, true, "rtn_"),
    VGPU_DS_UPDATES(u64, i64, "b64", "u64", "i64", 64, false, ""),
    VGPU_DS_UPDATES(u64, i64, "b64", "u64", "i64", 96, true, "rtn_"),
    ScalarOp{16, "ds_cmpst_b32", ds_update2<u32, compare_store, false>},
    ScalarOp{45, "ds_wrxchg_rtn_b32", ds_update<u32, atomic::swap, true>},
    ScalarOp{46, "ds_wrxchg2_rtn_b32", exchange2<u32, 1>},
    ScalarOp{47, "ds_wrxchg2st64_rtn_b32", exchange2<u32, 64>},
    ScalarOp{48, "ds_cmpst_rtn_b32", ds_update2<u32, compare_store, true>},
    ScalarOp{52, "ds_wrap_rtn_b32", ds_update2<u32, wrap, true>},
    ScalarOp{80, "ds_cmpst_b64", ds_update2<u64, compare_store, false>},
    ScalarOp{109, "ds_wrxchg_rtn_b64", ds_update<u64, atomic::swap, true>},
    ScalarOp{110, "ds_wrxchg2_rtn_b64", exchange2<u64, 1>},
    ScalarOp{111, "ds_wrxchg2st64_rtn_b64", exchange2<u64, 64>},
    ScalarOp{112, "ds_cmpst_rtn_b64", ds_update2<u64, compare_store, true>},
    ScalarOp{189, "ds_consume", count_lanes<false>},
    ScalarOp{190, "ds_append", count_lanes<true>},
    VGPU_DS_FLOATS(float, "f32", 17, false, ""),
    VGPU_DS_FLOATS(float, "f32", 49, true, "rtn_"),
    VGPU_DS_FLOATS(double, "f64", 81, false, ""),
    VGPU_DS_FLOATS(double, "f64", 113, true, "rtn_"),
    ScalarOp{21, "ds_add_f32", ds_update<float, atomic::add, false>},
    ScalarOp{53, "ds_add_rtn_f32", ds_update<float, atomic::add, true>},
    ScalarOp{92, "ds_add_f64", ds_update<double, atomic::add, false>, since_gfx90a},
    ScalarOp{124, "ds_add_rtn_f64", ds_update<double, atomic::add, true>, since_gfx90a},
    ScalarOp{23, "ds_pk_add_f16", ds_update<u32, atomic::pk_add_f16, false>, only::gfx942},
    ScalarOp{24, "ds_pk_add_bf16", ds_update<u32, atomic::pk_add_bf16, false>, only::gfx942},
    ScalarOp{183, "ds_pk_add_rtn_f16", ds_update<u32, atomic::pk_add_f16, true>, only::gfx942},
    ScalarOp{184, "ds_pk_add_rtn_bf16", ds_update<u32, atomic::pk_add_bf16, true>, only::gfx942},
};
#undef VGPU_DS_UPDATES
#undef VGPU_DS_FLOATS
// clang-format on

} // namespace

std::span<const ScalarOp> ds_atomic_ops() {
    return ops;
}

} // namespace vgpu::isa
