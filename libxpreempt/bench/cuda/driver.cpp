// SPDX-License-Identifier: MIT
// Looks up the driver's entry points by their exported, versioned names.
#include "driver.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace cuda {

namespace {

constexpr const char* default_library = "libcuda.so.1";

template <typename Function>
bool find(void* library, const char* name, Function*& function, std::string& missing) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr && missing.empty())
        missing = name;
    return function != nullptr;
}

// Returns the name of the first function that is missing, or "".
std::string find_all(void* library, Driver& driver) {
    std::string missing;
    const auto need = [&](const char* name, auto*& function) {
        find(library, name, function, missing);
    };
    need("cuInit", driver.init);
    need("cuDriverGetVersion", driver.driver_get_version);
    need("cuDeviceGetCount", driver.device_get_count);
    need("cuDeviceGet", driver.device_get);
    need("cuDeviceGetName", driver.device_get_name);
    need("cuDeviceGetAttribute", driver.device_get_attribute);
    need("cuDevicePrimaryCtxRetain", driver.primary_context_retain);
    need("cuCtxSetCurrent", driver.context_set_current);
    need("cuCtxSynchronize", driver.context_synchronize);
    need("cuCtxGetStreamPriorityRange", driver.stream_priority_range);
    need("cuModuleLoadData", driver.module_load_data);
    need("cuModuleGetFunction", driver.module_get_function);
    need("cuLaunchKernel", driver.launch_kernel);
    need("cuStreamCreateWithPriority", driver.stream_create);
    need("cuStreamDestroy_v2", driver.stream_destroy);
    need("cuStreamSynchronize", driver.stream_synchronize);
    need("cuStreamQuery", driver.stream_query);
    need("cuStreamGetFlags", driver.stream_get_flags);
    need("cuStreamIsCapturing", driver.stream_is_capturing);
    need("cuStreamWaitEvent", driver.stream_wait_event);
    need("cuEventCreate", driver.event_create);
    need("cuEventDestroy_v2", driver.event_destroy);
    need("cuEventRecord", driver.event_record);
    need("cuEventQuery", driver.event_query);
    need("cuEventSynchronize", driver.event_synchronize);
    need("cuMemAlloc_v2", driver.memory_alloc);
    need("cuMemFree_v2", driver.memory_free);
    need("cuMemHostAlloc", driver.host_alloc);
    need("cuMemFreeHost", driver.host_free);
    need("cuMemHostGetDevicePointer_v2", driver.host_get_device_pointer);
    need("cuMemsetD8Async", driver.memset_async);
    need("cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
    need("cuGetErrorName", driver.get_error_name);

    std::string unused;
    find(library, "cuStreamWriteValue32_v2", driver.stream_write_value32, unused);
    find(library, "cuStreamWaitValue32_v2", driver.stream_wait_value32, unused);
    find(library, "fake_cuda_calls", driver.count_calls, unused);
    return missing;
}

} // namespace

Expected<Driver> load_driver() {
    const char* chosen = std::getenv(library_variable);
    const std::string name = chosen != nullptr && *chosen != '\0' ? chosen : default_library;
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return tl::make_unexpected(
            std::string("cannot load the CUDA driver: ") + dlerror() +
            "; install the NVIDIA driver, or set KFD_PREEMPT_BENCH_CUDA to its library");
    Driver driver{};
    if (const std::string missing = find_all(library, driver); !missing.empty())
        return tl::make_unexpected(name + " lacks " + missing +
                                   "; set KFD_PREEMPT_BENCH_CUDA to a newer driver library");
    if (const int error = driver.init(0); error != success)
        return tl::make_unexpected("no usable GPU: " + describe(driver, "cuInit", error) +
                                   "; check that nvidia-smi lists one");
    return driver;
}

std::string describe(const Driver& driver, const char* call, int error) {
    const char* name = nullptr;
    if (driver.get_error_name(error, &name) != success || name == nullptr)
        return std::string(call) + ": CUDA error " + std::to_string(error);
    return std::string(call) + ": " + name;
}

} // namespace cuda
