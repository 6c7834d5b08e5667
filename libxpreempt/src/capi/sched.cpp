// SPDX-License-Identifier: MIT
// xpreempt/sched.h
#include "capi/fence.hpp"

#include <xpreempt/sched.h>

using namespace xpreempt;
using namespace xpreempt::capi;

extern "C" {

int xp_xqueue_set_priority(xp_xqueue_t xqueue, int32_t priority) {
    return fence([&](Library& library) -> Result<void> {
        const auto found = library.xqueues.find(xqueue.handle);
        if (!found)
            return tl::make_unexpected(found.error());
        if (priority < XP_PRIORITY_MIN || priority > XP_PRIORITY_MAX)
            return fail(EINVAL, Op::configure);
        (*found)->set_priority(priority);
        return {};
    });
}

int xp_xqueue_get_priority(xp_xqueue_t xqueue, int32_t* priority) {
    return fence([&](Library& library) -> Result<void> {
        const auto found = library.xqueues.find(xqueue.handle);
        if (!found)
            return tl::make_unexpected(found.error());
        if (priority == nullptr)
            return fail(EINVAL, Op::configure);
        *priority = (*found)->priority();
        return {};
    });
}
}
