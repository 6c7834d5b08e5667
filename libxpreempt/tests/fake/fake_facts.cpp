// SPDX-License-Identifier: MIT
// The version of the fake HIP, and facts about its GPUs.
#include "fake/fake_rocm.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int hipRuntimeGetVersion(int* version) {
    *version = fake_hip()->version;
    return 0;
}
EXPORT int hipGetDeviceCount(int* count) {
    *count = fake_hip()->devices;
    return 0;
}
EXPORT int hipDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 63 ? 38 : 0;
    return 0;
}
