// SPDX-License-Identifier: MIT
// libhalhip: makes HIP streams known to libpreempt. A stream is a pointer here; HIP is not needed.
#include "registry.hpp"

using hipStream_t = void*;
#include <xsched/hip/hal.h>

XResult HipQueueCreate(HwQueueHandle* hwq, hipStream_t stream) {
    if (hwq == nullptr)
        return kXSchedErrorInvalidValue;
    const auto handle = reinterpret_cast<HwQueueHandle>(stream);
    const XResult added = xpreempt_compat_add_hw_queue(handle);
    if (added == kXSchedSuccess)
        *hwq = handle;
    return added;
}
