// SPDX-License-Identifier: MIT
// The table of hardware queues, and HipQueueCreate() as libhalhip has it: with level 1.
#include "xsched/hip/hal/hal.h"

#include "xsched/hip/hal/hip_queue.h"

#include <map>
#include <mutex>
#include <xsched/xsched.h>

extern "C" int hipStreamSynchronize(void* stream);

namespace xsched {

namespace {

std::mutex mutex;
std::map<HwQueueHandle, std::shared_ptr<preempt::HwQueue>> queues;

} // namespace

void hip::HipQueue::Synchronize() {
    (void)hipStreamSynchronize(kStream);
}

XResult
preempt::HwQueueManager::Add(HwQueueHandle handle,
                             const std::function<std::shared_ptr<preempt::HwQueue>()>& create) {
    const std::lock_guard lock(mutex);
    if (!queues.contains(handle))
        queues[handle] = create();
    return kXSchedSuccess;
}

std::shared_ptr<preempt::HwQueue> preempt::HwQueueManager::Get(HwQueueHandle handle) {
    const std::lock_guard lock(mutex);
    const auto found = queues.find(handle);
    return found == queues.end() ? nullptr : found->second;
}

} // namespace xsched

extern "C" {

XResult HipQueueCreate(HwQueueHandle* hwq, hipStream_t stream) {
    *hwq = xsched::hip::GetHwQueueHandle(stream);
    return xsched::preempt::HwQueueManager::Add(
        *hwq, [stream] { return std::make_shared<xsched::hip::HipQueue>(stream); });
}

XResult HwQueueDestroy(HwQueueHandle hwq) {
    const std::lock_guard lock(xsched::mutex);
    return xsched::queues.erase(hwq) == 1 ? kXSchedSuccess : kXSchedErrorNotFound;
}

} // extern "C"
