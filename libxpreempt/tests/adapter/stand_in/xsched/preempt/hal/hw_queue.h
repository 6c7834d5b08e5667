// SPDX-License-Identifier: MIT
// A hardware queue as the preemption library sees it, and the table of all.
#pragma once

#include "xsched/types.h"

#include <functional>
#include <memory>
#include <vector>

namespace xsched::preempt {

using CommandLog = std::vector<HwCommandHandle>; // launched and perhaps not complete

class HwQueue {
public:
    HwQueue() = default;
    HwQueue(const HwQueue&) = delete;
    HwQueue& operator=(const HwQueue&) = delete;
    virtual ~HwQueue() = default;

    virtual void Synchronize() = 0;
    virtual void Deactivate() {}
    virtual void Reactivate(const CommandLog& /*log*/) {}
    virtual bool SupportDynamicLevel() { return false; }
    virtual XPreemptLevel GetMaxSupportedLevel() { return kPreemptLevelBlock; }
    virtual void OnPreemptLevelChange(XPreemptLevel /*level*/) {}
};

class HwQueueManager {
public:
    // A second call for the same handle changes nothing. create() runs under the table's lock.
    static XResult Add(HwQueueHandle handle,
                       const std::function<std::shared_ptr<HwQueue>()>& create);
    static std::shared_ptr<HwQueue> Get(HwQueueHandle handle);
};

} // namespace xsched::preempt
