// SPDX-License-Identifier: MIT
// The HIP runtime that the program has loaded, found at run time; the library links to none.
#pragma once

#include "base/error.hpp"
#include "hook/table.hpp"

#include <cstddef>
#include <cstdint>

namespace xpreempt::hip {

using Stream = void*;
using Event = void*;

// The functions used here; types as in HIP's ABI, where hipError_t is an int and 0 is success.
// OPTIONAL(member, name, parameters...): null where the runtime has none. The capture mode is that
// of the calling thread.
#define XPREEMPT_HIP_FUNCTIONS(NEEDED, OPTIONAL)                                                   \
    NEEDED(stream_create, hipStreamCreate, Stream*)                                                \
    NEEDED(stream_create_with_cu_mask, hipExtStreamCreateWithCUMask, Stream*, unsigned words,      \
           const unsigned* mask)                                                                   \
    NEEDED(stream_destroy, hipStreamDestroy, Stream)                                               \
    NEEDED(stream_synchronize, hipStreamSynchronize, Stream)                                       \
    NEEDED(stream_query, hipStreamQuery, Stream)                                                   \
    NEEDED(stream_get_flags, hipStreamGetFlags, Stream, unsigned* flags)                           \
    NEEDED(stream_is_capturing, hipStreamIsCapturing, Stream, int* status)                         \
    NEEDED(event_create, hipEventCreateWithFlags, Event*, unsigned flags)                          \
    NEEDED(event_destroy, hipEventDestroy, Event)                                                  \
    NEEDED(event_record, hipEventRecord, Event, Stream)                                            \
    NEEDED(event_query, hipEventQuery, Event)                                                      \
    NEEDED(event_synchronize, hipEventSynchronize, Event)                                          \
    NEEDED(memset_async, hipMemsetAsync, void*, int value, std::size_t bytes, Stream)              \
    NEEDED(malloc, hipMalloc, void**, std::size_t bytes)                                           \
    NEEDED(get_device, hipGetDevice, int*)                                                         \
    NEEDED(get_device_attribute, hipDeviceGetAttribute, int*, int attribute, int device)           \
    OPTIONAL(host_malloc, hipHostMalloc, void**, std::size_t bytes, unsigned flags)                \
    OPTIONAL(runtime_get_version, hipRuntimeGetVersion, int*)                                      \
    OPTIONAL(malloc_async, hipMallocAsync, void**, std::size_t bytes, Stream)                      \
    OPTIONAL(free_async, hipFreeAsync, void*, Stream)                                              \
    OPTIONAL(stream_get_device, hipStreamGetDevice, Stream, int*)                                  \
    OPTIONAL(get_device_count, hipGetDeviceCount, int*)                                            \
    OPTIONAL(set_device, hipSetDevice, int)                                                        \
    OPTIONAL(exchange_capture_mode, hipThreadExchangeStreamCaptureMode, int* mode)

struct Functions {
#define XPREEMPT_MEMBER(member, name, ...) int (*member)(__VA_ARGS__);
    XPREEMPT_HIP_FUNCTIONS(XPREEMPT_MEMBER, XPREEMPT_MEMBER)
#undef XPREEMPT_MEMBER
};

constexpr int success = 0;
constexpr int error_not_ready = 600;                   // hipErrorNotReady
constexpr int capture_status_active = 1;               // hipStreamCaptureStatusActive
constexpr int capture_mode_relaxed = 2;                // hipStreamCaptureModeRelaxed
constexpr unsigned stream_non_blocking = 0x1;          // hipStreamNonBlocking
constexpr unsigned event_disable_timing = 0x2;         // hipEventDisableTiming
constexpr unsigned event_blocking_sync = 0x1;          // hipEventBlockingSync
constexpr unsigned host_malloc_portable = 0x1;         // hipHostMallocPortable: for all devices
constexpr unsigned host_malloc_coherent = 0x4000'0000; // hipHostMallocCoherent

// hipStreamPerThread: what it names depends on the calling thread.
inline bool is_per_thread(Stream stream) {
    return reinterpret_cast<std::uintptr_t>(stream) == 2;
}

// 0 to 2 name default streams.
inline bool is_handle(const void* stream) {
    return reinterpret_cast<std::uintptr_t>(stream) > 2;
}

bool is_runtime_loaded();

// The hook's library, for dlsym(); null where it isn't loaded.
void* loaded_hook();

// The runtime that the hook names; without a hook (null) the first that is mapped. Never loads one:
// a second one beside the program's would have streams of its own. ENOENT: none is loaded, or it
// lacks one of the functions.
Result<Functions> loaded_runtime(const hook::Table* hook);

// A HIP error as ours; EIO with the HIP number as id, but what has an errno of its own.
tl::unexpected<Error> failed_call(int hip_error);
inline Result<void> check(int answer) {
    return answer == success ? Result<void>() : failed_call(answer);
}

// The device that a call for the stream needs to be the current one: the null stream is that of the
// current device, and events are recorded on streams of their own device only. Where the runtime
// doesn't report a stream's, the calling thread's current one. any_device: the process has only
// one.
constexpr int any_device = -1;
// Returns the device's place in a table: a process with one device knows it as any_device.
constexpr std::size_t place_of(int device) {
    return device == any_device ? 0 : static_cast<std::size_t>(device);
}
Result<int> device_of(const Functions& hip, Stream stream);

// Where a table of so many places keeps what belongs to a stream.
constexpr std::size_t num_buckets = 16;
inline std::size_t bucket_of(const void* key) {
    return reinterpret_cast<std::uintptr_t>(key) * std::uint64_t{0x9e37'79b9'7f4a'7c15} >> 60;
}

// Makes a device the calling thread's current one while it lives.
class OnDevice {
public:
    OnDevice(const Functions& hip, int device);
    ~OnDevice();
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

    // Returns HIP's error if the device couldn't be made the current one; the thread's is then
    // unchanged.
    [[nodiscard]] const Result<void>& result() const { return result_; }

private:
    const Functions& hip_;
    int outer_ = any_device; // to go back to
    Result<void> result_;
};

// Not one that has become invalid, nor a default stream. HIP allows this call during a capture.
bool is_captured(const Functions& hip, Stream stream);

// False: captured, or its capture has become invalid, or HIP knows no such stream. Other calls of
// HIP don't look whether the stream was destroyed.
bool is_usable(const Functions& hip, Stream stream);

// While one lives, what the calling thread asks of HIP ends no capture of another stream. In the
// global mode a capture forbids such questions to all threads that haven't said otherwise.
class AsideOfCaptures {
public:
    explicit AsideOfCaptures(const Functions& hip);
    ~AsideOfCaptures();
    AsideOfCaptures(const AsideOfCaptures&) = delete;
    AsideOfCaptures& operator=(const AsideOfCaptures&) = delete;

private:
    const Functions& hip_;
    int outer_ = capture_mode_relaxed; // mode to go back to
};

// A stream with an HSA queue of its own, by construction: HIP pools no queue that has a CU mask,
// and the mask has all compute units. Blocking with respect to the null stream, normal priority.
Result<Stream> create_own_queue_stream(const Functions& hip);

// Makes a stream that was never used put one packet into its queue: a fill is always a kernel on
// the stream's own queue, while events may be elided. EBUSY: see is_usable().
Result<void> touch_stream(const Functions& hip, Stream stream);

// Called when the current device is reset, which frees the word that touch_stream() keeps.
void forget_kept_word(const Functions& hip);

} // namespace xpreempt::hip
