// SPDX-License-Identifier: MIT
// Exports of the adapter beside HipQueueCreate(), which is declared in XSched's
// <xsched/hip/hal.h>.
#pragma once

#include <cstddef> // XSched's hip.h uses size_t and does not include this

#include "xsched/hip/hal/hip.h"
#include "xsched/types.h"

// As HipQueueCreate() of this library, by a name that XSched's libhalhip does not have.
extern "C" __attribute__((visibility("default"))) XResult
XPreemptHipQueueCreate(HwQueueHandle* hwq, hipStream_t stream);
