// SPDX-License-Identifier: MIT
// xpreempt/guardian.h, the host's side
#include "capi/c_boundary.hpp"

#include "backend/stream_queue.hpp"

#include <xpreempt/guardian.h>

using namespace xpreempt;
using namespace xpreempt::capi;

static_assert(sizeof(xp_guardian_t) == sizeof(backend::Guardian));
static_assert(offsetof(xp_guardian_t, copy) == offsetof(backend::Guardian, copy));
static_assert(offsetof(xp_guardian_t, launch) == offsetof(backend::Guardian, launch));
static_assert(XP_GUARDIAN_UNDECIDED == static_cast<std::uint32_t>(backend::Decision::undecided));
static_assert(XP_GUARDIAN_RUN == static_cast<std::uint32_t>(backend::Decision::run));
static_assert(XP_GUARDIAN_SKIP == static_cast<std::uint32_t>(backend::Decision::skip));

extern "C" int xp_guardian_of_launch(xp_guardian_t* guardian) {
    return c_call([&](Library&) -> Result<void> {
        const backend::Guardian* found = backend::guardian_of_launch();
        if (guardian == nullptr || found == nullptr)
            return fail(EINVAL, Op::launch);
        *guardian = {found->decision, found->copy, found->launch, 0};
        return {};
    });
}
