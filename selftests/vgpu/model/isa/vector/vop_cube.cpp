// SPDX-License-Identifier: MIT
// Cube map coordinates: the face that a vector points to, the place on it, the major axis.
#include "model/isa/vector/float_operations.hpp"

namespace vgpu::isa {

namespace {

enum class Axis : std::uint8_t { x, y, z };

// The longest component; of equals z before y before x.
Axis major_axis(float x, float y, float z) {
    if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y)) {
        return Axis::z;
    }
    return std::fabs(y) >= std::fabs(x) ? Axis::y : Axis::x;
}

float face(float x, float y, float z) {
    switch (major_axis(x, y, z)) {
    case Axis::z: return z < 0 ? 5 : 4;
    case Axis::y: return y < 0 ? 3 : 2;
    default: return x < 0 ? 1 : 0;
    }
}
float s_coordinate(float x, float y, float z) {
    switch (major_axis(x, y, z)) {
    case Axis::z: return z < 0 ? -x : x;
    case Axis::y: return x;
    default: return x < 0 ? z : -z;
    }
}
float t_coordinate(float x, float y, float z) {
    if (major_axis(x, y, z) == Axis::y) {
        return y < 0 ? -z : z;
    }
    return -y;
}
float twice_major(float x, float y, float z) {
    switch (major_axis(x, y, z)) {
    case Axis::z: return 2 * z;
    case Axis::y: return 2 * y;
    default: return 2 * x;
    }
}

constexpr std::array ops{
    VectorOp{0x1c4, "v_cubeid_f32", ternary_choice<Single, face>, takes::floating},
    VectorOp{0x1c5, "v_cubesc_f32", ternary_choice<Single, s_coordinate>, takes::floating},
    VectorOp{0x1c6, "v_cubetc_f32", ternary_choice<Single, t_coordinate>, takes::floating},
    VectorOp{0x1c7, "v_cubema_f32", ternary_choice<Single, twice_major>, takes::floating},
};

} // namespace

std::span<const VectorOp> cube_ops() {
    return ops;
}

} // namespace vgpu::isa
