// SPDX-License-Identifier: MIT
// Chooses the level of a hold, and makes and ends it.
#include "backend/hooked_stream.hpp"

#include "backend/stream_queue.hpp"
#include "backend/together.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace xpreempt::backend {

using xqueue::HoldMode;
using xqueue::Level;

HookedStream::~HookedStream() {
    if (holds_ > 0)
        end();
}

xqueue::LevelChoice HookedStream::level(bool allow_shared) const {
    auto choice = level_of(transport_, probe_, mapping_, key_, allow_shared);
    if (choice.level > highest_.load(std::memory_order_relaxed))
        return {highest_.load(std::memory_order_relaxed), choice.method, "limited by its owner"};
    return choice;
}

// The first hold.
Result<Level> HookedStream::begin(const HoldMode& mode) {
    const Level best = level(mode.allow_shared).level;
    if ((mode.exact && best < highest_.load(std::memory_order_relaxed)) || best < mode.least)
        return fail(EOPNOTSUPP, Op::choose_level);
    if (best > Level::block) {
        const bool drains = best == Level::deactivate && transport_.can(StopType::drain);
        const auto stopped =
            hold_.stop(drains ? StopType::drain : StopType::save, mode.allow_shared);
        if (stopped)
            return best;
        if (mode.exact || mode.least > Level::block)
            return tl::make_unexpected(stopped.error());
    }
    calls_->withhold();
    return Level::block;
}

// The last hold.
void HookedStream::end() {
    if (hold_.any())
        hold_.start();
    else if (held_level_ == Level::block)
        calls_->admit();
}

// Returns the xqueue that has its place, and then without the lock.
std::shared_ptr<xqueue::Holdable> HookedStream::replacement(Lock& lock) const {
    auto xqueue = xqueue_.ends ? nullptr : xqueue_.stream;
    if (xqueue != nullptr)
        lock.unlock();
    return xqueue;
}

Result<Level> HookedStream::hold(const HoldMode& mode) {
    Lock lock(mutex_);
    if (const auto xqueue = replacement(lock))
        return xqueue->hold(mode);
    // Without the hook we see neither the stream's calls nor its queue.
    if (!mapping_.available())
        return fail(ENOSYS, Op::choose_level);
    if (holds_ == 0) {
        held_level_ = TRY(begin(mode));
    } else if (held_level_ < mode.least) {
        return fail(EOPNOTSUPP, Op::choose_level); // the first hold decides the level
    }
    ++holds_;
    if (observer_)
        observer_->note_hold();
    return held_level_;
}

Result<void> HookedStream::release() {
    Lock lock(mutex_);
    if (const auto xqueue = replacement(lock))
        return xqueue->release();
    if (holds_ == 0)
        return fail(ENOENT, Op::nothing_held);
    if (holds_ == 1)
        end();
    --holds_;
    if (observer_)
        observer_->note_hold();
    return {};
}

// The queue has both holds for a moment, so that it doesn't run between.
Result<void> HookedStream::pass_to(Xqueue xqueue, Level least) {
    const Lock lock(mutex_);
    if (xqueue.stream != nullptr && !xqueue.ends) {
        for (std::uint32_t holds = holds_; holds > 0; --holds) {
            const auto held = xqueue.stream->hold({.least = std::min(least, held_level_)});
            const int problem = held ? 0 : held.error().errno_value;
            if (problem == ENOMEM || problem == EOPNOTSUPP)
                return tl::make_unexpected(held.error());
            if (problem != 0) // the driver refuses it now: at any level
                (void)xqueue.stream->hold({.least = least = Level::block});
        }
        if (std::exchange(holds_, 0) > 0)
            end();
    }
    xqueue_ = std::move(xqueue);
    return {};
}

HookedStream::Xqueue HookedStream::xqueue() const {
    const Lock lock(mutex_);
    return xqueue_;
}

std::uint32_t HookedStream::holds() const {
    const Lock lock(mutex_);
    return holds_;
}

std::vector<xqueue::QueueName> HookedStream::queues() const {
    if (level(false).level != Level::interrupt)
        return {};
    return names_of(mapping_.busy_queues(key_));
}

void HookedStream::observe(std::shared_ptr<xqueue::Observer> observer) {
    const Lock lock(mutex_);
    if (xqueue_.stream == nullptr || xqueue_.ends) // else its calls are the xqueue's
        calls_->observe(observer);
    observer_.swap(observer);
}

} // namespace xpreempt::backend
