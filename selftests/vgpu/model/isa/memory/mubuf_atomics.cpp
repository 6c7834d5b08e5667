// SPDX-License-Identifier: MIT
// MUBUF: atomics on buffers. A lane out of range changes nothing and gets 0.
#include "model/isa/memory/atomics.hpp"
#include "model/isa/memory/mubuf.hpp"

namespace vgpu::isa {

namespace {

// new = function(old, lane); the old values replace VDATA when SC0 is set.
struct BufferEncoding {
    using Instruction = BufferInstruction;

    template <typename T, typename Function>
    static void read_modify_write(Execution& e, const BufferInstruction& i, Function function) {
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
            old_values[lane] = atomic_update<T>(e, buffer.at(lane), change).value_or(T{});
        });
        if (i.returns_old && !e.failed()) {
            for_each_lane(e.wave.exec,
                          [&](unsigned lane) { set_lane_value(to, lane, old_values[lane]); });
        }
    }
};
using Atomics = VectorAtomics<BufferEncoding>;

constexpr std::array ops{
    VGPU_INTEGER_ATOMICS(Atomics, u32, i32, "buffer_", "", 64),
    ScalarOp{77, "buffer_atomic_add_f32", Atomics::update<float, atomic::add>},
    ScalarOp{78, "buffer_atomic_pk_add_f16", Atomics::update<u32, atomic::pk_add_f16>},
    ScalarOp{79, "buffer_atomic_add_f64", Atomics::update<double, atomic::add>, since_gfx90a},
    ScalarOp{80, "buffer_atomic_min_f64", Atomics::update<double, atomic::min_float>, since_gfx90a},
    ScalarOp{81, "buffer_atomic_max_f64", Atomics::update<double, atomic::max_float>, since_gfx90a},
    VGPU_INTEGER_ATOMICS(Atomics, u64, i64, "buffer_", "_x2", 96),
};

} // namespace

std::span<const ScalarOp> buffer_atomic_ops() {
    return ops;
}

} // namespace vgpu::isa
