// SPDX-License-Identifier: MIT
// XQueue*: one xqueue in front of each hardware queue.
#include "c_boundary.hpp"

#include <cerrno>
#include <limits>

using namespace xpreempt::compat;

namespace {

void* stream_of(HwQueueHandle hwq) {
    return reinterpret_cast<void*>(hwq);
}

xp_xqueue_state native_state(const XQueue& queue, int& answer) {
    xp_xqueue_state state{};
    state.sz = sizeof state;
    answer = xp_xqueue_query(queue.native, &state);
    return state;
}

// The level is a promise: a queue that cannot keep it is refused now, not at the first suspend.
XResult create(Registry& registry, XQueueHandle& made, HwQueueHandle hwq, std::int64_t level) {
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.max_level = static_cast<std::uint32_t>(level);
    options.flags = XP_STOP_FOR_OWN_LAUNCH; // one thread may suspend, launch and resume
    const auto queue = std::make_shared<XQueue>();
    queue->hw_queue = hwq;
    queue->level = static_cast<XPreemptLevel>(level);
    const XQueueHandle handle = registry.queues.insert(queue); // first: it may find no memory
    int answer = xp_xqueue_create(stream_of(hwq), &options, &queue->native);
    const xp_xqueue_state state = answer == 0 ? native_state(*queue, answer) : xp_xqueue_state{};
    if (answer == 0 && state.best_level >= options.max_level) {
        made = handle;
        return kXSchedSuccess;
    }
    (void)registry.queues.remove(handle);
    xp_xqueue_destroy(queue->native); // none has handle 0
    return answer != 0 ? result_of(answer) : kXSchedErrorNotSupported;
}

// Work that the program launched into the stream directly counts as the XQueue's. Without HIP there
// is none.
int is_idle(const XQueue& queue, const xp_xqueue_state& state, bool& idle) {
    std::uint32_t ended = state.in_flight == 0 ? 1 : 0;
    const int answer = xp_stream_is_idle(stream_of(queue.hw_queue), &ended);
    idle = state.pending == 0 && ended != 0;
    return answer == -ENOENT ? 0 : answer;
}

int wait_direct(const XQueue& queue) {
    const int answer = xp_stream_wait(stream_of(queue.hw_queue));
    return answer == -ENOENT ? 0 : answer;
}

int wait_all(const XQueue& queue) {
    const int answer = xp_xqueue_wait_all(queue.native);
    return answer != 0 ? answer : wait_direct(queue);
}

// Commands may come while it waits; then there is something to do again.
int wait_idle(const XQueue& queue) {
    for (std::uint64_t last = 0;;) {
        const std::uint64_t now = queue.last_ticket.load();
        if (now == last)
            return wait_direct(queue);
        last = now;
        if (const int answer = wait_all(queue); answer != 0)
            return answer;
    }
}

// A stop that the driver confirms late, by a suspend of its own: a resume may come meanwhile.
int wait_stopped(const XQueue& queue) {
    const int answer = xp_xqueue_suspend(queue.native, XP_SUSPEND_FINISH_LAUNCHED, nullptr);
    return answer != 0 ? answer : xp_xqueue_resume(queue.native);
}

// Leaves level as it is if the queue was suspended already.
int suspend(XQueue& queue, std::uint32_t& level) {
    const std::lock_guard lock(queue.control_mutex);
    if (queue.suspended)
        return 0;
    const int answer = xp_xqueue_suspend(queue.native, 0, &level);
    queue.suspended = answer == 0;
    return answer;
}

constexpr std::int64_t suspend_flags =
    kQueueSuspendFlagSyncHwQueue | kQueueSuspendFlagWaitAll | kQueueSuspendFlagWaitIdle;

} // namespace

extern "C" {

XResult XQueueCreate(XQueueHandle* xq, HwQueueHandle hwq, int64_t level, int64_t flags) {
    return c_call([&](Registry& registry) {
        if (xq == nullptr || level < kPreemptLevelBlock || level > kPreemptLevelInterrupt)
            return kXSchedErrorInvalidValue;
        if (flags == kQueueCreateFlagBlockingSubmit)
            return kXSchedErrorNotSupported;
        if (flags != kQueueCreateFlagNone)
            return kXSchedErrorInvalidValue;
        const std::lock_guard lock(registry.hw_mutex);
        const auto hw = registry.hw_queues.find(hwq);
        if (hw == registry.hw_queues.end())
            return kXSchedErrorNotFound;
        if (hw->second == 0)
            if (const XResult created = create(registry, hw->second, hwq, level);
                created != kXSchedSuccess)
                return created;
        *xq = hw->second;
        return kXSchedSuccess;
    });
}

XResult XQueueDestroy(XQueueHandle xq) {
    return c_call([&](Registry& registry) {
        const auto queue = registry.queues.find(xq);
        if (!queue)
            return kXSchedErrorNotFound;
        // Refused in a launch function: then it stays.
        if (const int answer = xp_xqueue_destroy((*queue)->native); answer != 0)
            return result_of(answer);
        (void)registry.queues.remove(xq);
        const std::lock_guard lock(registry.hw_mutex);
        const auto hw = registry.hw_queues.find((*queue)->hw_queue);
        if (hw != registry.hw_queues.end() && hw->second == xq)
            hw->second = 0;
        return kXSchedSuccess;
    });
}

XResult XQueueGet(XQueueHandle* xq, HwQueueHandle hwq) {
    return c_call([&](Registry& registry) {
        if (xq == nullptr)
            return kXSchedErrorInvalidValue;
        const std::lock_guard lock(registry.hw_mutex);
        const auto hw = registry.hw_queues.find(hwq);
        if (hw == registry.hw_queues.end() || hw->second == 0)
            return kXSchedErrorNotFound;
        *xq = hw->second;
        return kXSchedSuccess;
    });
}

XResult XQueueSetPreemptLevel(XQueueHandle xq, XPreemptLevel level) {
    return with(xq, [&](XQueue& queue) {
        if (level < kPreemptLevelBlock || level > kPreemptLevelInterrupt)
            return kXSchedErrorInvalidValue;
        const std::lock_guard lock(queue.control_mutex);
        int answer = xp_xqueue_set_max_level(queue.native, static_cast<std::uint32_t>(level));
        const xp_xqueue_state state = native_state(queue, answer);
        if (answer != 0)
            return result_of(answer);
        if (state.best_level < static_cast<std::uint32_t>(level)) {
            xp_xqueue_set_max_level(queue.native, static_cast<std::uint32_t>(queue.level));
            return kXSchedErrorNotSupported;
        }
        queue.level = level;
        return kXSchedSuccess;
    });
}

XResult XQueueSetLaunchConfig(XQueueHandle xq, int64_t threshold, int64_t batch_size) {
    return with(xq, [&](XQueue& queue) {
        constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
        if (threshold > most || batch_size > most)
            return kXSchedErrorInvalidValue;
        std::uint32_t batch = 0;
        if (batch_size > 0) {
            batch = static_cast<std::uint32_t>(batch_size);
        } else { // kept, and not lowered with the threshold
            int answer = 0;
            batch = native_state(queue, answer).batch;
            if (answer != 0)
                return result_of(answer);
        }
        return result_of(xp_xqueue_set_launch_config(
            queue.native, static_cast<std::uint32_t>(threshold > 0 ? threshold : 0), batch));
    });
}

XResult XQueueWaitAll(XQueueHandle xq) {
    return with(xq, [](XQueue& queue) { return result_of(wait_all(queue)); });
}

XResult XQueueQuery(XQueueHandle xq, XQueueState* state) {
    return with(xq, [&](XQueue& queue) {
        if (state == nullptr)
            return kXSchedErrorInvalidValue;
        int answer = 0;
        const xp_xqueue_state now = native_state(queue, answer);
        bool idle = false;
        if (answer == 0)
            answer = is_idle(queue, now, idle);
        if (answer == 0)
            *state = idle ? kQueueStateIdle : kQueueStateReady;
        return result_of(answer);
    });
}

XResult XQueueSuspend(XQueueHandle xq, int64_t flags) {
    return with(xq, [&](XQueue& queue) {
        if (flags != kQueueSuspendFlagMaskAll && (flags & ~suspend_flags) != 0)
            return kXSchedErrorInvalidValue;
        if (const std::lock_guard lock(queue.control_mutex); queue.suspended)
            return kXSchedSuccess;
        // Wait without the lock: a hint or a resume may end the wait.
        int answer = 0;
        if ((flags & kQueueSuspendFlagWaitIdle) != 0)
            answer = wait_idle(queue);
        else if ((flags & kQueueSuspendFlagWaitAll) != 0)
            answer = wait_all(queue);
        std::uint32_t level = 0;
        if (answer == 0)
            answer = suspend(queue, level);
        if (answer == 0 && level != 0 && (flags & kQueueSuspendFlagSyncHwQueue) != 0)
            answer = level == XP_LEVEL_BLOCK ? wait_direct(queue) : wait_stopped(queue);
        return result_of(answer);
    });
}

XResult XQueueResume(XQueueHandle xq, int64_t flags) {
    return with(xq, [&](XQueue& queue) {
        constexpr std::int64_t known = kQueueResumeFlagDropCommands;
        if (flags != kQueueResumeFlagMaskAll && (flags & ~known) != 0)
            return kXSchedErrorInvalidValue;
        const std::lock_guard lock(queue.control_mutex);
        if (!queue.suspended)
            return kXSchedSuccess;
        if ((flags & kQueueResumeFlagDropCommands) != 0) {
            const std::uint64_t last = queue.last_ticket.load();
            if (const int answer = xp_xqueue_drop(queue.native, nullptr); answer != 0)
                return result_of(answer);
            queue.dropped_until = last;
        }
        const int answer = xp_xqueue_resume(queue.native);
        queue.suspended = answer != 0; // it can be asked again
        return result_of(answer);
    });
}

XResult XQueueProfileHwCommandCount(XQueueHandle xq, int64_t* count) {
    return with(xq, [&](XQueue& queue) {
        if (count == nullptr)
            return kXSchedErrorInvalidValue;
        xp_xqueue_stats stats{};
        stats.sz = sizeof stats;
        const int answer = xp_xqueue_get_stats(queue.native, &stats);
        if (answer == 0)
            *count = static_cast<std::int64_t>(stats.submitted);
        return result_of(answer);
    });
}
}
