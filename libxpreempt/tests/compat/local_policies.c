/* SPDX-License-Identifier: MIT */
/* XSched's local policies and their hints, as the native interface shows them. */
#include <stddef.h>

typedef struct ihipStream_t* hipStream_t; /* what <hip/hip_runtime.h> declares of it */
int hipStreamCreate(hipStream_t* stream);
int hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream);

#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

#include <stdio.h>
#include <xpreempt/sched.h>
#include <xpreempt/stream.h>

static int failures;

static void check(int good, const char* what) {
    printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += !good;
}

static uint32_t running_policy(void) {
    struct xp_sched_state state = {.sz = sizeof state};

    return xp_sched_query(&state) == 0 ? state.policy : 0;
}

static const struct {
    XPolicyType theirs;
    uint32_t ours; /* 0: NotSupported */
} policies[] = {
    {kPolicyHighestPriorityFirst, XP_POLICY_HIGHEST_PRIORITY_FIRST},
    {kPolicyHeterogeneousHighestPriorityFirst, XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST},
    {kPolicyCPUHighestPriorityFirst, 0},
    {kPolicyUtilizationPartition, XP_POLICY_UTILIZATION_PARTITION},
    {kPolicyProcessUtilizationPartition, XP_POLICY_PROCESS_UTILIZATION_PARTITION},
    {kPolicyStrictProcessUtilizationPartition, 0},
    {kPolicyKEarliestDeadlineFirst, XP_POLICY_EARLIEST_DEADLINE_FIRST},
    {kPolicyLaxity, XP_POLICY_LAXITY},
    {kPolicyActiveWindowFirst, 0},
    {kPolicyCompletelyFairScheduler, XP_POLICY_COMPLETELY_FAIR},
    {kPolicyMultiLevelFeedbackQueue, XP_POLICY_MULTILEVEL_FEEDBACK},
};

static void run_each_policy(void) {
    size_t i;

    check(sizeof policies / sizeof *policies == kPolicyMax - 1, "each policy of XSched is listed");
    for (i = 0; i < sizeof policies / sizeof *policies; i++) {
        const uint32_t before = running_policy();
        const XResult result = XHintSetScheduler(kSchedulerLocal, policies[i].theirs);

        if (policies[i].ours != 0)
            check(result == kXSchedSuccess && running_policy() == policies[i].ours,
                  "a local policy runs in the place of the one before");
        else
            check(result == kXSchedErrorNotSupported && running_policy() == before,
                  "a policy about processes is NotSupported, and the one before runs on");
    }
}

static void change_parameters(void) {
    const uint32_t before = running_policy();

    check(XHintTimeslice(2 * TIMESLICE_DEFAULT) == kXSchedSuccess &&
              XHintTimeslice((Timeslice)TIMESLICE_UNLIMITED) == kXSchedSuccess &&
              XHintKDeadline(2) == kXSchedSuccess && XHintKDeadline(100000) == kXSchedSuccess &&
              running_policy() == before,
          "the policy that runs gets another time slice and K");
    check(XHintTimeslice(TIMESLICE_MIN - 1) == kXSchedErrorInvalidValue &&
              XHintKDeadline(0) == kXSchedErrorInvalidValue,
          "values out of range are InvalidValue");
    check(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown) == kXSchedSuccess &&
              XHintTimeslice(TIMESLICE_DEFAULT) == kXSchedSuccess && running_policy() == 0,
          "without a scheduler they start none");
}

static struct xp_sched_attributes attributes_of(hipStream_t stream) {
    struct xp_sched_attributes attributes = {.sz = sizeof attributes};

    check(xp_stream_get_attributes(stream, &attributes) == 0, "the stream has attributes");
    return attributes;
}

static void give_hints(XQueueHandle xq, hipStream_t stream) {
    struct xp_sched_attributes attributes;

    check(XHintUtilization(xq, 30) == kXSchedSuccess &&
              XHintDeadline(xq, 20000) == kXSchedSuccess &&
              XHintLaxity(xq, 5000, 0, 1) == kXSchedSuccess,
          "hints are accepted");
    attributes = attributes_of(stream);
    check(attributes.utilization == 30 && attributes.deadline_us == 20000 &&
              attributes.laxity_us == 5000,
          "and reach the scheduler");
    check(XHintUtilization(xq, 0) == kXSchedSuccess && XHintDeadline(xq, 0) == kXSchedSuccess &&
              XHintLaxity(xq, 0, 0, 1) == kXSchedSuccess,
          "a hint may be 0");
    attributes = attributes_of(stream);
    check(attributes.utilization == XP_NO_UTILIZATION && attributes.deadline_us == 1 &&
              attributes.laxity_us == 1,
          "which is not the same as none");
    check(XHintUtilization(xq, UTILIZATION_DEFAULT) == kXSchedSuccess &&
              XHintDeadline(xq, NO_DEADLINE) == kXSchedSuccess &&
              XHintLaxity(xq, NO_LAXITY, 0, 1) == kXSchedSuccess,
          "hints are taken back");
    attributes = attributes_of(stream);
    check(attributes.utilization == 100 && attributes.deadline_us == 0 && attributes.laxity_us == 0,
          "and no longer count");
    check(XHintDeadline(xq, INT64_MAX) == kXSchedSuccess &&
              attributes_of(stream).deadline_us == 3600000000U,
          "a time is an hour at most");
}

/* At the end of such a suspend nothing of the queue runs: its commands can't be taken back. */
static void synchronize_at_level_2(XQueueHandle xq, hipStream_t stream) {
    struct xp_stream_info info = {.sz = sizeof info};

    check(XQueueSetPreemptLevel(xq, kPreemptLevelDeactivate) == kXSchedSuccess &&
              XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue) == kXSchedSuccess,
          "a suspend at level 2 can wait for the queue");
    check(xp_stream_query(stream, &info) == 0 && info.held != 0, "which is stopped then");
    check(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess &&
              xp_stream_query(stream, &info) == 0 && info.held == 0,
          "until the resume");
}

int main(void) {
    hipStream_t stream = NULL;
    HwQueueHandle hwq = 0;
    XQueueHandle xq = 0;

    check(hipStreamCreate(&stream) == 0 && hipMemsetAsync(NULL, 0, 4, stream) == 0 &&
              HipQueueCreate(&hwq, stream) == kXSchedSuccess &&
              XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedSuccess,
          "an XQueue is made");
    run_each_policy();
    change_parameters();
    give_hints(xq, stream);
    synchronize_at_level_2(xq, stream);
    check(XQueueDestroy(xq) == kXSchedSuccess && XHintUtilization(xq, 50) == kXSchedErrorNotFound,
          "hints of a destroyed XQueue are NotFound");
    return failures != 0;
}
