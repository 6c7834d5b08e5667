// SPDX-License-Identifier: MIT
// How the compute units of an XCC are spread over its shader engines.
#pragma once

#include "model/regs/register_file.hpp"

namespace vgpu {

// An MI300X has 38 compute units in each XCC, an MI308X 20: four engines with one array of ten
// each, of which some units are disabled. The small XCC of four has one engine, all enabled.
struct ShaderEngines {
    unsigned engines = 1;
    unsigned units_in_engine = 4; // enabled or not
    unsigned enabled_units = 4;   // of all engines; unit i is in engine i % engines

    // Bit for each disabled unit of an engine.
    unsigned disabled(unsigned engine) const;
};

constexpr ShaderEngines shader_engines(unsigned compute_units) {
    if (compute_units <= 4)
        return {1, compute_units, compute_units};
    return {4, 10, compute_units};
}

// The registers that the driver reads of it, engine by engine.
void connect_shader_engines(const XccRegisters& registers, const ShaderEngines& shape);

} // namespace vgpu
