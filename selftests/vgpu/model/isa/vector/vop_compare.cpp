// SPDX-License-Identifier: MIT
// VOPC of floating point operands: the sixteen relations, and classes.
#include "model/isa/vector/float_lanes.hpp"

namespace vgpu::isa {

namespace {

// The sixteen relations in opcode order: f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru.
template <typename F, unsigned relation> bool holds(F a, F b) {
    if constexpr (relation >= 8) {
        // u isn't(o); nge..nlt aren't(ge)..not(lt); tru isn't(f).
        return !holds<F, 15 - relation>(a, b);
    } else {
        switch (relation) {
        case 1: return a < b;
        case 2: return a == b;
        case 3: return a <= b;
        case 4: return a > b;
        case 5: return a < b || a > b;
        case 6: return a >= b;
        case 7: return !std::isnan(a) && !std::isnan(b);
        default: return false;
        }
    }
}

template <bool write_exec> void store_relation(Execution& e, unsigned sdst, u64 mask) {
    mask &= e.wave.exec;
    store_mask(e, sdst, mask);
    if (write_exec && !e.failed()) {
        e.wave.exec = mask;
    }
}

template <typename Format, unsigned relation, bool write_exec>
void compare(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    Values<F> a;
    Values<F> b;
    fetch<Format>(e, i, 0, a);
    fetch<Format>(e, i, 1, b);
    u64 mask = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        mask |= u64{holds<F, relation>(a[lane], b[lane])} << lane;
    }
    store_relation<write_exec>(e, i.sdst, mask);
}

// The bit of the class mask that a value is looked for by.
template <typename Format> unsigned class_of(typename Format::Value value) {
    if (std::isnan(value)) {
        return is_signalling(value) ? 0 : 1;
    }
    unsigned distance = 1; // from minus and plus zero outwards
    if (std::isinf(value)) {
        distance = 4;
    } else if (value == 0) {
        distance = 1;
    } else {
        distance = is_denormal<Format>(value) ? 2 : 3;
    }
    return std::signbit(value) ? 6 - distance : 5 + distance;
}

// Looks at the bits: denormals are never flushed.
template <typename Format, bool write_exec>
void compare_class(Execution& e, const VectorInstruction& i) {
    Values<typename Format::Value> a;
    fetch_raw<Format>(e, i, 0, a);
    apply_signs(i, 0, a);
    Words scratch;
    const Words& classes = source32(e, i.src[1], 1, scratch);
    u64 mask = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        mask |= static_cast<u64>(classes[lane] >> class_of<Format>(a[lane]) & 1) << lane;
    }
    store_relation<write_exec>(e, i.sdst, mask);
}

template <typename Format>
constexpr std::uint8_t modifiers =
    takes::sign | takes::clamp | (is_half<Format> ? takes::half_constants : 0);

// clang-format off
#define VGPU_FLOAT_RELATIONS(Format, suffix, base, prefix, write_exec)                             \
    VectorOp{(base) + 0, prefix "f_" suffix, compare<Format, 0, write_exec>, modifiers<Format>},   \
    VectorOp{(base) + 1, prefix "lt_" suffix, compare<Format, 1, write_exec>, modifiers<Format>},  \
    VectorOp{(base) + 2, prefix "eq_" suffix, compare<Format, 2, write_exec>, modifiers<Format>},  \
    VectorOp{(base) + 3, prefix "le_" suffix, compare<Format, 3, write_exec>, modifiers<Format>},  \
    VectorOp{(base) + 4, prefix "gt_" suffix, compare<Format, 4, write_exec>, modifiers<Format>},  \
    VectorOp{(base) + 5, prefix "lg_" suffix, compare<Format, 5, write_exec>, modifiers<Format>},  \
    VectorOp{(base) + 6, prefix "ge_" suffix, compare<Format, 6, write_exec>, modifiers<Format>},  \
    VectorOp{(base) + 7, prefix "o_" suffix, compare<Format, 7, write_exec>, modifiers<Format>},   \
    VectorOp{(base) + 8, prefix "u_" suffix, compare<Format, 8, write_exec>, modifiers<Format>},   \
    VectorOp{(base) + 9, prefix "nge_" suffix, compare<Format, 9, write_exec>, modifiers<Format>}, \
    VectorOp{(base) + 10, prefix "nlg_" suffix, compare<Format, 10, write_exec>,                   \
             modifiers<Format>},                                                                   \
    VectorOp{(base) + 11, prefix "ngt_" suffix, compare<Format, 11, write_exec>,                   \
             modifiers<Format>},                                                                   \
    VectorOp{(base) + 12, prefix "nle_" suffix, compare<Format, 12, write_exec>,                   \
             modifiers<Format>},                                                                   \
    VectorOp{(base) + 13, prefix "neq_" suffix, compare<Format, 13, write_exec>,                   \
             modifiers<Format>},                                                                   \
    VectorOp{(base) + 14, prefix "nlt_" suffix, compare<Format, 14, write_exec>,                   \
             modifiers<Format>},                                                                   \
    VectorOp{(base) + 15, prefix "tru_" suffix, compare<Format, 15, write_exec>, modifiers<Format>}

constexpr std::array ops{
    VectorOp{0x10, "v_cmp_class_f32", compare_class<Single, false>, takes::sign},
    VectorOp{0x11, "v_cmpx_class_f32", compare_class<Single, true>, takes::sign},
    VectorOp{0x12, "v_cmp_class_f64", compare_class<Double, false>, takes::sign},
    VectorOp{0x13, "v_cmpx_class_f64", compare_class<Double, true>, takes::sign},
    VectorOp{0x14, "v_cmp_class_f16", compare_class<Half, false>, modifiers<Half>},
    VectorOp{0x15, "v_cmpx_class_f16", compare_class<Half, true>, modifiers<Half>},
    VGPU_FLOAT_RELATIONS(Half, "f16", 0x20, "v_cmp_", false),
    VGPU_FLOAT_RELATIONS(Half, "f16", 0x30, "v_cmpx_", true),
    VGPU_FLOAT_RELATIONS(Single, "f32", 0x40, "v_cmp_", false),
    VGPU_FLOAT_RELATIONS(Single, "f32", 0x50, "v_cmpx_", true),
    VGPU_FLOAT_RELATIONS(Double, "f64", 0x60, "v_cmp_", false),
    VGPU_FLOAT_RELATIONS(Double, "f64", 0x70, "v_cmpx_", true),
};
#undef VGPU_FLOAT_RELATIONS
// clang-format on

} // namespace

std::span<const VectorOp> float_compare_ops() {
    return ops;
}

} // namespace vgpu::isa
