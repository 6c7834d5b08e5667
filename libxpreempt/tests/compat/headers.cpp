// SPDX-License-Identifier: MIT
// XSched's numbers are part of what its users have written down.
struct ihipStream_t;
using hipStream_t = ihipStream_t*;

#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

static_assert(kXSchedErrorHardware == 1 && kXSchedErrorInvalidValue == 2 &&
              kXSchedErrorNotFound == 3 && kXSchedErrorNotAllowed == 4 &&
              kXSchedErrorNotSupported == 5 && kXSchedErrorBadResponse == 6 &&
              kXSchedErrorUnknown == 999);
static_assert(kPlatformHIP == 4 && kPlatformLevelZero == 7 && kDeviceTypeMCA == 6);
static_assert(kPreemptLevelBlock == 1 && kPreemptLevelInterrupt == 3 && kPreemptLevelMax == 4);
static_assert(kQueueStateIdle == 1 && kQueueStateReady == 2);
static_assert(kQueueSuspendFlagSyncHwQueue == 1 && kQueueSuspendFlagWaitAll == 2 &&
              kQueueSuspendFlagWaitIdle == 4 && kQueueResumeFlagDropCommands == 1);
static_assert(kQueueFeatureSyncSuspend == 0x10 && kQueueFeatureResumeDropCommands == 0x20);
static_assert(kSchedulerAppManaged == 1 && kSchedulerLocal == 2 && kSchedulerGlobal == 3);
static_assert(kPolicyHighestPriorityFirst == 1 && kPolicyKEarliestDeadlineFirst == 7 &&
              kPolicyMultiLevelFeedbackQueue == 11);
static_assert(PRIORITY_NO_EXECUTE == -256 && PRIORITY_MIN == -255 && PRIORITY_MAX == 255);
static_assert(TIMESLICE_MIN == 100 && TIMESLICE_MAX == 10000000 && UTILIZATION_MAX == 100);
static_assert(sizeof(XQueueHandle) == 8 && sizeof(Timeslice) == 8 && sizeof(Priority) == 4);

static XResult launch(HwQueueHandle, void*) {
    return kXSchedSuccess;
}

XResult use_from_cpp(hipStream_t stream) {
    HwQueueHandle hwq = 0;
    XQueueHandle xq = 0;
    HwCommandHandle command = 0;
    HipQueueCreate(&hwq, stream);
    XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone);
    XQueueSetPreemptLevel(xq, kPreemptLevelBlock);
    HwCommandCreateCallback(&command, launch, nullptr);
    XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst);
    return XQueueSubmit(xq, command);
}
