// SPDX-License-Identifier: MIT
// xpreempt/sched.h in C++: the scheduler of this process.
#pragma once

#include <xpreempt/cxx/owned.hpp>
#include <xpreempt/sched.h>

#include <cstdint>

namespace xpreempt::inline v0_tl {

// The running scheduler, stopped at the end of its scope. A process has one at most.
class Scheduler {
public:
    // xp_sched_start(). EALREADY if a scheduler runs, which then is not this object's to stop.
    [[nodiscard]] static Expected<Scheduler>
    start(std::uint32_t policy = XP_POLICY_HIGHEST_PRIORITY_FIRST) {
        if (const int answer = xp_sched_start(policy); answer != 0)
            return detail::failed(answer);
        return Scheduler();
    }

    // xp_sched_stop(), as the destructor does, with its error.
    Expected<void> stop() { return running_.end(); }

    // xp_sched_query(): the scheduler of this process, even if C code started it.
    [[nodiscard]] static Expected<xp_sched_state> query() {
        return detail::filled<xp_sched_state>(xp_sched_query);
    }

private:
    struct Running {};

    Scheduler() : running_(Running{}) {}
    static int stop_running(Running) noexcept { return xp_sched_stop(); }
    detail::Owned<Running, stop_running> running_;
};

} // namespace xpreempt::inline v0_tl
