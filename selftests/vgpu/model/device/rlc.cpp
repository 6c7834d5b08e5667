// SPDX-License-Identifier: MIT
// The RLC's few registers with a meaning: safe mode handshake, busy flags and the GPU clock.
#include "model/device/rlc.hpp"

#include "model/base/bits.hpp"
#include "registers.hpp"

namespace vgpu {

void connect_rlc(const XccRegisters& registers, const Clock& clock) {
    namespace gc = reg::gc;
    // RLC_SAFE_MODE.CMD (bit 0) is cleared when the request was taken: at once.
    registers.on_read(gc::RLC_SAFE_MODE,
                      [registers] { return registers.value(gc::RLC_SAFE_MODE) & ~1U; });
    registers.on_write(gc::RLC_CAPTURE_GPU_CLOCK_COUNT, [registers, &clock](std::uint32_t) {
        registers.set(gc::RLC_GPU_CLOCK_COUNT_LSB, low_half(clock.ticks()));
        registers.set(gc::RLC_GPU_CLOCK_COUNT_MSB, high_half(clock.ticks()));
    });
}

} // namespace vgpu
