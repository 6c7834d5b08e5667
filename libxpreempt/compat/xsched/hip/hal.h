/* SPDX-License-Identifier: MIT */
/* HIP streams as XSched's hardware queues. Include <hip/hip_runtime.h> first. */
#ifndef XPREEMPT_COMPAT_XSCHED_HIP_HAL_H
#define XPREEMPT_COMPAT_XSCHED_HIP_HAL_H

#include <xsched/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a stream known; the handle is the stream. A second call for the same stream changes nothing.
 * The null stream is a stream like any other here, and its handle is 0. The stream must exist until
 * HwQueueDestroy().
 */
XResult HipQueueCreate(HwQueueHandle *hwq, hipStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_COMPAT_XSCHED_HIP_HAL_H */
