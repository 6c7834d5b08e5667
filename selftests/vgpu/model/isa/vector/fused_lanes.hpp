// SPDX-License-Identifier: MIT
// a * b + c of all lanes, rounded once as the host rounds now. `out` is no source.
#pragma once

#include "model/isa/wave_state.hpp"

#include <array>
#include <cstdint>

namespace vgpu::isa {

template <typename Value> using Values = std::array<Value, lane_count>;

void fused_lanes(const Values<float>& a, const Values<float>& b, const Values<float>& c,
                 Values<float>& out);
// The same of sources that are still bits.
void fused_lanes(const Values<std::uint32_t>& a, const Values<std::uint32_t>& b,
                 const Values<std::uint32_t>& c, Values<float>& out);
void fused_lanes(const Values<double>& a, const Values<double>& b, const Values<double>& c,
                 Values<double>& out);

} // namespace vgpu::isa
