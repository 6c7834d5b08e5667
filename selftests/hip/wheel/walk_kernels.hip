// SPDX-License-Identifier: MIT
// The extension module of `wheel`: a library that Python loads, linked to HIP.
#include "../sequence.hpp"

// Each of `count` values walks so many steps, in place. An error of HIP, or 0.
extern "C" int wheel_walk(std::uint32_t* values, unsigned count, unsigned steps) {
    std::uint32_t* data = nullptr;
    const std::size_t bytes = count * sizeof(*values);
    hipError_t error = hipMalloc(reinterpret_cast<void**>(&data), bytes);
    if (error == hipSuccess)
        error = hipMemcpy(data, values, bytes, hipMemcpyHostToDevice);
    if (error == hipSuccess) {
        test::walk<<<count / 256, 256>>>(data, data, steps);
        error = hipGetLastError();
    }
    if (error == hipSuccess)
        error = hipMemcpy(values, data, bytes, hipMemcpyDeviceToHost);
    (void)hipFree(data);
    return error;
}
