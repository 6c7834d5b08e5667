// SPDX-License-Identifier: MIT
// XSched's verbs on the hold of a KFD queue.
#include "kfd_hip_queue.hpp"

#include "xsched/utils/log.h"

#include <cerrno>
#include <string>
#include <xpreempt/stream.h>

namespace xpreempt::adapter {

namespace {

void log_warning(const std::string& message) {
    XWARN("xpreempt: %s", message.c_str());
}

struct ReachableLevel {
    XPreemptLevel level;
    std::string reason; // why not a higher one
};

ReachableLevel reachable_level(void* stream) {
    xp_stream_info info{};
    info.sz = sizeof info;
    switch (xp_stream_query(stream, &info)) {
    case 0: break;
    case -ENOENT:
        return {kPreemptLevelBlock, "no packet of the stream was seen; in LD_PRELOAD, "
                                    "libxpreempt-hook.so comes after libshimhip.so"};
    default: return {kPreemptLevelBlock, xp_last_detail()};
    }
    switch (info.level) {
    case XP_LEVEL_INTERRUPT: return {kPreemptLevelInterrupt, ""};
    case XP_LEVEL_DEACTIVATE: return {kPreemptLevelDeactivate, info.reason};
    default: return {kPreemptLevelBlock, info.reason};
    }
}

} // namespace

KfdHipQueue::KfdHipQueue(hipStream_t stream) : HipQueue(stream), hold_(stream, log_warning) {}

void KfdHipQueue::Synchronize() {
    // XSched takes a return for "all is complete" unless it has suspended the queue meanwhile.
    if (!hold_.is_stopped())
        HipQueue::Synchronize();
}

void KfdHipQueue::Deactivate() {
    (void)hold_.stop(); // it has reported a refusal, and XSched has no use for the error
}

void KfdHipQueue::Reactivate(const xsched::preempt::CommandLog&) {
    hold_.start();
}

XPreemptLevel KfdHipQueue::GetMaxSupportedLevel() {
    return reachable_level(kStream).level;
}

void KfdHipQueue::OnPreemptLevelChange(XPreemptLevel level) {
    const ReachableLevel reachable = reachable_level(kStream);
    if (level > reachable.level)
        XWARN("xpreempt: stream %p: level %d was requested, but its queue can only reach level %d: "
              "%s",
              static_cast<void*>(kStream), static_cast<int>(level),
              static_cast<int>(reachable.level), reachable.reason.c_str());
}

} // namespace xpreempt::adapter
