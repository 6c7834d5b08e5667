// SPDX-License-Identifier: MIT
// Atomics of FLAT and GLOBAL: memory that the guest's CPUs share, LDS, and scratch.
#include "model/isa/memory/atomics.hpp"
#include "model/isa/memory/flat.hpp"

namespace vgpu::isa {

namespace {

// Old value at one lane's address, which `change` has replaced.
template <typename T, typename Function>
T update_lane(Execution& e, const LaneAddresses& addresses, unsigned lane, Function change) {
    u64 va = addresses[lane];
    switch (addresses.space(va)) {
    case Space::lds: {
        va &= 0xffff'ffff;
        const T old = lds_load<T>(e.wave, va);
        lds_store<T>(e.wave, va, change(old));
        return old;
    }
    case Space::none: e.violate_aperture(va); return T{};
    case Space::scratch:
        if (sizeof(T) != 4) {
            e.illegal("64-bit atomic on scratch, whose dwords lie apart");
            return T{};
        }
        va = scratch_address(e.wave, static_cast<u32>(va), lane);
        break;
    case Space::memory: break;
    }
    return e.failed() ? T{} : atomic_update<T>(e, va, change).value_or(T{});
}

// Applies new = function(old, lane) at each lane's address; old goes to VDST when SC0 is set.
struct FlatEncoding {
    using Instruction = FlatInstruction;

    template <typename T, typename Function>
    static void read_modify_write(Execution& e, const FlatInstruction& i, Function function) {
        const LaneAddresses addresses(e, i);
        std::array<Words*, words_of<T>> to{};
        if (e.failed() || (i.returns_old && !data_registers(e, i.vdst, i.acc, to))) {
            return;
        }
        std::array<T, lane_count> old_values{};
        for_each_lane(e.wave.exec, [&](unsigned lane) {
            const auto change = [&](T old) { return function(old, lane); };
            old_values[lane] = update_lane<T>(e, addresses, lane, change);
        });
        if (i.returns_old && !e.failed()) {
            for_each_lane(e.wave.exec,
                          [&](unsigned lane) { set_lane_value(to, lane, old_values[lane]); });
        }
    }
};
using Atomics = VectorAtomics<FlatEncoding>;

constexpr std::array ops{
    VGPU_INTEGER_ATOMICS(Atomics, u32, i32, "", "", 64),
    ScalarOp{79, "atomic_add_f64", Atomics::update<double, atomic::add>, since_gfx90a},
    ScalarOp{80, "atomic_min_f64", Atomics::update<double, atomic::min_float>, since_gfx90a},
    ScalarOp{81, "atomic_max_f64", Atomics::update<double, atomic::max_float>, since_gfx90a},
    ScalarOp{82, "atomic_pk_add_bf16", Atomics::update<u32, atomic::pk_add_bf16>, only::gfx942},
    VGPU_INTEGER_ATOMICS(Atomics, u64, i64, "", "_x2", 96),
};

template <std::uint8_t isas>
constexpr std::array additions{
    ScalarOp{77, "atomic_add_f32", Atomics::update<float, atomic::add>, isas},
    ScalarOp{78, "atomic_pk_add_f16", Atomics::update<u32, atomic::pk_add_f16>, isas},
};

} // namespace

std::span<const ScalarOp> flat_atomic_ops() {
    return ops;
}

std::span<const ScalarOp> flat_float_addition_ops(Segment segment) {
    return segment == Segment::flat ? additions<only::gfx942> : additions<every_isa>;
}

} // namespace vgpu::isa
