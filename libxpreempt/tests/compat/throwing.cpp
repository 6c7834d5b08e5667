// SPDX-License-Identifier: MIT
// A launch callback that throws, in a program for XSched: its command ends with an error, whichever
// thread launches it, and its handle can be destroyed.
#include <cstddef>

using hipStream_t = struct ihipStream_t*; // as <hip/hip_runtime.h> declares it
extern "C" int hipStreamCreate(hipStream_t* stream);

#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

#include <cstdio>
#include <stdexcept>

extern "C" void fake_choose_driver();

namespace {

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += good ? 0 : 1;
}

XResult throws(HwQueueHandle, void*) {
    throw std::runtime_error("a callback");
}

HwCommandHandle new_command() {
    HwCommandHandle command = 0;
    check(HwCommandCreateCallback(&command, throws, nullptr) == kXSchedSuccess,
          "a command is created");
    return command;
}

// A wait finds the handle as long as it is there.
void check_end(XQueueHandle xq, HwCommandHandle command) {
    check(HwCommandDestroy(command) == kXSchedSuccess &&
              XQueueWait(xq, command) == kXSchedErrorNotFound,
          "its handle ends");
}

} // namespace

int main() {
    fake_choose_driver();
    hipStream_t stream = nullptr;
    HwQueueHandle hwq = 0;
    XQueueHandle xq = 0;
    check(hipStreamCreate(&stream) == 0 && HipQueueCreate(&hwq, stream) == kXSchedSuccess &&
              XQueueCreate(&xq, hwq, kPreemptLevelBlock, kQueueCreateFlagNone) == kXSchedSuccess,
          "an XQueue is created");
    const HwCommandHandle at_once = new_command();
    check(XQueueSubmit(xq, at_once) == kXSchedErrorUnknown,
          "the thread that submits gets an error");
    check_end(xq, at_once);
    const HwCommandHandle past = new_command();
    check(HwQueueLaunch(hwq, past) == kXSchedErrorUnknown, "a launch past the XQueue, too");
    check_end(xq, past);
    const HwCommandHandle later = new_command();
    check(XQueueSuspend(xq, kQueueSuspendFlagNone) == kXSchedSuccess &&
              XQueueSubmit(xq, later) == kXSchedSuccess &&
              XQueueResume(xq, kQueueResumeFlagNone) == kXSchedSuccess,
          "the thread of the XQueue launches one");
    check(XQueueWait(xq, later) == kXSchedErrorUnknown, "the thread that waits gets an error");
    check_end(xq, later);
    check(XQueueDestroy(xq) == kXSchedSuccess, "the XQueue ends");
    return failures == 0 ? 0 : 1;
}
