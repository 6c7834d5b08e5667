// SPDX-License-Identifier: MIT
// FLAT and GLOBAL: per-lane memory accesses and atomics. MI300 ISA, "FLAT Instructions".
#include "model/isa/vector_memory.hpp"

namespace vgpu::isa {

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

enum Segment : unsigned { flat = 0, scratch = 1, global = 2 };

Segment segment(const Execution& e) {
    return static_cast<Segment>(e.word0 >> 14 & 3);
}
bool returns_old(const Execution& e) {
    return (e.word0 >> 16 & 1) != 0;
}
bool acc(const Execution& e) {
    return (e.word1 >> 23 & 1) != 0;
}
unsigned vdst(const Execution& e) {
    return e.word1 >> 24;
}
unsigned vdata(const Execution& e) {
    return e.word1 >> 8 & 0xff;
}

// Where each lane goes: memory, or LDS when a FLAT address lies in the shared aperture.
class LaneAddresses {
public:
    explicit LaneAddresses(Execution& e) : e_(e) {
        constexpr unsigned no_saddr = 0x7f;
        const unsigned vaddr = e.word1 & 0xff;
        const unsigned saddr = e.word1 >> 16 & 0x7f;
        // 13 bits, signed; FLAT has 12 bits, unsigned.
        offset_ =
            segment(e) == flat ? i64{e.word0 & 0xfff} : i64{static_cast<i32>(e.word0 << 19) >> 19};
        low_ = vgpr_lanes(e, vaddr);
        if (segment(e) == global && saddr != no_saddr) {
            base_ = read_scalar64(e, saddr);
        } else {
            high_ = vgpr_lanes(e, vaddr + 1);
        }
    }
    u64 operator[](unsigned lane) const {
        u64 va = base_ + (*low_)[lane];
        if (high_ != nullptr) {
            va |= u64{(*high_)[lane]} << 32;
        }
        return va + static_cast<u64>(offset_);
    }
    // Position in LDS. The private aperture (scratch) is not modelled.
    std::optional<u64> lds(u64 va) const {
        const u64 aperture = va >> 48;
        if (segment(e_) != flat || aperture == 0 || aperture == 0xffff) {
            return std::nullopt;
        }
        if (aperture == e_.wave.sh_mem_bases >> 16) {
            return va & 0xffff'ffff;
        }
        if (aperture == (e_.wave.sh_mem_bases & 0xffff)) {
            e_.illegal("FLAT access to scratch not modelled");
        }
        return std::nullopt;
    }

private:
    Execution& e_;
    i64 offset_ = 0;
    u64 base_ = 0;
    const Words* low_ = nullptr;
    const Words* high_ = nullptr;
};

template <typename T> T load_lane(Execution& e, const LaneAddresses& addresses, u64 va) {
    T value{};
    if (const auto at = addresses.lds(va)) {
        return lds_load<T>(e.wave, *at);
    }
    if (!e.failed() && !e.memory.load(e.wave.vmid, va, value)) {
        e.fault(va);
    }
    return value;
}

template <typename T> void store_lane(Execution& e, const LaneAddresses& addresses, u64 va, T v) {
    if (const auto at = addresses.lds(va)) {
        lds_store<T>(e.wave, *at, v);
    } else if (!e.failed() && !e.memory.store(e.wave.vmid, va, v)) {
        e.fault(va);
    }
}

template <unsigned count> void load(Execution& e) {
    const LaneAddresses addresses(e);
    std::array<Words*, count> to{};
    if (!data_registers(e, vdst(e), acc(e), to) || e.failed()) {
        return;
    }
    std::array<Words, count> values; // an address register may be among the destinations
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const u64 va = addresses[lane];
        for (unsigned i = 0; i < count; ++i) {
            values[i][lane] = load_lane<u32>(e, addresses, va + u64{i} * 4);
        }
    });
    for (unsigned i = 0; i < count && !e.failed(); ++i) {
        merge_lanes(*to[i], values[i], e.wave.exec);
    }
}

template <unsigned count> void store(Execution& e) {
    const LaneAddresses addresses(e);
    std::array<Words*, count> from{};
    if (!data_registers(e, vdata(e), acc(e), from) || e.failed()) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const u64 va = addresses[lane];
        for (unsigned i = 0; i < count; ++i) {
            store_lane(e, addresses, va + u64{i} * 4, (*from[i])[lane]);
        }
    });
}

// `half` 0 and 1 are the d16 forms: they change only that half of the destination.
enum class Half : u8 { whole, low, high };

template <typename T, Half half = Half::whole> void load_narrow(Execution& e) {
    const LaneAddresses addresses(e);
    Words* to = data_lanes(e, vdst(e), acc(e));
    if (to == nullptr || e.failed()) {
        return;
    }
    Words values = *to;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const auto value = static_cast<u32>(i32{load_lane<T>(e, addresses, addresses[lane])});
        const u32 old = (*to)[lane];
        values[lane] = half == Half::whole ? value
                       : half == Half::low ? (old & 0xffff0000) | (value & 0xffff)
                                           : (old & 0xffff) | value << 16;
    });
    if (!e.failed()) {
        merge_lanes(*to, values, e.wave.exec);
    }
}

template <typename T, unsigned shift = 0> void store_narrow(Execution& e) {
    const LaneAddresses addresses(e);
    const Words* from = data_lanes(e, vdata(e), acc(e));
    if (from == nullptr || e.failed()) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        store_lane(e, addresses, addresses[lane], static_cast<T>((*from)[lane] >> shift));
    });
}

// Applies new = function(old, lane) at each lane's address; old goes to VDST when SC0 is set.
template <typename T, typename Function> void read_modify_write(Execution& e, Function function) {
    const LaneAddresses addresses(e);
    std::array<Words*, words_of<T>> to{};
    if (e.failed() || (returns_old(e) && !data_registers(e, vdst(e), acc(e), to))) {
        return;
    }
    std::array<T, lane_count> old_values{};
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const u64 va = addresses[lane];
        const auto change = [&](T old) { return function(old, lane); };
        if (const auto at = addresses.lds(va)) {
            old_values[lane] = lds_load<T>(e.wave, *at);
            lds_store<T>(e.wave, *at, change(old_values[lane]));
        } else if (!e.failed()) {
            old_values[lane] = atomic_update<T>(e, va, change).value_or(T{});
        }
    });
    if (returns_old(e) && !e.failed()) {
        for_each_lane(e.wave.exec,
                      [&](unsigned lane) { set_lane_value(to, lane, old_values[lane]); });
    }
}

template <typename T, auto operation> void update(Execution& e) {
    std::array<Words*, words_of<T>> from{};
    if (data_registers(e, vdata(e), acc(e), from)) {
        read_modify_write<T>(e, [&](T old, unsigned lane) -> T {
            return operation(old, lane_value<T>(from, 0, lane));
        });
    }
}

// VDATA holds the new value, then the value to compare with.
template <typename T> void compare_swap(Execution& e) {
    std::array<Words*, 2 * words_of<T>> from{};
    if (data_registers(e, vdata(e), acc(e), from)) {
        read_modify_write<T>(e, [&](T old, unsigned lane) -> T {
            const T expected = lane_value<T>(from, words_of<T>, lane);
            return old == expected ? lane_value<T>(from, 0, lane) : old;
        });
    }
}

// clang-format off
#define VGPU_FLAT_ATOMICS(U, S, suffix, base)                                                      \
    ScalarOp{(base) + 0, "atomic_swap" suffix, update<U, atomic::swap>},                           \
    ScalarOp{(base) + 1, "atomic_cmpswap" suffix, compare_swap<U>},                                \
    ScalarOp{(base) + 2, "atomic_add" suffix, update<U, atomic::add>},                             \
    ScalarOp{(base) + 3, "atomic_sub" suffix, update<U, atomic::sub>},                             \
    ScalarOp{(base) + 4, "atomic_smin" suffix, update<S, atomic::min>},                            \
    ScalarOp{(base) + 5, "atomic_umin" suffix, update<U, atomic::min>},                            \
    ScalarOp{(base) + 6, "atomic_smax" suffix, update<S, atomic::max>},                            \
    ScalarOp{(base) + 7, "atomic_umax" suffix, update<U, atomic::max>},                            \
    ScalarOp{(base) + 8, "atomic_and" suffix, update<U, atomic::bit_and>},                         \
    ScalarOp{(base) + 9, "atomic_or" suffix, update<U, atomic::bit_or>},                           \
    ScalarOp{(base) + 10, "atomic_xor" suffix, update<U, atomic::bit_xor>},                        \
    ScalarOp{(base) + 11, "atomic_inc" suffix, update<U, atomic::inc>},                            \
    ScalarOp{(base) + 12, "atomic_dec" suffix, update<U, atomic::dec>}

// Names without their "flat_" or "global_".
constexpr std::array ops{
    ScalarOp{16, "load_ubyte", load_narrow<u8>},
    ScalarOp{17, "load_sbyte", load_narrow<std::int8_t>},
    ScalarOp{18, "load_ushort", load_narrow<u16>},
    ScalarOp{19, "load_sshort", load_narrow<std::int16_t>},
    ScalarOp{20, "load_dword", load<1>},
    ScalarOp{21, "load_dwordx2", load<2>},
    ScalarOp{22, "load_dwordx3", load<3>},
    ScalarOp{23, "load_dwordx4", load<4>},
    ScalarOp{24, "store_byte", store_narrow<u8>},
    ScalarOp{25, "store_byte_d16_hi", store_narrow<u8, 16>},
    ScalarOp{26, "store_short", store_narrow<u16>},
    ScalarOp{27, "store_short_d16_hi", store_narrow<u16, 16>},
    ScalarOp{28, "store_dword", store<1>},
    ScalarOp{29, "store_dwordx2", store<2>},
    ScalarOp{30, "store_dwordx3", store<3>},
    ScalarOp{31, "store_dwordx4", store<4>},
    ScalarOp{32, "load_ubyte_d16", load_narrow<u8, Half::low>},
    ScalarOp{33, "load_ubyte_d16_hi", load_narrow<u8, Half::high>},
    ScalarOp{34, "load_sbyte_d16", load_narrow<std::int8_t, Half::low>},
    ScalarOp{35, "load_sbyte_d16_hi", load_narrow<std::int8_t, Half::high>},
    ScalarOp{36, "load_short_d16", load_narrow<u16, Half::low>},
    ScalarOp{37, "load_short_d16_hi", load_narrow<u16, Half::high>},
    VGPU_FLAT_ATOMICS(u32, i32, "", 64),
    ScalarOp{77, "atomic_add_f32", update<float, atomic::add>},
    ScalarOp{79, "atomic_add_f64", update<double, atomic::add>},
    VGPU_FLAT_ATOMICS(u64, i64, "_x2", 96),
};
#undef VGPU_FLAT_ATOMICS
// clang-format on

constexpr auto table = index_by_opcode<128>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_flat(Execution& e) {
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    const unsigned opcode = e.word0 >> 18 & 0x7f;
    if (segment(e) != flat && segment(e) != global) {
        e.illegal("SCRATCH not modelled");
    } else if (table[opcode] == nullptr) {
        e.illegal("opcode not modelled");
    } else {
        table[opcode](e);
    }
}

std::span<const OpName> flat_names() {
    return op_names;
}

} // namespace vgpu::isa
