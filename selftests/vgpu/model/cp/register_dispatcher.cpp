// SPDX-License-Identifier: MIT
// Dispatches of one PM4 queue, which COMPUTE_* registers describe.
#include "model/cp/register_dispatcher.hpp"

#include <fmt/format.h>

namespace vgpu {

const char* RegisterDispatcher::dispatch(const pm4::Dispatch& packet, Stall& stall) {
    if (const char* problem = registers_.set(packet))
        return problem;
    const auto dispatch = registers_.dispatch();
    if (dispatch && !launch(*dispatch))
        stall = [this, dispatch] { return launch(*dispatch); };
    return nullptr;
}

bool RegisterDispatcher::launch(const AqlDispatch& dispatch) {
    if (!shaders_.dispatch(slot_, dispatch))
        return false;
    ++registers_[reg::gc::COMPUTE_DISPATCH_ID];
    observer_.count("dispatches", 1);
    if (observer_.tracing())
        observer_.event("pm4",
                        fmt::format("dispatch slot {} number {}", slot_, dispatch.packet_index));
    return true;
}

} // namespace vgpu
