// SPDX-License-Identifier: MIT
// HIP calls of XSched that tests/fake doesn't have: the context and the device.
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int hipCtxGetCurrent(void** context) {
    static char only;
    *context = &only;
    return 0;
}
EXPORT int hipCtxSetCurrent(void*) {
    return 0;
}
EXPORT int hipCtxGetDevice(int* device) {
    *device = 0;
    return 0;
}
// The prefix of hipDeviceProp_t that is left of both its layouts: all 0, a PCI address too.
EXPORT int hipGetDeviceProperties(void* properties, int) {
    std::memset(properties, 0, 256);
    return 0;
}
EXPORT int hipGetDevicePropertiesR0600(void* properties, int) {
    std::memset(properties, 0, 1024);
    return 0;
}
