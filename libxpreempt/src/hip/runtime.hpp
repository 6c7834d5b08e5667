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
struct Functions {
    int (*stream_create)(Stream*);
    int (*stream_create_with_cu_mask)(Stream*, unsigned words, const unsigned* mask);
    int (*stream_destroy)(Stream);
    int (*stream_synchronize)(Stream);
    int (*stream_query)(Stream);
    int (*stream_get_flags)(Stream, unsigned* flags);
    int (*stream_is_capturing)(Stream, int* status);
    int (*event_create)(Event*, unsigned flags);
    int (*event_destroy)(Event);
    int (*event_record)(Event, Stream);
    int (*event_query)(Event);
    int (*event_synchronize)(Event);
    int (*memset_async)(void*, int value, std::size_t bytes, Stream);
    int (*malloc)(void**, std::size_t bytes);
    int (*get_device)(int*);
    int (*get_device_attribute)(int*, int attribute, int device);
    // Null where the runtime has none.
    int (*host_malloc)(void**, std::size_t bytes, unsigned flags);
    int (*runtime_get_version)(int*);
    int (*malloc_async)(void**, std::size_t bytes, Stream);
    int (*free_async)(void*, Stream);
    int (*stream_get_device)(Stream, int*);
    int (*get_device_count)(int*);
    int (*set_device)(int);
    int (*exchange_capture_mode)(int* mode); // of the calling thread
};

constexpr int success = 0;
constexpr int error_not_ready = 600;                   // hipErrorNotReady
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

// Returns true also if HIP reports an error. A default stream is never captured. HIP allows this
// call during a capture.
bool is_captured(const Functions& hip, Stream stream);

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
// the stream's own queue, while events may be elided. EBUSY: it is captured, which the wait for the
// fill would end.
Result<void> touch_stream(const Functions& hip, Stream stream);

// Called when the current device is reset, which frees the word that touch_stream() keeps.
void forget_kept_word(const Functions& hip);

} // namespace xpreempt::hip
