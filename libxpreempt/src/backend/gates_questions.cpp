// SPDX-License-Identifier: MIT
// Asks HIP about a stream, for callers of the library.
#include "backend/event_marker.hpp"
#include "backend/gates.hpp"

#include <cerrno>
#include <new>

namespace xpreempt::backend {

using hip::is_handle;

Result<std::shared_ptr<xqueue::Marker>> Gates::mark(hip::Stream key, hip::Stream handle,
                                                    int device) try {
    const auto hip = TRY(find_hip_());
    const Captures::Question question(captures_, key);
    if (!question || is_captured(key, handle))
        return fail(EAGAIN, Op::call_hip);
    const hip::AsideOfCaptures aside(*hip);
    return place_marker(*std::make_shared<EventPool>(*hip, device), handle);
} catch (const std::bad_alloc&) {
    return fail(ENOMEM, Op::allocate);
}

Result<void> Gates::touch(hip::Stream handle) {
    const Captures::Question question(captures_, mapping_.key_of(handle));
    if (!question)
        return fail(EBUSY, Op::call_hip);
    const auto hip = TRY(find_hip_());
    TRY(hip::touch_stream(*hip, handle));
    // HIP may have given it the queue of a held stream, where the packet stays.
    if (const auto queue = mapping_.queue_of(handle); queue && order_.stood(hip::ref_of(*queue)))
        return {};
    const hip::AsideOfCaptures aside(*hip);
    return hip::check(hip->stream_synchronize(handle));
}

Result<bool> Gates::is_idle(hip::Stream handle) {
    const auto hip = TRY(find_hip_());
    const hip::Stream key = mapping_.key_of(handle);
    const Captures::Question question(captures_, key);
    if (!question || hip::is_captured(*hip, handle))
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

Result<void> Gates::wait_for(hip::Stream handle) {
    if (TRY(is_idle(handle)))
        return {};
    const auto hip = find_hip_();
    const hip::AsideOfCaptures aside(**hip);
    return hip::check((*hip)->stream_synchronize(handle));
}

Result<int> Gates::device_of(hip::Stream handle) {
    const auto hip = TRY(find_hip_());
    const Captures::Question question(captures_, mapping_.key_of(handle), true);
    return question ? hip::device_of(*hip, handle) : fail(EBUSY, Op::call_hip);
}

Result<std::pair<hook::StreamRecord, int>> Gates::identify(hip::Stream handle) {
    const hip::Stream key = mapping_.key_of(handle);
    const Captures::Question question(captures_, key, true); // so that no other one gets it
    if (!question)
        return fail(EBUSY, Op::call_hip);
    const int device = TRY(device_of(handle));
    if (mapping_.available() && !mapping_.queue_of(key))
        TRY(touch(handle));
    return std::pair(hook::StreamRecord{key, handle, mapping_.birth_of(key)}, device);
}

bool Gates::is_blocking(hip::Stream handle) {
    const auto hip = find_hip_();
    const Captures::Question question(captures_, handle, true);
    unsigned flags = 0;
    return !is_handle(handle) || !hip || !question ||
           (*hip)->stream_get_flags(handle, &flags) != hip::success ||
           (flags & hip::stream_non_blocking) == 0;
}

} // namespace xpreempt::backend
