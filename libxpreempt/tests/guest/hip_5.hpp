// SPDX-License-Identifier: MIT
// HIP 5 differs from later versions in places that tests have to know.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>

inline bool is_hip_5() {
    int version = 0;
    if (const hipError_t error = hipRuntimeGetVersion(&version); error != hipSuccess) {
        std::printf("Bail out! hipRuntimeGetVersion: %s\n", hipGetErrorString(error));
        std::exit(1);
    }
    return version < 60'000'000;
}
