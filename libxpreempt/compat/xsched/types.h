/* SPDX-License-Identifier: MIT */
/* Types and values of XSched 1.2's interface, for programs that are written for it. */
#ifndef XPREEMPT_COMPAT_XSCHED_TYPES_H
#define XPREEMPT_COMPAT_XSCHED_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names and numbers are those that programs and their recorded configurations use. */

typedef uint64_t XDevice;
typedef uint32_t XDeviceId;
typedef uint64_t XQueueHandle;
typedef uint64_t HwQueueHandle; /* HIP: the hipStream_t */
typedef uint64_t HwCommandHandle;

typedef enum {
	kXSchedSuccess = 0,
	kXSchedErrorHardware = 1, /* the driver, the GPU or HIP refused */
	kXSchedErrorInvalidValue = 2,
	kXSchedErrorNotFound = 3, /* no such handle, or not any more */
	kXSchedErrorNotAllowed = 4, /* not in this state */
	kXSchedErrorNotSupported = 5, /* not here, or not yet */
	kXSchedErrorBadResponse = 6,
	kXSchedErrorUnknown = 999,
} XResult;

typedef enum {
	kPlatformUnknown = 0,
	kPlatformVPI = 1,
	kPlatformCUDA = 2,
	kPlatformCUDLA = 3,
	kPlatformHIP = 4,
	kPlatformAscend = 5,
	kPlatformOpenCL = 6,
	kPlatformLevelZero = 7,
} XPlatform;

typedef enum {
	kDeviceTypeUnknown = 0,
	kDeviceTypeCPU = 1,
	kDeviceTypeGPU = 2,
	kDeviceTypeNPU = 3,
	kDeviceTypeFPGA = 4,
	kDeviceTypeASIC = 5,
	kDeviceTypeMCA = 6,
} XDeviceType;

typedef enum {
	kPreemptLevelUnknown = 0,
	kPreemptLevelBlock = 1, /* XP_LEVEL_BLOCK */
	kPreemptLevelDeactivate = 2, /* XP_LEVEL_DEACTIVATE */
	kPreemptLevelInterrupt = 3, /* XP_LEVEL_INTERRUPT */
	kPreemptLevelMax = 4, /* not a level */
} XPreemptLevel;

typedef enum {
	kQueueStateUnknown = 0,
	kQueueStateIdle = 1,
	kQueueStateReady = 2, /* has commands that are not complete */
} XQueueState;

typedef enum {
	kQueueFeatureNone = 0x0,
	kQueueFeatureAsyncSubmit = 0x1,
	kQueueFeatureDynamicLevel = 0x2,
	kQueueFeatureDynamicThreshold = 0x4,
	kQueueFeatureDynamicBatchSize = 0x8,
	kQueueFeatureSyncSuspend = 0x10,
	kQueueFeatureResumeDropCommands = 0x20,
	kQueueFeatureMaskAll = -1,
} XQueueFeature;

typedef enum {
	kQueueCreateFlagNone = 0x0,
	kQueueCreateFlagBlockingSubmit = 0x1,
	kQueueCreateFlagMaskAll = -1,
} XQueueCreateFlag;

typedef enum {
	kQueueSuspendFlagNone = 0x0,
	kQueueSuspendFlagSyncHwQueue = 0x1, /* at the end nothing of the queue runs */
	kQueueSuspendFlagWaitAll = 0x2, /* first complete what was submitted before */
	kQueueSuspendFlagWaitIdle = 0x4, /* first wait until there is nothing to do */
	kQueueSuspendFlagMaskAll = -1,
} XQueueSuspendFlag;

typedef enum {
	kQueueResumeFlagNone = 0x0,
	kQueueResumeFlagDropCommands = 0x1, /* forget what was not launched */
	kQueueResumeFlagMaskAll = -1,
} XQueueResumeFlag;

typedef enum {
	kSchedulerUnknown = 0,
	kSchedulerAppManaged = 1, /* none: the program suspends and resumes */
	kSchedulerLocal = 2, /* in this process */
	kSchedulerGlobal = 3, /* a server */
	kSchedulerMax = 4,
} XSchedulerType;

typedef enum {
	kPolicyUnknown = 0,
	kPolicyHighestPriorityFirst = 1,
	kPolicyHeterogeneousHighestPriorityFirst = 2,
	kPolicyCPUHighestPriorityFirst = 3,
	kPolicyUtilizationPartition = 4,
	kPolicyProcessUtilizationPartition = 5,
	kPolicyStrictProcessUtilizationPartition = 6,
	kPolicyKEarliestDeadlineFirst = 7,
	kPolicyLaxity = 8,
	kPolicyActiveWindowFirst = 9,
	kPolicyCompletelyFairScheduler = 10,
	kPolicyMultiLevelFeedbackQueue = 11,
	kPolicyMax = 12,
} XPolicyType;

/* Launches one command on the queue: kXSchedSuccess or why not. Must not wait for the GPU. */
typedef XResult (*LaunchCallback)(HwQueueHandle hwq, void *data);

typedef int32_t Priority; /* higher goes first */
#define PRIORITY_NO_EXECUTE (-256)
#define PRIORITY_MIN (-255)
#define PRIORITY_DEFAULT 0
#define PRIORITY_MAX 255

typedef int32_t Utilization; /* per cent */
#define UTILIZATION_MIN 0
#define UTILIZATION_DEFAULT 100
#define UTILIZATION_MAX 100

typedef int64_t Timeslice; /* microseconds */
#define TIMESLICE_MIN 100
#define TIMESLICE_DEFAULT 5000
#define TIMESLICE_MAX 10000000
#define TIMESLICE_UNLIMITED UINT64_MAX

typedef int64_t Laxity; /* microseconds */
#define NO_LAXITY (-1)

typedef int64_t Deadline; /* microseconds */
#define NO_DEADLINE (-1)

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_COMPAT_XSCHED_TYPES_H */
