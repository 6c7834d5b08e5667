// SPDX-License-Identifier: MIT
// SMEM: scalar atomics, which trap handlers use. SDATA is the operand, and the old value's place.
#include "model/isa/smem.hpp"
#include "model/isa/vector_memory.hpp"

namespace vgpu::isa {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

bool returns_old(const Execution& e) {
    return (e.word0 >> 16 & 1) != 0; // GLC
}

template <typename T> T operand(Execution& e, unsigned sgpr) {
    return static_cast<T>(sizeof(T) == 8 ? read_scalar64(e, sgpr) : read_scalar(e, sgpr));
}

template <typename T, typename Function> void read_modify_write(Execution& e, Function function) {
    const u64 va = smem_address(e);
    const auto old = e.failed() ? std::nullopt : atomic_update<T>(e, va, function);
    if (!old || !returns_old(e)) {
        return;
    }
    write_scalar(e, smem_data(e), static_cast<u32>(*old));
    if (sizeof(T) == 8) {
        write_scalar(e, smem_data(e) + 1, static_cast<u32>(static_cast<u64>(*old) >> 32));
    }
}

template <typename T, auto operation> void update(Execution& e) {
    const T data = operand<T>(e, smem_data(e));
    read_modify_write<T>(e, [&](T old) -> T { return operation(old, data); });
}

// The new value, then the value to compare with.
template <typename T> void compare_swap(Execution& e) {
    const T data = operand<T>(e, smem_data(e));
    const T expected = operand<T>(e, smem_data(e) + sizeof(T) / 4);
    read_modify_write<T>(e, [&](T old) -> T { return old == expected ? data : old; });
}

// clang-format off
#define VGPU_SCALAR_ATOMICS(U, S, suffix, base)                                                    \
    ScalarOp{(base) + 0, "s_atomic_swap" suffix, update<U, atomic::swap>},                         \
    ScalarOp{(base) + 1, "s_atomic_cmpswap" suffix, compare_swap<U>},                              \
    ScalarOp{(base) + 2, "s_atomic_add" suffix, update<U, atomic::add>},                           \
    ScalarOp{(base) + 3, "s_atomic_sub" suffix, update<U, atomic::sub>},                           \
    ScalarOp{(base) + 4, "s_atomic_smin" suffix, update<S, atomic::min>},                          \
    ScalarOp{(base) + 5, "s_atomic_umin" suffix, update<U, atomic::min>},                          \
    ScalarOp{(base) + 6, "s_atomic_smax" suffix, update<S, atomic::max>},                          \
    ScalarOp{(base) + 7, "s_atomic_umax" suffix, update<U, atomic::max>},                          \
    ScalarOp{(base) + 8, "s_atomic_and" suffix, update<U, atomic::bit_and>},                       \
    ScalarOp{(base) + 9, "s_atomic_or" suffix, update<U, atomic::bit_or>},                         \
    ScalarOp{(base) + 10, "s_atomic_xor" suffix, update<U, atomic::bit_xor>},                      \
    ScalarOp{(base) + 11, "s_atomic_inc" suffix, update<U, atomic::inc>},                          \
    ScalarOp{(base) + 12, "s_atomic_dec" suffix, update<U, atomic::dec>}

constexpr std::array ops{
    VGPU_SCALAR_ATOMICS(u32, i32, "", 128),
    VGPU_SCALAR_ATOMICS(u64, i64, "_x2", 160),
};
#undef VGPU_SCALAR_ATOMICS
// clang-format on

} // namespace

std::span<const ScalarOp> smem_atomic_ops() {
    return ops;
}

} // namespace vgpu::isa
