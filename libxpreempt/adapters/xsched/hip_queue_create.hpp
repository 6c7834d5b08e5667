// SPDX-License-Identifier: MIT
// What the adapter exports.
#pragma once

#include <cstddef> // XSched's hip.h uses size_t and does not include this

#include "xsched/hip/hal/hip.h"
#include "xsched/types.h"

// As XSched's HipQueueCreate(), for a queue with levels 2 and 3.
extern "C" __attribute__((visibility("default"))) XResult
XPreemptHipQueueCreate(HwQueueHandle* hwq, hipStream_t stream);
