// SPDX-License-Identifier: MIT
// Waves whose memory a debugger watches, or whose instructions it wants one by one.
#include "model/sq/shader_state.hpp"

namespace vgpu {

using isa::Execution;
using sq::Wave;

// A hit is noted in TRAPSTS once the instruction is done, whether or not the wave traps on it, and
// for the trap handler's own accesses, too. Hardware may execute a few instructions more before the
// wave knows.
void ShaderArray::State::note_watch_hits(Wave& wave, const Execution& e) {
    const std::uint32_t hits = e.failed() ? 0 : watched_memory.hits();
    if (hits != 0) {
        wave.state.trapsts |= hits;
        observer.count("sq.watch_hits", 1);
    }
}

// MODE.DEBUG_EN. A gfx942 says in TRAPSTS why it traps; the trap handlers of older GPUs read
// MODE.
void ShaderArray::State::note_step(Wave& wave, const Execution& e) const {
    if (e.failed() || e.outcome == isa::Outcome::ended) {
        return;
    }
    wave.stepped = true;
    if (config.isa == isa::Isa::gfx942) {
        wave.state.trapsts |= isa::trapsts::trap_after_inst;
    }
}

// MODE.EXCP_EN has one bit for all watches. As long as TRAPSTS has a hit a wave that leaves the
// trap handler enters it again: the handler clears the hit or halts the wave.
bool ShaderArray::State::wants_to_trap(const Wave& wave) const {
    const isa::WaveState& state = wave.state;
    const bool hit = (state.trapsts & isa::trapsts::addr_watch) != 0 &&
                     (state.mode & isa::mode::excp_en_addr_watch) != 0;
    // A wave that waits at a barrier or at GWS has not done that instruction.
    const bool step = wave.stepped && !wave.at_barrier && !wave.at_gws;
    return (hit || step) && !state.priv && state.tba != 0 &&
           (state.status & isa::status::halt) == 0;
}

// Between two instructions. The handler acts on an exception before it saves the wave, so a save
// begins once no exception is left.
void ShaderArray::State::enter_handler(Wave& wave) {
    if (wants_to_trap(wave)) {
        observer.count(wave.stepped ? "sq.single_steps" : "sq.watch_traps", 1);
        wave.stepped = false;
        sq::enter_trap_handler(wave.state, wave.state.pc, 0);
    } else if (wants_to_save(wave)) {
        enter_save(wave);
    }
}

} // namespace vgpu
