/* SPDX-License-Identifier: MIT */
/* A program for XSched that never destroys its commands, or all of them: memory stays bounded, also
 * behind a command of a suspended XQueue. */
#define _GNU_SOURCE
#include <stddef.h>

typedef struct ihipStream_t* hipStream_t; /* what <hip/hip_runtime.h> declares of it */
int hipStreamCreate(hipStream_t* stream);
int hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream);

#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void fake_choose_driver(void);

enum { kept = 65536, more = 100000 }; /* kept: as xsched/xqueue.h says */

static int failures;

static void check(int good, const char* what) {
    printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += !good;
}

static XResult launch(HwQueueHandle hwq, void* data) {
    (void)data;
    return hipMemsetAsync(NULL, 0, 4, (hipStream_t)hwq) == 0 ? kXSchedSuccess
                                                             : kXSchedErrorHardware;
}

static XQueueHandle new_xqueue(void) {
    hipStream_t stream = NULL;
    HwQueueHandle hwq = 0;
    XQueueHandle xq = 0;

    check(hipStreamCreate(&stream) == 0 && HipQueueCreate(&hwq, stream) == kXSchedSuccess &&
              XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedSuccess,
          "an XQueue is created");
    return xq;
}

/* 0: failed */
static HwCommandHandle submit(XQueueHandle xq) {
    HwCommandHandle command = 0;

    if (HwCommandCreateCallback(&command, launch, NULL) != kXSchedSuccess ||
        XQueueSubmit(xq, command) != kXSchedSuccess)
        return 0;
    return command;
}

static atomic_int asking = 1;

static void* ask(void* argument) {
    while (asking)
        HwCommandDestroy(0); /* locks the table of commands, and hardly more */
    return argument;
}

/* Another thread of the parent is in a call of the library, with a lock. */
static int children_end(void) {
    pthread_t thread;
    int ended = 0, status = 0, i;

    pthread_create(&thread, NULL, ask, NULL);
    for (i = 0; i < 200 && ended == i; i++) {
        const pid_t child = fork();

        if (child == 0) {
            alarm(10);
            _exit(HwCommandDestroy(0) == kXSchedSuccess);
        }
        ended += waitpid(child, &status, 0) == child && status == 0;
    }
    asking = 0;
    pthread_join(thread, NULL);
    return ended == 200;
}

int main(void) {
    XQueueHandle suspended, busy;
    HwCommandHandle pending, first, newest = 0;
    size_t before;
    int submitted = 0, i;

    fake_choose_driver();
    suspended = new_xqueue();
    busy = new_xqueue();
    check(XQueueSuspend(suspended, kQueueSuspendFlagNone) == kXSchedSuccess, "one is suspended");
    pending = submit(suspended);
    first = submit(busy);
    for (i = 0; i < kept; i++)
        submitted += (newest = submit(busy)) != 0;
    check(pending != 0 && first != 0 && submitted == kept, "commands are submitted");
    check(XQueueWait(busy, first) == kXSchedErrorNotFound, "the oldest launched one is forgotten");
    check(XQueueWait(busy, newest) == kXSchedSuccess, "the newest is known");

    before = mallinfo2().uordblks;
    for (i = 0; i < more; i++)
        submitted += HwCommandDestroy(submit(busy)) == kXSchedSuccess;
    check(submitted == kept + more, "commands are submitted and destroyed");
    check(mallinfo2().uordblks < before + 2 * more, "of those nothing is left");

    check(XQueueResume(suspended, kQueueResumeFlagNone) == kXSchedSuccess &&
              XQueueWait(suspended, pending) == kXSchedSuccess,
          "the pending one was kept");
    check(children_end(), "a child finds no lock of another thread");
    check(XQueueDestroy(suspended) == kXSchedSuccess && XQueueDestroy(busy) == kXSchedSuccess,
          "the XQueues end");
    return failures == 0 ? 0 : 1;
}
