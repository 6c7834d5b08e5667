// SPDX-License-Identifier: MIT
// Maps a stream at the moment it is stopped, and stops the queue found.
#include "backend/stream_queue.hpp"

#include "kfd/queue_ioctls.hpp"

#include <cerrno>

namespace xpreempt::backend {

namespace {

class EventMarker final : public xqueue::Marker {
public:
    EventMarker(const hip::Functions& hip, hip::Event event) : hip_(hip), event_(event) {}
    ~EventMarker() override { hip_.event_destroy(event_); }
    EventMarker(const EventMarker&) = delete;
    EventMarker& operator=(const EventMarker&) = delete;
    EventMarker(EventMarker&&) = delete;
    EventMarker& operator=(EventMarker&&) = delete;

    // An error is not "passed": wait() then tells it.
    bool passed() override { return hip_.event_query(event_) == hip::success; }
    Result<void> wait() override {
        if (const int error = hip_.event_synchronize(event_); error != hip::success)
            return hip::failed_call(error);
        return {};
    }

private:
    const hip::Functions& hip_;
    hip::Event event_;
};

xqueue::LevelChoice only_block(std::string reason) {
    return {xqueue::Level::block, xqueue::Way::none, std::move(reason)};
}

} // namespace

xqueue::LevelChoice level_of(const Transport& transport, const Probe& probe,
                             const hip::Mapping& mapping, hip::Stream stream, bool allow_shared) {
    if (!mapping.available())
        return only_block("libxpreempt-hook.so is not loaded: preload it, or link it before HIP");
    if (transport.kind() == TransportKind::none)
        return only_block(probe.reason);
    const auto queue = mapping.queue_of(stream);
    if (!queue)
        return only_block("no packet of the stream was seen on any KFD queue");
    if (queue->queue_type != kfd::queue_type_aql)
        return only_block("the stream's KFD queue is not an AQL compute queue");
    if (queue->num_streams > 1 && !allow_shared)
        return only_block(std::to_string(queue->num_streams) + " streams share KFD queue " +
                          std::to_string(queue->kfd_queue_id));
    if (!transport.can(StopType::save) || queue->save_area_bytes == 0)
        return {xqueue::Level::deactivate, xqueue::Way::hardware,
                "the queue's waves cannot be saved (no CWSR)"};
    return {xqueue::Level::interrupt, xqueue::Way::hardware, ""};
}

xqueue::LevelChoice StreamQueue::best_level() {
    return level_of(environment_.transport, environment_.probe, environment_.mapping, stream_,
                    allow_shared_);
}

Result<void> StreamQueue::launch(const xqueue::Launch& launch) {
    const int answer = launch.command.launch(stream_, launch.command.argument);
    if (answer == 0)
        return {};
    // A positive answer is a HIP error that the callback passed on.
    return answer < 0 ? fail(-answer, Op::launch) : hip::failed_call(answer);
}

Result<std::shared_ptr<xqueue::Marker>> StreamQueue::mark() {
    const hip::Functions& hip = environment_.hip;
    hip::Event event = nullptr;
    if (const int error =
            hip.event_create(&event, hip::event_disable_timing | hip::event_blocking_sync);
        error != hip::success)
        return hip::failed_call(error);
    auto marker = std::make_shared<EventMarker>(hip, event);
    if (const int error = hip.event_record(event, stream_); error != hip::success)
        return hip::failed_call(error);
    return marker;
}

Result<xqueue::Deactivated> StreamQueue::deactivate() {
    const bool can_drain = environment_.transport.can(StopType::drain);
    if (const auto stopped = stop(can_drain ? StopType::drain : StopType::save); !stopped)
        return tl::make_unexpected(stopped.error());
    return xqueue::Deactivated{std::nullopt, xqueue::Way::hardware};
}

Result<void> StreamQueue::stop(StopType type) {
    const auto queue = environment_.mapping.queue_of(stream_);
    if (!queue)
        return tl::make_unexpected(queue.error());
    if (queue->num_streams > 1 && !allow_shared_)
        return fail(EBUSY, Op::share_queue, queue->kfd_queue_id);
    if (const auto held = environment_.holds.hold(*queue, type); !held)
        return held;
    stopped_ = *queue;
    return {};
}

Result<void> StreamQueue::start() {
    if (!stopped_)
        return fail(EALREADY, Op::resume_queue);
    if (const auto released = environment_.holds.release(*stopped_); !released)
        return released;
    stopped_.reset();
    return {};
}

} // namespace xpreempt::backend
