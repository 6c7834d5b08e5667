// SPDX-License-Identifier: MIT
// Interposers of HIP that are more than a row: streams that begin and end, the current device,
// launches whose stream isn't a parameter.
#include "hook/interpose.hpp"

#include "hook/queue_table.hpp"

#include <cstring>

namespace xpreempt::hook {

void after_call(CallClass call_class, const void* stream, Error error) {
    switch (call_class) {
    case CallClass::device_change: current_call.device = -1; break;
    case CallClass::device_reset:
        if (error == hip_success)
            drop_streams_of(current_device());
        current_call.device = -1;
        break;
    case CallClass::stream_wait:
    case CallClass::stream_query:
        if (error == hip_success)
            stream_is_idle(stream);
        break;
    default: break;
    }
}

namespace {

// The stream of a launch configured by hipConfigureCall, for hipLaunchByPtr.
constinit thread_local Stream configured = nullptr;

// hipLaunchConfig_t and HIP_LAUNCH_CONFIG both have it there.
Stream stream_of_config(const void* config) {
    Stream stream = nullptr;
    if (config != nullptr)
        std::memcpy(static_cast<void*>(&stream), static_cast<const char*>(config) + 32,
                    sizeof(Stream));
    return stream;
}

// A handle that HIP gives out means a new stream; what was known of it is of an older one.
template <typename... Arguments>
Error create_stream(RocmNext<Rocm::hip, Error(Stream*, Arguments...)>& next, const void* caller,
                    Stream* stream, Arguments... arguments) {
    Error (*function)(Stream*, Arguments...) = next(caller);
    if (function == nullptr)
        return hip_error_not_found;
    if (is_other_runtime)
        return function(stream, arguments...);
    (void)current_device(); // HIP may create a queue on it in the call
    Call call{next.name(), CallClass::stream_create, 0, nullptr, nullptr, nullptr};
    return make_call(
        call, [&] { return function(stream, arguments...); },
        [&](Error error) {
            if (error != hip_success || stream == nullptr)
                return;
            drop_stream(*stream);
            call.handle = call.stream = *stream;
        });
}

} // namespace

} // namespace xpreempt::hook

using namespace xpreempt::hook;

INTERPOSER(Error, hipStreamCreate, Stream* stream) {
    NEXT(hip, hipStreamCreate);
    return create_stream(next, __builtin_return_address(0), stream);
}

INTERPOSER(Error, hipStreamCreateWithFlags, Stream* stream, U32 flags) {
    NEXT(hip, hipStreamCreateWithFlags);
    return create_stream(next, __builtin_return_address(0), stream, flags);
}

INTERPOSER(Error, hipStreamCreateWithPriority, Stream* stream, U32 flags, int priority) {
    NEXT(hip, hipStreamCreateWithPriority);
    return create_stream(next, __builtin_return_address(0), stream, flags, priority);
}

INTERPOSER(Error, hipExtStreamCreateWithCUMask, Stream* stream, U32 words, const U32* mask) {
    NEXT(hip, hipExtStreamCreateWithCUMask);
    return create_stream(next, __builtin_return_address(0), stream, words, mask);
}

// Its work is on the queue until HIP has waited for it, and then another thread may at once have a
// new stream of the same handle.
INTERPOSER(Error, hipStreamDestroy, Stream stream) {
    auto* function = FUNCTION_OR(hip_error_not_found, hip, hipStreamDestroy);
    if (is_other_runtime)
        return function(stream);
    const void* key = key_of(stream, false);
    int dying = -1;
    return make_call(
        {"hipStreamDestroy", CallClass::stream_destroy, 0, stream, key, nullptr},
        [&] {
            dying = begin_destroy_stream(key);
            return function(stream);
        },
        [&](Error error) { end_destroy_stream(dying, error == hip_success); });
}

INTERPOSER(Error, hipSetDevice, int device) {
    auto* function = FUNCTION_OR(hip_error_not_found, hip, hipSetDevice);
    const Error error = function(device);
    if (is_other_runtime)
        return error;
    current_call.device = error == hip_success && device < max_devices ? device : -1;
    return error;
}

INTERPOSER(Error, hipConfigureCall, Dim3 grid, Dim3 block, Size lds_bytes, Stream stream) {
    auto* function = FUNCTION_OR(hip_error_not_found, hip, hipConfigureCall);
    const Error error = function(grid, block, lds_bytes, stream);
    if (error == hip_success)
        configured = stream;
    return error;
}

INTERPOSER(Error, hipLaunchByPtr, const void* function) {
    NEXT(hip, hipLaunchByPtr);
    return interpose_on<CallClass::launch>(configured, next, __builtin_return_address(0), function);
}

INTERPOSER(Error, hipLaunchKernelExC, const void* config, const void* function, void** arguments) {
    NEXT(hip, hipLaunchKernelExC);
    return interpose_on<CallClass::launch>(
        stream_of_config(config), next, __builtin_return_address(0), config, function, arguments);
}

INTERPOSER(Error, hipDrvLaunchKernelEx, const void* config, void* function, void** arguments,
           void** extra) {
    NEXT(hip, hipDrvLaunchKernelEx);
    return interpose_on<CallClass::launch>(stream_of_config(config), next,
                                           __builtin_return_address(0), config, function, arguments,
                                           extra);
}

// Called by the linker or at the exit, for each library with kernels, also of a program that has
// not used HIP.
// NOLINTNEXTLINE(bugprone-reserved-identifier): its name
INTERPOSER(void, __hipUnregisterFatBinary, void** modules) {
    static constinit RocmNext<Rocm::hip, void(void**), false> next{"__hipUnregisterFatBinary"};
    auto* behind = next(__builtin_return_address(0));
    if (behind == nullptr)
        return;
    if (is_other_runtime)
        return behind(modules);
    (void)make_call({next.name(), CallClass::unload, 0, nullptr, nullptr, nullptr},
                    [&] { behind(modules); });
}

// hip_impl::hipLaunchKernelGGLImpl of 5.x, which hipLaunchKernelGGL of its headers calls.
INTERPOSER(void, _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv,
           std::uintptr_t function, const Dim3& grid, const Dim3& block, U32 lds_bytes,
           Stream stream, void** arguments) {
    auto* behind =
        FUNCTION_OR(, hip, _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv);
    if (is_other_runtime)
        return behind(function, grid, block, lds_bytes, stream, arguments);
    (void)make_call(
        {"hipLaunchKernelGGLImpl", CallClass::launch, 0, stream, key_of(stream, false), nullptr},
        [&] { behind(function, grid, block, lds_bytes, stream, arguments); });
}
