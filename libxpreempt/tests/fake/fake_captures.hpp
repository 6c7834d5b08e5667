// SPDX-License-Identifier: MIT
// Captures of the fake HIP: what a captured stream takes, and which calls end captures.
#pragma once

// Streams, all in the global mode, and the one that each capture began on.
static std::map<const void*, const void*> captured;
static std::atomic<bool> capturing; // there is one
static thread_local int capture_mode = 0;

static bool is_captured(const void* stream) {
    note_use(stream);
    const std::lock_guard lock(hip_mutex);
    return captured.count(stream) != 0;
}

// Returns true, and records that the captures end, if any stream is captured and this thread is not
// in the relaxed mode.
static bool ends_captures() {
    const std::lock_guard lock(hip_mutex);
    if (captured.empty() || capture_mode == 2)
        return false;
    fake_behaviour.captures_ended = true;
    return true;
}

// In a thread of libxpreempt, by its name: each of its calls has to leave captures alone.
static bool ends_captures_if_ours() {
    char name[16] = "";
    return capturing && prctl(PR_GET_NAME, name) == 0 && std::strncmp(name, "xpreempt-", 9) == 0 &&
           ends_captures();
}

// Returns true, and records that they end, if a call may not ask about the stream: it is captured,
// or any is. An event is asked about as the stream of its last record, whenever that was.
static bool ends_captures_of(const void* stream) {
    const bool ends = is_captured(stream);
    if (ends)
        fake_behaviour.captures_ended = true;
    return ends_captures() || ends;
}

// Called with the lock.
static void end_capture(const void* stream) {
    std::erase_if(captured, [stream](const auto& joined) { return joined.second == stream; });
    captured.erase(stream);
    capturing = !captured.empty();
}

EXPORT int hipStreamIsCapturing(void* stream, int* status) {
    if (is_dead(stream))
        return 709; // hipErrorContextIsDestroyed; the other calls don't look
    *status = is_captured(stream) ? 1 : 0;
    return 0;
}
EXPORT int hipStreamBeginCapture(void* stream, int mode) {
    if (mode < 0)
        return 1;
    if (fake_behaviour.in_begin != nullptr)
        fake_behaviour.in_begin();
    {
        const std::lock_guard lock(hip_mutex);
        captured[stream] = stream;
        capturing = true;
    }
    if (fake_behaviour.begin_us != 0) // else it would be a cancellation point
        usleep(fake_behaviour.begin_us);
    return 0;
}
EXPORT int hipStreamEndCapture(void* stream, void**) {
    if (fake_behaviour.fail_end)
        return 908; // hipErrorStreamCaptureWrongThread
    const std::lock_guard lock(hip_mutex);
    end_capture(stream);
    return 0;
}
EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) {
    std::swap(*mode, capture_mode);
    return 0;
}
