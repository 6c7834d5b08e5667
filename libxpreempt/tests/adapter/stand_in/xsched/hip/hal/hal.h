// SPDX-License-Identifier: MIT
#pragma once

#include "xsched/hip/hal/hip.h"
#include "xsched/types.h"

namespace xsched::hip {

inline HwQueueHandle GetHwQueueHandle(hipStream_t stream) {
    return reinterpret_cast<HwQueueHandle>(stream);
}

} // namespace xsched::hip

extern "C" XResult HipQueueCreate(HwQueueHandle* hwq, hipStream_t stream);
