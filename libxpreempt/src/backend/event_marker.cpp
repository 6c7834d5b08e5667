// SPDX-License-Identifier: MIT
// Records the event, asks about it and waits for it, past the gates.
#include "backend/event_marker.hpp"

#include "backend/ungated.hpp"

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

    // Returns false on error; wait() reports it.
    bool passed() override {
        const Ungated ungated;
        const hip::AsideOfCaptures aside(hip_);
        return is_complete();
    }
    Result<void> wait() override {
        const Ungated ungated;
        const hip::AsideOfCaptures aside(hip_);
        if (const int error = hip_.event_synchronize(event_); error != hip::success)
            return hip::failed_call(error);
        return {};
    }

    // Asks HIP and nothing else in each turn.
    Result<void> wait_promptly(const xqueue::Expected& expected) override {
        {
            const Ungated ungated;
            const hip::AsideOfCaptures aside(hip_);
            if (xqueue::poll(expected, [this] { return is_complete(); }))
                return {};
        }
        return wait();
    }

    bool passes_within(std::uint64_t ns, const std::atomic<std::uint32_t>& stop) override {
        const Ungated ungated;
        const hip::AsideOfCaptures aside(hip_);
        return xqueue::poll_for(ns, stop, [this] { return is_complete(); });
    }

private:
    bool is_complete() const { return hip_.event_query(event_) == hip::success; }

    const hip::Functions& hip_;
    hip::Event event_;
};

} // namespace

Result<std::shared_ptr<xqueue::Marker>> place_marker(const hip::Functions& hip, hip::Stream stream,
                                                     int device) {
    const Ungated ungated;
    const hip::OnDevice scope(hip, device);
    if (!scope.result())
        return tl::make_unexpected(scope.result().error());
    hip::Event event = nullptr;
    if (const int error =
            hip.event_create(&event, hip::event_disable_timing | hip::event_blocking_sync);
        error != hip::success)
        return hip::failed_call(error);
    auto marker = std::make_shared<EventMarker>(hip, event);
    if (const int error = hip.event_record(event, stream); error != hip::success)
        return hip::failed_call(error);
    return marker;
}

} // namespace xpreempt::backend
