/* SPDX-License-Identifier: MIT */
/* A C program in the style of XSched 1.2 that calls all 25 functions, on a ROCm that is ours. */
#define _DEFAULT_SOURCE
#include <stddef.h>

typedef struct ihipStream_t* hipStream_t; /* what <hip/hip_runtime.h> declares of it */
int hipStreamCreate(hipStream_t* stream);
int hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream);

#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int hipStreamBeginCapture(hipStream_t stream, int mode);
int hipStreamDestroy(hipStream_t stream);
int hipStreamEndCapture(hipStream_t stream, void** graph);
bool fake_captures_ended(void); /* by a call of another thread, since the last question */

void fake_choose_driver(void);
void fake_stop_late(void);
void fake_confirm_stop(void);
unsigned fake_late_answers(void);

static atomic_int failures; /* of several threads */

static void check(int good, const char* what) {
    printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += !good;
}

struct launches {
    int count;
    XResult answer;
    HwQueueHandle last;
};

static XResult launch(HwQueueHandle hwq, void* data) {
    struct launches* launches = data;

    launches->count++;
    launches->last = hwq;
    if (launches->answer != kXSchedSuccess)
        return launches->answer;
    return hipMemsetAsync(NULL, 0, 4, (hipStream_t)hwq) == 0 ? kXSchedSuccess
                                                             : kXSchedErrorHardware;
}

static HwCommandHandle command(struct launches* launches) {
    HwCommandHandle made = 0;

    check(HwCommandCreateCallback(&made, launch, launches) == kXSchedSuccess && made != 0,
          "a command is created");
    return made;
}

static void hardware_queues(hipStream_t stream, HwQueueHandle* hwq) {
    XQueueHandle xq = 0;

    check(HipQueueCreate(NULL, stream) == kXSchedErrorInvalidValue, "no output is InvalidValue");
    check(XQueueCreate(&xq, (HwQueueHandle)stream, kPreemptLevelBlock, kQueueCreateFlagNone) ==
              kXSchedErrorNotFound,
          "a stream that was not made known is NotFound");
    check(HwQueueDestroy((HwQueueHandle)stream) == kXSchedErrorNotFound, "there too");
    check(HipQueueCreate(hwq, stream) == kXSchedSuccess, "HipQueueCreate");
    check(*hwq == (HwQueueHandle)stream, "the hardware queue is the stream");
    check(HipQueueCreate(hwq, stream) == kXSchedSuccess, "and again");
    check(XQueueGet(&xq, *hwq) == kXSchedErrorNotFound, "it has no XQueue yet");
}

static XQueueHandle xqueues(HwQueueHandle hwq) {
    XQueueHandle xq = 0, other = 0;

    check(XQueueCreate(NULL, hwq, 1, 0) == kXSchedErrorInvalidValue, "XQueueCreate: no output");
    check(XQueueCreate(&xq, hwq, kPreemptLevelUnknown, 0) == kXSchedErrorInvalidValue,
          "level 0 is InvalidValue");
    check(XQueueCreate(&xq, hwq, kPreemptLevelMax, 0) == kXSchedErrorInvalidValue,
          "level 4 is InvalidValue");
    check(XQueueCreate(&xq, hwq, 1, kQueueCreateFlagBlockingSubmit) == kXSchedErrorNotSupported,
          "blocking submits are NotSupported");
    check(xq == 0, "a failure leaves the output alone");
    check(XQueueCreate(&xq, hwq, kPreemptLevelInterrupt, kQueueCreateFlagNone) == kXSchedSuccess,
          "XQueueCreate");
    check(XQueueCreate(&other, hwq, kPreemptLevelInterrupt, 0) == kXSchedSuccess && other == xq,
          "the second one is the first");
    other = 0;
    check(XQueueGet(&other, hwq) == kXSchedSuccess && other == xq, "XQueueGet");
    check(HwQueueDestroy(hwq) == kXSchedErrorNotAllowed, "a hardware queue with an XQueue stays");
    check(XQueueSetPreemptLevel(xq, kPreemptLevelInterrupt) == kXSchedSuccess,
          "the level it has can be set");
    check(XQueueSetPreemptLevel(xq, kPreemptLevelBlock) == kXSchedSuccess, "and a lower one");
    check(XQueueSetPreemptLevel(xq, kPreemptLevelInterrupt) == kXSchedSuccess, "and back");
    check(XQueueSetLaunchConfig(xq, 8, 4) == kXSchedSuccess, "XQueueSetLaunchConfig");
    check(XQueueSetLaunchConfig(xq, 2, -1) == kXSchedErrorInvalidValue,
          "a threshold below the batch size is InvalidValue, and nobody aborts");
    check(XQueueSetLaunchConfig(xq, 0, -1) == kXSchedSuccess, "0 and less keep a value");
    return xq;
}

static void commands(XQueueHandle xq, HwQueueHandle hwq) {
    struct launches good = {0, kXSchedSuccess, 0}, bad = {0, kXSchedErrorUnknown, 0};
    HwCommandHandle one = command(&good), two = command(&good), failing = command(&bad);
    XQueueState state = kQueueStateUnknown;
    int64_t count = 0;

    check(HwCommandCreateCallback(NULL, launch, NULL) == kXSchedErrorInvalidValue &&
              HwCommandCreateCallback(&one, NULL, NULL) == kXSchedErrorInvalidValue,
          "a command needs an output and a callback");
    check(XQueueWait(xq, one) == kXSchedErrorNotAllowed, "waiting before submit is NotAllowed");
    check(XQueueSubmit(xq, one) == kXSchedSuccess, "XQueueSubmit");
    check(good.last == hwq, "the callback gets the hardware queue");
    check(XQueueSubmit(xq, one) == kXSchedErrorNotAllowed, "a command is submitted once");
    check(XQueueWait(xq, one) == kXSchedSuccess, "waiting after submit works");
    check(XQueueWait(xq, one) == kXSchedSuccess, "and works again");
    check(XQueueSubmit(xq, failing) == kXSchedErrorUnknown, "a callback's failure is told");
    check(XQueueWaitAll(xq) == kXSchedSuccess, "XQueueWaitAll");
    check(XQueueQuery(xq, &state) == kXSchedSuccess && state == kQueueStateIdle, "it is idle");
    check(XQueueProfileHwCommandCount(xq, &count) == kXSchedSuccess && count >= 1,
          "commands are counted");
    check(HwQueueLaunch(hwq, two) == kXSchedSuccess && good.count == 2, "HwQueueLaunch");
    check(HwQueueSynchronize(hwq) == kXSchedSuccess, "HwQueueSynchronize");
    check(HwQueueLaunch(hwq, two) == kXSchedErrorNotAllowed, "that uses a command up too");
    check(HwCommandDestroy(one) == kXSchedSuccess, "HwCommandDestroy");
    check(HwCommandDestroy(one) == kXSchedErrorNotFound, "a destroyed command is NotFound");
    check(XQueueSubmit(xq, one) == kXSchedErrorNotFound, "everywhere");
}

static void suspends(XQueueHandle xq) {
    struct launches launches = {0, kXSchedSuccess, 0};
    HwCommandHandle kept = command(&launches), dropped = command(&launches);
    XQueueState state = kQueueStateUnknown;

    check(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue) == kXSchedSuccess &&
              XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess,
          "suspends are not counted");
    check(XQueueSubmit(xq, kept) == kXSchedSuccess && launches.count == 0,
          "a suspended XQueue launches nothing");
    check(XQueueQuery(xq, &state) == kXSchedSuccess && state == kQueueStateReady,
          "it has something to do");
    check(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess, "one resume is enough");
    check(XQueueWait(xq, kept) == kXSchedSuccess && launches.count == 1, "and then it runs");
    check(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess, "resumes are not counted");

    check(XQueueSuspend(xq, kQueueSuspendFlagWaitAll | kQueueSuspendFlagWaitIdle) == kXSchedSuccess,
          "a suspend can wait for all commands");
    check(XQueueSubmit(xq, dropped) == kXSchedSuccess, "a command is submitted");
    check(XQueueResume(xq, kQueueResumeFlagDropCommands) == kXSchedSuccess, "and dropped");
    check(XQueueWaitAll(xq) == kXSchedSuccess && launches.count == 1, "it is not launched");
    check(XQueueWait(xq, dropped) == kXSchedErrorNotFound, "a dropped command is NotFound");
    check(XQueueSuspend(xq, 0x100) == kXSchedErrorInvalidValue &&
              XQueueResume(xq, 0x100) == kXSchedErrorInvalidValue,
          "unknown flags are InvalidValue");
}

static void hints(XQueueHandle xq) {
    struct launches launches = {0, kXSchedSuccess, 0};
    HwCommandHandle held = command(&launches);
    int policy, known = 1;

    check(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown) == kXSchedSuccess,
          "no scheduler runs");
    check(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst) == kXSchedSuccess,
          "highest priority first");
    check(XHintPriority(xq, 10) == kXSchedSuccess, "XHintPriority");
    check(XHintPriority(xq, PRIORITY_MAX + 1) == kXSchedErrorInvalidValue, "256 is InvalidValue");
    for (policy = kPolicyMax - 1; policy > kPolicyUnknown; policy--) {
        const XResult result = XHintSetScheduler(kSchedulerLocal, (XPolicyType)policy);

        known &= result == kXSchedSuccess || result == kXSchedErrorNotSupported;
    }
    check(known, "local policies run, or are NotSupported");
    check(XHintSetScheduler(kSchedulerGlobal, kPolicyHighestPriorityFirst) ==
                  kXSchedErrorNotSupported &&
              XHintPriority(xq, 11) == kXSchedSuccess,
          "without xpreemptd the global scheduler is NotSupported, and the local one runs on");
    check(XHintSetScheduler(kSchedulerUnknown, kPolicyHighestPriorityFirst) ==
              kXSchedErrorInvalidValue,
          "no scheduler of that number");
    check(XHintUtilization(xq, 50) == kXSchedSuccess &&
              XHintTimeslice(TIMESLICE_DEFAULT) == kXSchedSuccess &&
              XHintLaxity(xq, 100, 0, 1) == kXSchedSuccess &&
              XHintDeadline(xq, 100) == kXSchedSuccess && XHintKDeadline(1) == kXSchedSuccess,
          "hints of other policies are stored");
    check(XHintUtilization(xq, 101) == kXSchedErrorInvalidValue &&
              XHintTimeslice(1) == kXSchedErrorInvalidValue &&
              XHintDeadline(xq, -2) == kXSchedErrorInvalidValue,
          "and InvalidValue out of range");
    check(XHintPriority(xq, PRIORITY_NO_EXECUTE) == kXSchedSuccess &&
              XQueueSubmit(xq, held) == kXSchedSuccess && XQueueResume(xq, 0) == kXSchedSuccess &&
              launches.count == 0,
          "PRIORITY_NO_EXECUTE keeps it from running");
    check(XHintPriority(xq, PRIORITY_DEFAULT) == kXSchedSuccess &&
              XQueueWait(xq, held) == kXSchedSuccess && launches.count == 1,
          "until it gets another one");
    check(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown) == kXSchedSuccess,
          "the scheduler ends");
}

static void* ask(void* argument) {
    const XQueueHandle xq = *(const XQueueHandle*)argument;
    HwQueueHandle hwq = *((const HwQueueHandle*)argument + 1);
    XQueueState state = kQueueStateUnknown;

    check(XQueueQuery(xq, &state) == kXSchedSuccess && XQueueWaitAll(xq) == kXSchedSuccess &&
              XQueueSuspend(xq, kQueueSuspendFlagMaskAll) == kXSchedSuccess &&
              XQueueResume(xq, 0) == kXSchedSuccess && HwQueueSynchronize(hwq) == kXSchedSuccess,
          "questions and waits beside a capture");
    return NULL;
}

/* HIP ends every capture in the global mode when another thread asks it the wrong way. */
static void captures(XQueueHandle xq, HwQueueHandle hwq) {
    uint64_t handles[2] = {xq, hwq};
    hipStream_t captured = NULL;
    pthread_t thread;

    check(hipStreamCreate(&captured) == 0 && hipStreamBeginCapture(captured, 0) == 0,
          "a capture begins");
    check(pthread_create(&thread, NULL, ask, handles) == 0 && pthread_join(thread, NULL) == 0,
          "another thread asks");
    check(!fake_captures_ended(), "the capture goes on");
    check(hipStreamEndCapture(captured, NULL) == 0 && hipStreamDestroy(captured) == 0, "and ends");
}

static void* suspend(void* argument) {
    const XQueueHandle xq = *(const XQueueHandle*)argument;

    check(XQueueSuspend(xq, kQueueSuspendFlagWaitAll) == kXSchedSuccess &&
              XQueueResume(xq, 0) == kXSchedSuccess,
          "a suspend waits for what was submitted");
    return NULL;
}

/* The remedy of a suspend that waits: it must not need what the suspend keeps. */
static void waits(XQueueHandle xq) {
    struct launches launches = {0, kXSchedSuccess, 0};
    HwCommandHandle kept = command(&launches);
    pthread_t thread;

    check(XHintPriority(xq, PRIORITY_NO_EXECUTE) == kXSchedSuccess &&
              XQueueSubmit(xq, kept) == kXSchedSuccess,
          "a command is kept from running");
    check(pthread_create(&thread, NULL, suspend, &xq) == 0, "another thread suspends");
    usleep(100000); /* until it waits; without that the test only proves less */
    alarm(20);
    check(XHintPriority(xq, PRIORITY_DEFAULT) == kXSchedSuccess, "the priority is set meanwhile");
    check(pthread_join(thread, NULL) == 0 && launches.count == 1, "and the suspend returns");
    alarm(0);
}

static volatile bool synchronized;

static void* suspend_synchronized(void* argument) {
    const XQueueHandle xq = *(const XQueueHandle*)argument;

    check(XQueueSuspend(xq, kQueueSuspendFlagSyncHwQueue) == kXSchedSuccess,
          "a suspend with SyncHwQueue");
    synchronized = true;
    return NULL;
}

/* The driver confirms the stop after the kernel has ended. */
static void late_stop(XQueueHandle xq) {
    const char* driver = getenv("FAKE_DRIVER");
    pthread_t thread;

    if (driver == NULL || strcmp(driver, "patched") != 0)
        return;
    fake_stop_late();
    alarm(20);
    check(pthread_create(&thread, NULL, suspend_synchronized, &xq) == 0, "a stop is late");
    while (fake_late_answers() < 3)
        usleep(1000);
    check(!synchronized, "while the kernel runs, SyncHwQueue waits");
    fake_confirm_stop();
    check(pthread_join(thread, NULL) == 0 && synchronized, "and returns after it");
    alarm(0);
    check(XQueueResume(xq, 0) == kXSchedSuccess, "one resume is enough");
}

static XResult nothing(HwQueueHandle hwq, void* data) {
    (void)hwq;
    (void)data;
    return kXSchedSuccess;
}

static void many_commands(XQueueHandle xq, HwQueueHandle hwq) {
    struct launches launches = {0, kXSchedSuccess, 0};
    HwCommandHandle pending = command(&launches), first = 0, made = 0;
    int i;

    check(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess &&
              XQueueSubmit(xq, pending) == kXSchedSuccess,
          "a command of a suspended XQueue is pending");
    for (i = 0; i < 70000; i++) { /* never destroyed, as XSched's programs do */
        if (HwCommandCreateCallback(&made, nothing, NULL) != kXSchedSuccess ||
            HwQueueLaunch(hwq, made) != kXSchedSuccess)
            break;
        if (i == 0)
            first = made;
    }
    check(i == 70000 && HwCommandDestroy(first) == kXSchedErrorNotFound,
          "the oldest used commands are forgotten beside it");
    check(XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess &&
              XQueueWait(xq, pending) == kXSchedSuccess && launches.count == 1,
          "the pending one is not");
}

static XQueueHandle destroyed_in_launch;

static XResult destroy_own_xqueue(HwQueueHandle hwq, void* data) {
    (void)hwq;
    *(XResult*)data = XQueueDestroy(destroyed_in_launch);
    return kXSchedSuccess;
}

static void destroy_within(XQueueHandle xq, HwQueueHandle hwq) {
    XResult answer = kXSchedSuccess;
    HwCommandHandle made = 0;
    XQueueHandle found = 0;

    destroyed_in_launch = xq;
    check(HwCommandCreateCallback(&made, destroy_own_xqueue, &answer) == kXSchedSuccess &&
              XQueueSubmit(xq, made) == kXSchedSuccess && answer == kXSchedErrorNotAllowed,
          "a launch function may not destroy its XQueue");
    check(XQueueGet(&found, hwq) == kXSchedSuccess && found == xq &&
              XQueueWaitAll(xq) == kXSchedSuccess,
          "which stays");
}

static void stale(XQueueHandle xq) {
    XQueueState state;
    int64_t count;

    check(XQueueDestroy(xq) == kXSchedErrorNotFound && XQueueWaitAll(xq) == kXSchedErrorNotFound &&
              XQueueSuspend(xq, 0) == kXSchedErrorNotFound &&
              XQueueResume(xq, 0) == kXSchedErrorNotFound &&
              XQueueQuery(xq, &state) == kXSchedErrorNotFound &&
              XQueueProfileHwCommandCount(xq, &count) == kXSchedErrorNotFound &&
              XHintPriority(xq, 0) == kXSchedErrorNotFound &&
              XQueueSetLaunchConfig(xq, 8, 4) == kXSchedErrorNotFound,
          "a destroyed XQueue is NotFound everywhere");
    check(XQueueDestroy(0) == kXSchedErrorNotFound, "so is handle 0");
}

int main(void) {
    hipStream_t stream = NULL, null_stream = NULL;
    HwQueueHandle hwq = 0, null_hwq = 1;
    XQueueHandle xq;
    int i;

    fake_choose_driver();
    check(hipStreamCreate(&stream) == 0, "a stream is created");
    hardware_queues(stream, &hwq);
    xq = xqueues(hwq);
    commands(xq, hwq);
    suspends(xq);
    hints(xq);
    captures(xq, hwq);
    waits(xq);
    late_stop(xq);
    for (i = 0; i < 70000; i++) { /* never destroyed, as XSched's programs do */
        static struct launches launches;
        HwCommandHandle made = 0;

        if (HwCommandCreateCallback(&made, launch, &launches) != kXSchedSuccess ||
            XQueueSubmit(xq, made) != kXSchedSuccess)
            break;
    }
    check(i == 70000, "commands that are never destroyed do not pile up");
    many_commands(xq, hwq);
    destroy_within(xq, hwq);
    check(XQueueDestroy(xq) == kXSchedSuccess, "XQueueDestroy");
    stale(xq);
    check(HwQueueDestroy(hwq) == kXSchedSuccess, "HwQueueDestroy");
    check(HwQueueSynchronize(hwq) == kXSchedErrorNotFound,
          "a destroyed hardware queue is NotFound");
    check(HipQueueCreate(&null_hwq, null_stream) == kXSchedSuccess && null_hwq == 0,
          "the null stream is a hardware queue too");
    return failures != 0;
}
