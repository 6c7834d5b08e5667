// SPDX-License-Identifier: MIT
// Dispatches of one PM4 queue, which COMPUTE_* registers describe.
#pragma once

#include "model/base/observer.hpp"
#include "model/cp/compute_registers.hpp"
#include "model/cp/pm4_executor.hpp"
#include "model/sq/shader_array.hpp"

namespace vgpu {

class RegisterDispatcher {
public:
    // The slot is bound in `shaders` as long as this is there.
    RegisterDispatcher(ShaderArray& shaders, Observer& observer, unsigned slot)
        : shaders_(shaders), observer_(observer), slot_(slot) {}

    ComputeRegisters& registers() { return registers_; }
    const ComputeRegisters& registers() const { return registers_; }

    // Sets `stall`, which ends when the dispatch has begun; empty when it has. Null, or what the
    // model can't do.
    const char* dispatch(const pm4::Dispatch& packet, Stall& stall);

private:
    bool launch(const AqlDispatch& dispatch);

    ShaderArray& shaders_;
    Observer& observer_;
    unsigned slot_;
    ComputeRegisters registers_;
};

} // namespace vgpu
