// SPDX-License-Identifier: MIT
// How the compute units of an XCC are spread over its shader engines.
#include "model/device/shader_engines.hpp"

#include "model/base/bits.hpp"
#include "registers.hpp"

namespace vgpu {

unsigned ShaderEngines::disabled(unsigned engine) const {
    const unsigned enabled = enabled_units / engines + (engine < enabled_units % engines ? 1 : 0);
    return ((1U << units_in_engine) - 1) & ~((1U << enabled) - 1);
}

// CC_GC_SHADER_ARRAY_CONFIG.INACTIVE_CUS [31:16] of the engine in GRBM_GFX_INDEX.SE_INDEX [23:16].
// With SE_BROADCAST_WRITES set there is no engine to choose: the first answers.
void connect_shader_engines(const XccRegisters& registers, const ShaderEngines& shape) {
    registers.on_read(reg::gc::CC_GC_SHADER_ARRAY_CONFIG, [registers, shape] {
        const std::uint32_t index = registers.value(reg::gc::GRBM_GFX_INDEX);
        const unsigned engine = bit(index, 31) ? 0 : bits(index, 23, 16);
        return engine < shape.engines ? shape.disabled(engine) << 16 : 0xffff'0000U;
    });
}

} // namespace vgpu
