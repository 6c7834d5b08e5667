// SPDX-License-Identifier: MIT
// SMEM: scalar atomics, which trap handlers use. SDATA is the operand, and the old value's place.
#include "model/isa/memory/smem.hpp"
#include "model/isa/memory/vector_atomics.hpp"

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

struct Atomics {
    template <typename T, auto operation> static void update(Execution& e) {
        const T data = operand<T>(e, smem_data(e));
        read_modify_write<T>(e, [&](T old) -> T { return operation(old, data); });
    }

    // The new value, then the value to compare with.
    template <typename T> static void compare_swap(Execution& e) {
        const T data = operand<T>(e, smem_data(e));
        const T expected = operand<T>(e, smem_data(e) + sizeof(T) / 4);
        read_modify_write<T>(e, [&](T old) -> T { return old == expected ? data : old; });
    }
};

constexpr std::array ops{
    VGPU_INTEGER_ATOMICS(Atomics, u32, i32, "s_", "", 128),
    VGPU_INTEGER_ATOMICS(Atomics, u64, i64, "s_", "_x2", 160),
};

} // namespace

std::span<const ScalarOp> smem_atomic_ops() {
    return ops;
}

} // namespace vgpu::isa
