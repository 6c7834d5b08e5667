// SPDX-License-Identifier: MIT
// Records the event, asks about it and waits for it, past the gates.
#include "backend/event_marker.hpp"

#include "backend/ungated.hpp"

#include <cerrno>
#include <new>

namespace xpreempt::backend {

namespace {

class EventMarker final : public xqueue::Marker {
public:
    EventMarker(std::shared_ptr<EventPool> events, hip::Stream stream, Captures::Kind wait)
        : events_(std::move(events)), hip_(events_->hip()), stream_(stream), wait_(wait),
          destroyed_(events_->captures().num_destroyed()) {}
    ~EventMarker() override {
        if (event_ != nullptr)
            events_->give_back(event_);
    }
    EventMarker(const EventMarker&) = delete;
    EventMarker& operator=(const EventMarker&) = delete;

    void own(hip::Event event) { event_ = event; }

    // Returns false on error; wait() reports it.
    bool passed() override {
        const Ungated ungated;
        const hip::AsideOfCaptures aside(hip_);
        return is_complete();
    }
    Result<void> wait() override {
        const Ungated ungated;
        const hip::AsideOfCaptures aside(hip_);
        const auto question = ask(wait_);
        if (is_gone())
            return {};
        return question ? hip::check(hip_.event_synchronize(event_)) : fail(EBUSY, Op::wait);
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
    [[nodiscard]] Captures::Question ask(Captures::Kind kind = Captures::Kind::brief) const {
        return {events_->captures(), &hip_, events_->key(), stream_, kind};
    }
    [[nodiscard]] bool is_complete() const {
        const auto question = ask();
        return is_gone() || (question && hip_.event_query(event_) == hip::success);
    }
    // Its stream, which HIP looks at for the event. Asked in a question, it doesn't end meanwhile.
    [[nodiscard]] bool is_gone() const {
        return events_->captures().num_destroyed() != destroyed_ && !events_->lives();
    }

    const std::shared_ptr<EventPool> events_;
    const hip::Functions& hip_;
    const hip::Stream stream_; // a question about an event is one about this
    const Captures::Kind wait_;
    const std::uint64_t destroyed_; // streams, when it was placed
    hip::Event event_ = nullptr;
};

} // namespace

EventPool::~EventPool() {
    const Ungated ungated;
    const hip::AsideOfCaptures aside(hip_);
    for (const hip::Event event : free_)
        hip_.event_destroy(event);
}

Result<hip::Event> EventPool::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            const hip::Event event = free_.back();
            free_.pop_back();
            return event;
        }
        free_.reserve(++created_); // give_back() must not allocate
    }
    hip::Event event = nullptr;
    TRY(hip::check(
        hip_.event_create(&event, hip::event_disable_timing | hip::event_blocking_sync)));
    return event;
}

// A marker that hasn't passed is void or its queue is broken; the next record is another point.
// Without a call of HIP: the caller may have a lock.
void EventPool::give_back(hip::Event event) {
    const std::lock_guard lock(mutex_);
    free_.push_back(event);
}

Result<std::shared_ptr<xqueue::Marker>> place_marker(const std::shared_ptr<EventPool>& events,
                                                     hip::Stream stream, Captures::Kind wait) try {
    const Ungated ungated;
    const hip::AsideOfCaptures aside(events->hip());
    const hip::OnDevice scope(events->hip(), events->device());
    TRY(scope.result());
    const Captures::Question question(events->captures(), &events->hip(), events->key(), stream);
    if (!question)
        return fail(EBUSY, Op::call_hip);
    auto marker = std::make_shared<EventMarker>(events, stream, wait);
    const auto event = TRY(events->take());
    marker->own(event);
    TRY(hip::check(events->hip().event_record(event, stream)));
    return marker;
} catch (const std::bad_alloc&) {
    return fail(ENOMEM, Op::allocate);
}

} // namespace xpreempt::backend
