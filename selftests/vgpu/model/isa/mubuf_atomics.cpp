// SPDX-License-Identifier: MIT
// MUBUF: atomics on buffers. A lane out of range changes nothing and gets 0.
#include "model/isa/atomic_floats.hpp"
#include "model/isa/mubuf.hpp"

namespace vgpu::isa {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

// new = function(old, lane); the old values replace VDATA when SC0 is set.
template <typename T, typename Function>
void read_modify_write(Execution& e, const BufferInstruction& i, Function function) {
    const BufferAddresses buffer(e, i);
    std::array<Words*, words_of<T>> to{};
    if (e.failed() || !data_registers(e, i.vdata, i.acc, to)) {
        return;
    }
    std::array<T, lane_count> old_values{};
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        if (e.failed() || !buffer.in_range(lane, 0, sizeof(T))) {
            return;
        }
        const auto change = [&](T old) { return function(old, lane); };
        old_values[lane] = atomic_update<T>(e, buffer[lane], change).value_or(T{});
    });
    if (i.returns_old && !e.failed()) {
        for_each_lane(e.wave.exec,
                      [&](unsigned lane) { set_lane_value(to, lane, old_values[lane]); });
    }
}

template <typename T, auto operation> void update(Execution& e) {
    const BufferInstruction i(e);
    std::array<Words*, words_of<T>> from{};
    if (data_registers(e, i.vdata, i.acc, from)) {
        read_modify_write<T>(e, i, [&](T old, unsigned lane) -> T {
            return operation(old, lane_value<T>(from, 0, lane));
        });
    }
}

// VDATA holds the new value, then the value to compare with.
template <typename T> void compare_swap(Execution& e) {
    const BufferInstruction i(e);
    std::array<Words*, 2 * words_of<T>> from{};
    if (data_registers(e, i.vdata, i.acc, from)) {
        read_modify_write<T>(e, i, [&](T old, unsigned lane) -> T {
            const T expected = lane_value<T>(from, words_of<T>, lane);
            return old == expected ? lane_value<T>(from, 0, lane) : old;
        });
    }
}

// clang-format off
#define VGPU_BUFFER_ATOMICS(U, S, suffix, base)                                                    \
    ScalarOp{(base) + 0, "buffer_atomic_swap" suffix, update<U, atomic::swap>},                    \
    ScalarOp{(base) + 1, "buffer_atomic_cmpswap" suffix, compare_swap<U>},                         \
    ScalarOp{(base) + 2, "buffer_atomic_add" suffix, update<U, atomic::add>},                      \
    ScalarOp{(base) + 3, "buffer_atomic_sub" suffix, update<U, atomic::sub>},                      \
    ScalarOp{(base) + 4, "buffer_atomic_smin" suffix, update<S, atomic::min>},                     \
    ScalarOp{(base) + 5, "buffer_atomic_umin" suffix, update<U, atomic::min>},                     \
    ScalarOp{(base) + 6, "buffer_atomic_smax" suffix, update<S, atomic::max>},                     \
    ScalarOp{(base) + 7, "buffer_atomic_umax" suffix, update<U, atomic::max>},                     \
    ScalarOp{(base) + 8, "buffer_atomic_and" suffix, update<U, atomic::bit_and>},                  \
    ScalarOp{(base) + 9, "buffer_atomic_or" suffix, update<U, atomic::bit_or>},                    \
    ScalarOp{(base) + 10, "buffer_atomic_xor" suffix, update<U, atomic::bit_xor>},                 \
    ScalarOp{(base) + 11, "buffer_atomic_inc" suffix, update<U, atomic::inc>},                     \
    ScalarOp{(base) + 12, "buffer_atomic_dec" suffix, update<U, atomic::dec>}

constexpr std::array ops{
    VGPU_BUFFER_ATOMICS(u32, i32, "", 64),
    ScalarOp{77, "buffer_atomic_add_f32", update<float, atomic::add>},
    ScalarOp{78, "buffer_atomic_pk_add_f16", update<u32, atomic::pk_add_f16>},
    ScalarOp{79, "buffer_atomic_add_f64", update<double, atomic::add>},
    ScalarOp{80, "buffer_atomic_min_f64", update<double, atomic::min_float>},
    ScalarOp{81, "buffer_atomic_max_f64", update<double, atomic::max_float>},
    VGPU_BUFFER_ATOMICS(u64, i64, "_x2", 96),
};
#undef VGPU_BUFFER_ATOMICS
// clang-format on

} // namespace

std::span<const ScalarOp> buffer_atomic_ops() {
    return ops;
}

} // namespace vgpu::isa
