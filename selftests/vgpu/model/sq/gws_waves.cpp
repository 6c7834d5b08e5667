// SPDX-License-Identifier: MIT
// Waves at resources of global wave sync.
#include "model/isa/interpreter.hpp"
#include "model/sq/shader_state.hpp"

#include <fmt/format.h>

namespace vgpu {

using isa::Execution;
using sq::Wave;

namespace {

constexpr std::uint64_t instruction_bytes = 8; // DS

} // namespace

// The range of the VMID bounds what a wave may reach; beyond it lies a memory violation. The
// driver gives it to a process for one queue of it. A GPU would let the other queues of the process
// in as well, and what it saves of the resources then isn't known.
bool ShaderArray::State::sync_globally(Wave& wave, Execution& e) {
    const QueueBinding& queue = slots.at(wave.group->dispatch->queue_slot).queue;
    if (e.gws.resource >= queue.gws.size || !queue.controls_gws) {
        const std::string text = fmt::format("GWS resource {} of {} in VMID {}, {}", e.gws.resource,
                                             queue.gws.size, queue.vmid, isa::describe(e.word0));
        if (queue.gws.size != 0 && !queue.controls_gws) {
            observer.unmodelled("sq", text + ": not the queue that has GWS");
        } else {
            observer.event("sq", text);
        }
        observer.count("sq.gws_violations", 1);
        e.violate_aperture(e.pc);
        raise_exception(wave, e);
        return false;
    }
    std::vector<Wave*> released;
    if (!gws.execute(e.gws, queue.gws.base + e.gws.resource, wave, released)) {
        wave.at_gws = true;
        wave.state.pc = e.pc;
        observer.count("sq.gws_waits", 1);
        return false;
    }
    observer.count("sq.gws_releases", released.size());
    for (Wave* other : released) {
        other->at_gws = false;
        other->state.pc += instruction_bytes;
    }
    return true;
}

void ShaderArray::State::leave_gws(Wave& wave) {
    if (wave.at_gws) {
        wave.at_gws = false;
        gws.withdraw(wave);
    }
}

} // namespace vgpu
