// SPDX-License-Identifier: MIT
// Interposers of HIP: they only say on which stream the calling thread works, and pass on.
//
// Types are those of HIP's ABI, which all of 5.x to 7.x share; HIP's headers are not needed.
#include "hook/queue_table.hpp"
#include "hook/real.hpp"
#include "hook/stream_scope.hpp"

#include <cstddef>
#include <cstdint>

#define INTERPOSER extern "C" __attribute__((visibility("default")))

namespace {

using namespace xpreempt::hook;

using Stream = void*;
using Error = int; // hipError_t

constexpr Error hip_error_not_found = 500; // hipErrorNotFound: no HIP runtime behind us
constexpr const char* hip_library = "libamdhip64.so.6";

struct Dim3 {
    std::uint32_t x, y, z;
};

template <typename... Arguments>
Error on_stream(Stream stream, Next<Error(Arguments...)>& next, Arguments... arguments) {
    Error (*function)(Arguments...) = next();
    if (function == nullptr)
        return hip_error_not_found;
    const StreamScope scope(stream);
    return function(arguments...);
}

} // namespace

// Cooperative launches are left alone: they run on the device's cooperative queue, not the
// stream's.
//
// NEXT(name, types...): the HIP function behind the interposer of that name.
#define NEXT(name, ...)                                                                            \
    static constinit Next<Error(__VA_ARGS__)> next {                                               \
        #name, hip_library                                                                         \
    }

INTERPOSER Error hipLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                 std::size_t lds_bytes, Stream stream) {
    NEXT(hipLaunchKernel, const void*, Dim3, Dim3, void**, std::size_t, Stream);
    return on_stream(stream, next, function, grid, block, arguments, lds_bytes, stream);
}

INTERPOSER Error hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y,
                                       unsigned grid_z, unsigned block_x, unsigned block_y,
                                       unsigned block_z, unsigned lds_bytes, Stream stream,
                                       void** arguments, void** extra) {
    NEXT(hipModuleLaunchKernel, void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
         unsigned, Stream, void**, void**);
    return on_stream(stream, next, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                     lds_bytes, stream, arguments, extra);
}

INTERPOSER Error hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind,
                                Stream stream) {
    NEXT(hipMemcpyAsync, void*, const void*, std::size_t, int, Stream);
    return on_stream(stream, next, to, from, bytes, kind, stream);
}

INTERPOSER Error hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind,
                                     Stream stream) {
    NEXT(hipMemcpyWithStream, void*, const void*, std::size_t, int, Stream);
    return on_stream(stream, next, to, from, bytes, kind, stream);
}

INTERPOSER Error hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
    NEXT(hipMemcpy, void*, const void*, std::size_t, int);
    return on_stream(nullptr, next, to, from, bytes, kind);
}

INTERPOSER Error hipMemset(void* to, int value, std::size_t bytes) {
    NEXT(hipMemset, void*, int, std::size_t);
    return on_stream(nullptr, next, to, value, bytes);
}

INTERPOSER Error hipMemsetAsync(void* to, int value, std::size_t bytes, Stream stream) {
    NEXT(hipMemsetAsync, void*, int, std::size_t, Stream);
    return on_stream(stream, next, to, value, bytes, stream);
}

INTERPOSER Error hipEventRecord(void* event, Stream stream) {
    NEXT(hipEventRecord, void*, Stream);
    return on_stream(stream, next, event, stream);
}

INTERPOSER Error hipStreamWaitEvent(Stream stream, void* event, unsigned flags) {
    NEXT(hipStreamWaitEvent, Stream, void*, unsigned);
    return on_stream(stream, next, stream, event, flags);
}

INTERPOSER Error hipStreamSynchronize(Stream stream) {
    NEXT(hipStreamSynchronize, Stream);
    return on_stream(stream, next, stream);
}

INTERPOSER Error hipStreamQuery(Stream stream) {
    NEXT(hipStreamQuery, Stream);
    return on_stream(stream, next, stream);
}

// Afterwards a new stream may have the same handle.
INTERPOSER Error hipStreamDestroy(Stream stream) {
    NEXT(hipStreamDestroy, Stream);
    const Error error = on_stream(stream, next, stream);
    if (error == 0)
        drop_stream(stream);
    return error;
}
