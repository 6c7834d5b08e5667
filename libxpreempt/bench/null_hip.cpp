// SPDX-License-Identifier: MIT
// A HIP runtime that does nothing, so that what is measured is libxpreempt alone.
//
// It is loaded under HIP's library name; types are those of HIP's ABI.
#include <cstddef>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Handle = void*;

// Handles are never dereferenced; they only have to differ from null.
char stream_object, event_object;

} // namespace

EXPORT int hipStreamCreate(Handle* stream) {
    *stream = &stream_object;
    return 0;
}
EXPORT int hipExtStreamCreateWithCUMask(Handle* stream, unsigned, const unsigned*) {
    *stream = &stream_object;
    return 0;
}
EXPORT int hipStreamDestroy(Handle) {
    return 0;
}
EXPORT int hipStreamSynchronize(Handle) {
    return 0;
}
EXPORT int hipStreamQuery(Handle) {
    return 0;
}
EXPORT int hipStreamGetFlags(Handle, unsigned* flags) {
    *flags = 0;
    return 0;
}
EXPORT int hipStreamIsCapturing(Handle, int* status) {
    *status = 0;
    return 0;
}
EXPORT int hipEventCreateWithFlags(Handle* event, unsigned) {
    *event = &event_object;
    return 0;
}
EXPORT int hipEventDestroy(Handle) {
    return 0;
}
EXPORT int hipEventRecord(Handle, Handle) {
    return 0;
}
EXPORT int hipEventQuery(Handle) {
    return 0;
}
EXPORT int hipEventSynchronize(Handle) {
    return 0;
}
EXPORT int hipMemsetAsync(Handle, int, std::size_t, Handle) {
    return 0;
}
EXPORT int hipMalloc(Handle*, std::size_t) {
    return 2; // hipErrorOutOfMemory: there is no device
}
EXPORT int hipFree(Handle) {
    return 0;
}
EXPORT int hipGetDevice(int* device) {
    *device = 0;
    return 0;
}
EXPORT int hipDeviceGetAttribute(int* value, int, int) {
    *value = 1;
    return 0;
}
