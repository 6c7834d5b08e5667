// SPDX-License-Identifier: MIT
// XQueues as far as a hardware queue can tell: which of its functions are called, and when. For
// programs of one thread, and without launches in a thread of their own.
#include "xsched/preempt/hal/hw_queue.h"

#include <deque>
#include <map>
#include <utility>
#include <xsched/xsched.h>

namespace {

using xsched::preempt::HwQueue;
using xsched::preempt::HwQueueManager;

struct Command {
    LaunchCallback launch;
    void* data;
};

struct XQueue {
    HwQueueHandle handle;
    std::shared_ptr<HwQueue> queue;
    XPreemptLevel level;
    bool suspended = false;
    std::deque<Command> waiting;
};

std::map<XQueueHandle, XQueue> xqueues; // a handle is that of its hardware queue
std::map<HwCommandHandle, Command> commands;

bool takes_off_the_hardware(const XQueue& xqueue) {
    return xqueue.level >= kPreemptLevelDeactivate;
}

XQueue* find(XQueueHandle handle) {
    const auto found = xqueues.find(handle);
    return found == xqueues.end() ? nullptr : &found->second;
}

} // namespace

extern "C" {

XResult XQueueCreate(XQueueHandle* xq, HwQueueHandle hwq, int64_t level, int64_t /*flags*/) {
    auto queue = HwQueueManager::Get(hwq);
    if (queue == nullptr)
        return kXSchedErrorNotFound;
    queue->OnPreemptLevelChange(static_cast<XPreemptLevel>(level));
    xqueues[hwq] = {hwq, std::move(queue), static_cast<XPreemptLevel>(level), false, {}};
    *xq = hwq;
    return kXSchedSuccess;
}

XResult XQueueGet(XQueueHandle* xq, HwQueueHandle hwq) {
    *xq = hwq;
    return find(hwq) != nullptr ? kXSchedSuccess : kXSchedErrorNotFound;
}

XResult XQueueSetPreemptLevel(XQueueHandle xq, XPreemptLevel level) {
    XQueue* xqueue = find(xq);
    if (xqueue == nullptr)
        return kXSchedErrorNotFound;
    if (!xqueue->queue->SupportDynamicLevel())
        return kXSchedErrorNotSupported;
    xqueue->queue->OnPreemptLevelChange(level);
    xqueue->level = level;
    return kXSchedSuccess;
}

XResult HwCommandCreateCallback(HwCommandHandle* hw_cmd, LaunchCallback launch, void* data) {
    *hw_cmd = commands.size() + 1;
    commands[*hw_cmd] = {launch, data};
    return kXSchedSuccess;
}

XResult XQueueSubmit(XQueueHandle xq, HwCommandHandle hw_cmd) {
    XQueue* xqueue = find(xq);
    if (xqueue == nullptr || !commands.contains(hw_cmd))
        return kXSchedErrorNotFound;
    const Command& command = commands[hw_cmd];
    if (!xqueue->suspended)
        return command.launch(xqueue->handle, command.data);
    xqueue->waiting.push_back(command);
    return kXSchedSuccess;
}

XResult XQueueSuspend(XQueueHandle xq, int64_t flags) {
    XQueue* xqueue = find(xq);
    if (xqueue == nullptr)
        return kXSchedErrorNotFound;
    xqueue->suspended = true;
    if (takes_off_the_hardware(*xqueue))
        xqueue->queue->Deactivate();
    if ((flags & kQueueSuspendFlagSyncHwQueue) != 0)
        xqueue->queue->Synchronize();
    return kXSchedSuccess;
}

XResult XQueueResume(XQueueHandle xq, int64_t flags) {
    XQueue* xqueue = find(xq);
    if (xqueue == nullptr)
        return kXSchedErrorNotFound;
    if (!std::exchange(xqueue->suspended, false))
        return kXSchedSuccess;
    if (takes_off_the_hardware(*xqueue))
        xqueue->queue->Reactivate({});
    const auto waiting = std::exchange(xqueue->waiting, {});
    if ((flags & kQueueResumeFlagDropCommands) == 0)
        for (const Command& command : waiting)
            (void)command.launch(xqueue->handle, command.data);
    return kXSchedSuccess;
}

XResult XQueueWaitAll(XQueueHandle xq) {
    XQueue* xqueue = find(xq);
    if (xqueue == nullptr)
        return kXSchedErrorNotFound;
    xqueue->queue->Synchronize();
    return kXSchedSuccess;
}

XResult XQueueDestroy(XQueueHandle xq) {
    if (const XResult resumed = XQueueResume(xq, kQueueResumeFlagNone); resumed != kXSchedSuccess)
        return resumed;
    xqueues.erase(xq);
    return kXSchedSuccess;
}

} // extern "C"
