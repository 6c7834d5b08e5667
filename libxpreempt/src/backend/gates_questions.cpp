// SPDX-License-Identifier: MIT
// Asks HIP about streams, and ends the holds of a queue that the program destroys.
#include "backend/event_marker.hpp"
#include "backend/gates.hpp"
#include "base/caller_state.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

namespace xpreempt::backend {

using hip::is_handle;

namespace {

// EBUSY: its stream is captured or destroyed from here on.
Result<void> wait_for_marker(const Result<std::shared_ptr<xqueue::Marker>>& marker) {
    const auto waited = marker ? (*marker)->wait() : tl::make_unexpected(marker.error());
    return !waited && waited.error().errno_value == EBUSY ? Result<void>() : waited;
}

} // namespace

// Both are called in a thread of the program, perhaps inside HIP or ROCr. With no queue held, too:
// another thread may be stopping this one.
void Gates::queue_ends(std::uint32_t kfd_queue_id, std::uint32_t generation) {
    const CallerState state;
    if (Gates* gates = the_gates.load(std::memory_order_acquire); gates != nullptr)
        gates->holds_.begin_destroy({kfd_queue_id, generation});
}

void Gates::queue_ended(std::uint32_t kfd_queue_id, std::uint32_t generation,
                        std::uint32_t destroyed) {
    const CallerState state;
    if (Gates* gates = the_gates.load(std::memory_order_acquire); gates != nullptr)
        gates->holds_.end_destroy({kfd_queue_id, generation}, destroyed != 0);
}

Result<std::shared_ptr<xqueue::Marker>> Gates::mark(hip::Stream key, hip::Stream handle,
                                                    int device) try {
    const auto hip = TRY(find_hip_());
    return place_marker(std::make_shared<EventPool>(*hip, mapping_, captures_, key, device), handle,
                        Captures::Kind::wait_unless_captured); // it counts as idle
} catch (const std::bad_alloc&) {
    return fail(ENOMEM, Op::allocate);
}

Result<void> Gates::touch(hip::Stream handle) {
    const hip::Stream key = mapping_.key_of(handle);
    const auto hip = TRY(find_hip_());
    Result<std::shared_ptr<xqueue::Marker>> marker;
    {
        const Captures::Question question(captures_, hip, key, handle);
        if (!question)
            return fail(EBUSY, Op::call_hip);
        TRY(hip::touch_stream(*hip, handle));
        // HIP may have given it the queue of a held stream, where the packet stays.
        if (const auto queue = mapping_.queue_of(handle);
            queue && order_.stood(hip::ref_of(*queue)))
            return {};
        marker = mark(key, handle, TRY(hip::device_of(*hip, handle)));
    }
    return wait_for_marker(marker);
}

Result<bool> Gates::is_idle(hip::Stream handle) {
    const auto hip = TRY(find_hip_());
    const hip::Stream key = mapping_.key_of(handle);
    const Captures::Question question(captures_, hip, key, handle);
    if (!question || !hip::is_usable(*hip, handle)) // without the hook only HIP knows
        return true;
    // A question about a default stream puts a packet into its queue, where it would stay.
    if (!is_handle(handle))
        for (const hip::QueueRecord& record : mapping_.busy_queues(key))
            if (order_.stood(hip::ref_of(record)))
                return outstanding_in(record) == 0;
    const hip::AsideOfCaptures aside(*hip);
    const int answer = hip->stream_query(handle);
    if (answer != hip::success && answer != hip::error_not_ready)
        return hip::failed_call(answer);
    return answer == hip::success;
}

// By a marker: a call that waits for the stream could end a capture that begins meanwhile.
Result<void> Gates::wait_for(hip::Stream handle) {
    const hip::Stream key = mapping_.key_of(handle);
    Result<std::shared_ptr<xqueue::Marker>> marker;
    {
        const Captures::Question question(captures_, nullptr, key, handle,
                                          Captures::Kind::harmless); // so that it doesn't end
        if (!question || TRY(is_idle(handle)))
            return {};
        marker = mark(key, handle, TRY(device_of(handle)));
    }
    return wait_for_marker(marker);
}

Result<int> Gates::device_of(hip::Stream handle) {
    return hip::device_of(*TRY(find_hip_()), handle);
}

Result<std::pair<hook::StreamRecord, int>> Gates::identify(hip::Stream handle) {
    const hip::Stream key = mapping_.key_of(handle);
    const Captures::Question question(captures_, nullptr, key, handle,
                                      Captures::Kind::harmless); // so that no other one gets it
    if (!question)
        return fail(EBUSY, Op::call_hip);
    if (mapping_.available() && !mapping_.queue_of(key))
        TRY(touch(handle));
    return std::pair(hook::StreamRecord{key, handle, mapping_.birth_of(key)},
                     TRY(device_of(handle)));
}

// Not asked about while the stream of its last record is captured or, where that isn't known, any.
bool Gates::is_done(hip::Event event, const std::optional<RecordedEvents::Where>& recorded) {
    const auto hip = find_hip_();
    if (!hip || (!recorded && captures_.any()))
        return false;
    const RecordedEvents::Where where = recorded.value_or(RecordedEvents::Where{});
    const Captures::Question question(captures_, *hip, where.stream,
                                      const_cast<void*>(where.handle));
    const hip::AsideOfCaptures aside(**hip);
    return question && (*hip)->event_query(event) != hip::error_not_ready;
}

bool Gates::is_captured(const void* key, const void* handle) {
    if (!captures_.any())
        return false;
    const CallerState state;
    return captures_.is_captured(find_hip_().value_or(nullptr), key, handle);
}

// Those that began before this. While there is one HIP is asked, until one that ends is the last.
void Gates::look_for_captures() {
    const auto streams = mapping_.streams();
    const auto hip = streams.empty() ? fail(ENOENT, Op::find_hip) : find_hip_();
    captures_.know_all(!hip || std::ranges::none_of(streams, [&](const auto& stream) {
        auto* const handle = const_cast<void*>(stream.handle);
        const Captures::Question question(captures_, *hip, stream.key, handle,
                                          Captures::Kind::harmless);
        return question && !captures_.has(stream.key) && hip::is_captured(**hip, handle);
    }));
}

bool Gates::is_blocking(hip::Stream handle) {
    const auto hip = find_hip_();
    const Captures::Question question(captures_, nullptr, handle, handle, Captures::Kind::harmless);
    unsigned flags = 0;
    return !is_handle(handle) || !hip || !question || mapping_.birth_of(handle) == 0 ||
           (*hip)->stream_get_flags(handle, &flags) != hip::success ||
           (flags & hip::stream_non_blocking) == 0;
}

} // namespace xpreempt::backend
