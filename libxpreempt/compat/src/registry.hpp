// SPDX-License-Identifier: MIT
// Objects created by a program that is written for XSched: hardware queues, XQueues, commands.
#pragma once

#include "base/handle_table.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <xpreempt/xpreempt.h>
#include <xsched/xsched.h>

namespace xpreempt::compat {

struct XQueue {
    xp_xqueue_t native{};
    HwQueueHandle hw_queue = 0;
    XPreemptLevel level = kPreemptLevelUnknown;

    std::mutex control_mutex; // suspend, resume and hints, one after the other
    bool suspended = false;   // by XQueueSuspend(), however often
    bool no_execute = false;  // by a hint; a suspend of its own

    std::atomic<std::uint64_t> last_ticket{0};
    std::atomic<std::uint64_t> dropped_until{0}; // tickets up to this one were launched or dropped
};

struct Command {
    LaunchCallback launch = nullptr;
    void* data = nullptr;
    HwQueueHandle hw_queue = 0;
    std::shared_ptr<XQueue> queue;        // it was submitted to; written once, before `ticket`
    std::atomic<bool> used{false};        // submitted, or launched past an XQueue
    std::atomic<bool> launched{false};    // and the callback has returned
    std::atomic<bool> destroyed{false};   // by the program, before its launch
    std::atomic<std::uint64_t> ticket{0}; // 0: submit has not returned
    std::atomic<XResult> result{kXSchedSuccess}; // of the callback
};

// Thread-safe.
class Registry {
public:
    static Registry& instance();

    std::atomic<Timeslice> timeslice{TIMESLICE_DEFAULT}; // of the scheduler of this process
    std::atomic<std::size_t> k_deadline{1};

    HandleTable<XQueue> queues;
    HandleTable<Command> commands;

    // Used commands whose program never destroys them must not pile up: of those that have been
    // launched or dropped, the oldest are forgotten.
    void keep_used(std::uint64_t command);

    std::mutex hw_mutex; // of the map; also held while an XQueue is made, so that there is one
    std::unordered_map<HwQueueHandle, XQueueHandle> hw_queues; // 0: no XQueue
    bool has(HwQueueHandle hw_queue) {
        const std::lock_guard lock(hw_mutex);
        return hw_queues.contains(hw_queue);
    }

private:
    std::mutex used_mutex_;
    std::deque<std::uint64_t> used_;
};

// An answer of libxpreempt in XSched's terms.
XResult result_of(int answer);

} // namespace xpreempt::compat

// libhalhip's way in. Not for programs.
extern "C" XResult xpreempt_compat_add_hw_queue(HwQueueHandle hwq);
