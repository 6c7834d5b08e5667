// SPDX-License-Identifier: MIT
// Launches of the fake HIP whose stream is not a parameter, or that only older versions have.
#include <cstdint>
#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int hipStreamCreate(void** stream);
EXPORT int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, void* stream, void**, void**);

namespace {

struct Dim3 {
    std::uint32_t x, y, z;
};

thread_local void* configured = nullptr;

int launch(void* stream) {
    return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

void* stream_of(const void* config) {
    void* stream = nullptr;
    std::memcpy(static_cast<void*>(&stream), static_cast<const char*>(config) + 32, sizeof stream);
    return stream;
}

} // namespace

EXPORT int hipStreamCreateWithPriority(void** stream, unsigned, int) {
    return hipStreamCreate(stream);
}
EXPORT int hipConfigureCall(Dim3 grid, Dim3, std::size_t, void* stream) {
    if (grid.x == 0)
        return 9; // hipErrorInvalidConfiguration
    configured = stream;
    return 0;
}
EXPORT int hipLaunchByPtr(const void*) {
    return launch(configured);
}
EXPORT int hipExtLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void* stream, void*,
                              void*, int) {
    return launch(stream);
}
EXPORT int hipLaunchKernelExC(const void* config, const void*, void**) {
    return launch(stream_of(config));
}
EXPORT int hipDrvLaunchKernelEx(const void* config, void*, void**, void**) {
    return launch(stream_of(config));
}
EXPORT void _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(
    std::uintptr_t, const Dim3&, const Dim3&, std::uint32_t, void* stream, void**) {
    (void)launch(stream);
}
