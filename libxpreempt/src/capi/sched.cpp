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
            return refuse_priority(priority);
        library.set_priority(xqueue.handle, **found, priority);
        return {};
    });
}

int xp_xqueue_get_priority(xp_xqueue_t xqueue, int32_t* priority) {
    return fence([&](Library& library) -> Result<void> {
        const auto found = library.xqueues.find(xqueue.handle);
        if (!found)
            return tl::make_unexpected(found.error());
        if (priority == nullptr)
            return refuse_null("priority");
        *priority = (*found)->priority();
        return {};
    });
}

int xp_stream_set_priority(void* stream, int32_t priority) {
    return fence([&](Library& library) -> Result<void> {
        if (priority < XP_PRIORITY_MIN || priority > XP_PRIORITY_MAX)
            return refuse_priority(priority);
        return library.set_priority(stream, priority);
    });
}

int xp_stream_get_priority(void* stream, int32_t* priority) {
    return fence([&](Library& library) -> Result<void> {
        if (priority == nullptr)
            return refuse_null("priority");
        *priority = XP_PRIORITY_DEFAULT;
        if (const auto xqueue = library.xqueue_of(stream))
            *priority = xqueue->priority();
        else if (const auto hooked = library.hooked_streams.find(library.mapping().key_of(stream)))
            *priority = hooked->priority();
        return {};
    });
}

int xp_sched_start(uint32_t policy) {
    return fence([&](Library& library) -> Result<void> {
        if (policy != XP_POLICY_HIGHEST_PRIORITY_FIRST)
            return fail(EOPNOTSUPP, Op::configure);
        library.release_at_exit();
        return library.scheduling.start(sched::highest_priority_first);
    });
}

int xp_sched_stop(void) {
    return fence([&](Library& library) { return library.scheduling.stop(); });
}

int xp_sched_query(struct xp_sched_state* state) {
    return fence([&](Library& library) -> Result<void> {
        if (const auto checked = check_size(state, "xp_sched_state"); !checked)
            return checked;
        struct xp_sched_state ours{};
        if (const auto scheduler = library.scheduling.running()) {
            const sched::Statistics now = scheduler->statistics();
            ours.policy = XP_POLICY_HIGHEST_PRIORITY_FIRST;
            ours.num_xqueues = static_cast<std::uint32_t>(scheduler->size());
            ours.decisions = now.decisions;
            ours.suspends = now.suspends;
            ours.resumes = now.resumes;
            ours.failures = now.failures;
            ours.last_reaction_ns = now.last_reaction_ns;
            ours.max_reaction_ns = now.max_reaction_ns;
        }
        copy_out(state, ours);
        return {};
    });
}
}
