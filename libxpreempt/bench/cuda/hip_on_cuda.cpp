// SPDX-License-Identifier: MIT
// A stand-in for HIP's runtime over the CUDA driver: the functions that libxpreempt calls.
//
// libxpreempt finds it by its file name, libamdhip64*. Streams and events are the driver's own, so
// the benchmark launches its kernels with cuLaunchKernel() on them. It is never installed.
#include "driver.hpp"

#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int error_not_initialized = 3;    // hipErrorNotInitialized
constexpr int error_invalid_value = 1;      // hipErrorInvalidValue
constexpr int attribute_compute_units = 63; // hipDeviceAttributeMultiprocessorCount

// hipHostMallocPortable and hipHostMallocMapped have CUDA's values; the others have none in CUDA.
constexpr unsigned host_malloc_flags = cuda::host_alloc_portable | cuda::host_alloc_mapped;

struct Runtime {
    cuda::Driver driver{};
    cuda::Handle context = nullptr;
    int device = 0;
    bool usable = false;
};

const Runtime& runtime() {
    static const Runtime made = [] {
        Runtime runtime;
        const auto driver = cuda::load_driver();
        if (!driver)
            return runtime;
        runtime.driver = *driver;
        runtime.usable =
            driver->device_get(&runtime.device, 0) == cuda::success &&
            driver->primary_context_retain(&runtime.context, runtime.device) == cuda::success;
        return runtime;
    }();
    return made;
}

// HIP needs no current context; CUDA wants one in each thread. Null: the driver isn't usable.
const cuda::Driver* driver() {
    const Runtime& from = runtime();
    if (!from.usable)
        return nullptr;
    static thread_local bool current = false;
    if (!current)
        current = from.driver.context_set_current(from.context) == cuda::success;
    return &from.driver;
}

// HIP's error numbers are CUDA's: 600 isn't ready, 801 isn't supported.
template <typename Function, typename... Arguments>
int call(Function* cuda::Driver::* function, Arguments... arguments) {
    const cuda::Driver* to = driver();
    if (to == nullptr)
        return error_not_initialized;
    if (to->*function == nullptr)
        return cuda::error_not_supported;
    return (to->*function)(arguments...);
}

cuda::Address address_of(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

} // namespace

using cuda::Driver;
using Stream = void*;
using Event = void*;

EXPORT int hipStreamCreate(Stream* stream) {
    return call(&Driver::stream_create, stream, 0U, 0);
}
EXPORT int hipStreamCreateWithFlags(Stream* stream, unsigned flags) {
    return call(&Driver::stream_create, stream, flags, 0);
}
EXPORT int hipStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
    return call(&Driver::stream_create, stream, flags, priority);
}
EXPORT int hipExtStreamCreateWithCUMask(Stream* stream, unsigned, const unsigned*) {
    return call(&Driver::stream_create, stream, 0U, 0); // CUDA masks no multiprocessors
}
EXPORT int hipStreamDestroy(Stream stream) {
    return call(&Driver::stream_destroy, stream);
}
EXPORT int hipStreamSynchronize(Stream stream) {
    return call(&Driver::stream_synchronize, stream);
}
EXPORT int hipStreamQuery(Stream stream) {
    return call(&Driver::stream_query, stream);
}
EXPORT int hipStreamGetFlags(Stream stream, unsigned* flags) {
    return call(&Driver::stream_get_flags, stream, flags);
}
EXPORT int hipStreamIsCapturing(Stream stream, int* status) {
    return call(&Driver::stream_is_capturing, stream, status);
}
EXPORT int hipStreamWaitEvent(Stream stream, Event event, unsigned flags) {
    return call(&Driver::stream_wait_event, stream, event, flags);
}
EXPORT int hipStreamWriteValue32(Stream stream, void* to, std::uint32_t value, unsigned) {
    return call(&Driver::stream_write_value32, stream, address_of(to), value, 0U);
}
// CUDA has no mask: only a wait for all bits can be passed on.
EXPORT int hipStreamWaitValue32(Stream stream, void* at, std::uint32_t value, unsigned flags,
                                std::uint32_t mask) {
    if (mask != UINT32_MAX)
        return cuda::error_not_supported;
    return call(&Driver::stream_wait_value32, stream, address_of(at), value, flags);
}
EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) {
    return call(&Driver::exchange_capture_mode, mode);
}

// hipEventDisableTiming and hipEventBlockingSync have CUDA's values.
EXPORT int hipEventCreateWithFlags(Event* event, unsigned flags) {
    return call(&Driver::event_create, event, flags & 0x3U);
}
EXPORT int hipEventDestroy(Event event) {
    return call(&Driver::event_destroy, event);
}
EXPORT int hipEventRecord(Event event, Stream stream) {
    return call(&Driver::event_record, event, stream);
}
EXPORT int hipEventQuery(Event event) {
    return call(&Driver::event_query, event);
}
EXPORT int hipEventSynchronize(Event event) {
    return call(&Driver::event_synchronize, event);
}

EXPORT int hipMalloc(void** memory, std::size_t bytes) {
    cuda::Address address = 0;
    const int error = call(&Driver::memory_alloc, &address, bytes);
    *memory = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    return error;
}
EXPORT int hipFree(void* memory) {
    return call(&Driver::memory_free, address_of(memory));
}
EXPORT int hipHostMalloc(void** memory, std::size_t bytes, unsigned flags) {
    return call(&Driver::host_alloc, memory, bytes,
                (flags & host_malloc_flags) | cuda::host_alloc_mapped);
}
EXPORT int hipHostFree(void* memory) {
    return call(&Driver::host_free, memory);
}
EXPORT int hipHostGetDevicePointer(void** on_device, void* memory, unsigned flags) {
    cuda::Address address = 0;
    const int error = call(&Driver::host_get_device_pointer, &address, memory, flags);
    *on_device = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    return error;
}
EXPORT int hipMemsetAsync(void* to, int value, std::size_t bytes, Stream stream) {
    return call(&Driver::memset_async, address_of(to), static_cast<unsigned char>(value), bytes,
                stream);
}

EXPORT int hipGetDevice(int* device) {
    *device = 0;
    return driver() != nullptr ? cuda::success : error_not_initialized;
}
EXPORT int hipGetDeviceCount(int* count) {
    *count = 1; // the others aren't used
    return driver() != nullptr ? cuda::success : error_not_initialized;
}
EXPORT int hipSetDevice(int device) {
    return device == 0 ? cuda::success : error_invalid_value;
}
EXPORT int hipDeviceGetAttribute(int* value, int attribute, int) {
    if (attribute != attribute_compute_units)
        return error_invalid_value;
    return call(&Driver::device_get_attribute, value, cuda::attribute_multiprocessors,
                runtime().device);
}
