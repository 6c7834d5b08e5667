// SPDX-License-Identifier: MIT
// The border to C: no exception leaves, and handles become objects.
#pragma once

#include "base/caller_state.hpp"
#include "registry.hpp"

namespace xpreempt::compat {

template <typename Body> XResult c_call(Body body) noexcept {
    const CallerState state;
    try {
        return body(Registry::instance());
    } catch (...) {
        return kXSchedErrorUnknown; // memory, or a thread
    }
}

// Calls body with the XQueue of the handle.
template <typename Body> XResult with(XQueueHandle handle, Body body) noexcept {
    return c_call([&](Registry& registry) {
        const auto found = registry.queues.find(handle);
        return found ? body(**found) : kXSchedErrorNotFound;
    });
}

} // namespace xpreempt::compat
