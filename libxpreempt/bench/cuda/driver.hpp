// SPDX-License-Identifier: MIT
// The functions of the CUDA driver that the benchmark uses, found at run time.
//
// Types are those of the driver's ABI, declared here: CUresult is an int and 0 is success, handles
// are void *, CUdeviceptr is a 64-bit number. No CUDA header or toolkit is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace cuda {

using Handle = void*;
using Address = std::uint64_t;

constexpr int success = 0;
constexpr int error_not_supported = 801;
constexpr unsigned stream_non_blocking = 0x1;
constexpr unsigned host_alloc_portable = 0x1;
constexpr unsigned host_alloc_mapped = 0x2;

// CUdevice_attribute
constexpr int attribute_clock_khz = 13;
constexpr int attribute_multiprocessors = 16;
constexpr int attribute_threads_per_multiprocessor = 39;

struct Driver {
    int (*init)(unsigned flags);
    int (*driver_get_version)(int*);
    int (*device_get_count)(int*);
    int (*device_get)(int* device, int ordinal);
    int (*device_get_name)(char*, int bytes, int device);
    int (*device_get_attribute)(int*, int attribute, int device);
    int (*primary_context_retain)(Handle*, int device);
    int (*context_set_current)(Handle);
    int (*context_synchronize)();
    int (*stream_priority_range)(int* least, int* greatest);
    int (*module_load_data)(Handle*, const void* image);
    int (*module_get_function)(Handle*, Handle module, const char* name);
    int (*launch_kernel)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, Handle stream, void** parameters, void** extra);
    int (*stream_create)(Handle*, unsigned flags, int priority);
    int (*stream_destroy)(Handle);
    int (*stream_synchronize)(Handle);
    int (*stream_query)(Handle);
    int (*stream_get_flags)(Handle, unsigned*);
    int (*stream_is_capturing)(Handle, int* status);
    int (*stream_wait_event)(Handle, Handle event, unsigned flags);
    int (*event_create)(Handle*, unsigned flags);
    int (*event_destroy)(Handle);
    int (*event_record)(Handle, Handle stream);
    int (*event_query)(Handle);
    int (*event_synchronize)(Handle);
    int (*memory_alloc)(Address*, std::size_t bytes);
    int (*memory_free)(Address);
    int (*host_alloc)(void**, std::size_t bytes, unsigned flags);
    int (*host_free)(void*);
    int (*host_get_device_pointer)(Address*, void*, unsigned flags);
    int (*memset_async)(Address, unsigned char, std::size_t bytes, Handle stream);
    int (*exchange_capture_mode)(int* mode);
    int (*get_error_name)(int error, const char**);

    // Null where the driver has none.
    int (*stream_write_value32)(Handle stream, Address, std::uint32_t value, unsigned flags);
    int (*stream_wait_value32)(Handle stream, Address, std::uint32_t value, unsigned flags);
    std::uint64_t (*count_calls)(const char* function); // of the fake driver: calls so far
};

// The environment variable that names the driver library; libcuda.so.1 without it.
constexpr const char* library_variable = "KFD_PREEMPT_BENCH_CUDA";

template <typename T> using Expected = tl::expected<T, std::string>;

// Loads the library and initialises the driver. The error names the library and what to do.
Expected<Driver> load_driver();

// "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"
std::string describe(const Driver& driver, const char* call, int error);

} // namespace cuda
