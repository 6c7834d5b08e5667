// SPDX-License-Identifier: MIT
// Chooses the level of a hold, and makes and ends it.
#include "backend/hooked_stream.hpp"

#include "backend/stream_queue.hpp"
#include "backend/together.hpp"

#include <cerrno>

namespace xpreempt::backend {

using xqueue::HoldMode;
using xqueue::Level;

HookedStream::~HookedStream() {
    while (HookedStream::release()) {
    }
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
    if (best == Level::block) {
        calls_->withhold();
        return best;
    }
    const bool drains = best == Level::deactivate && transport_.can(StopType::drain);
    if (const auto stopped =
            hold_.stop(drains ? StopType::drain : StopType::save, mode.allow_shared);
        !stopped) {
        if (mode.exact || mode.least > Level::block)
            return tl::make_unexpected(stopped.error());
        calls_->withhold();
        return Level::block;
    }
    return best;
}

Result<Level> HookedStream::hold(const HoldMode& mode) {
    // Without the hook we see neither the stream's calls nor its queue.
    if (!mapping_.available())
        return fail(ENOSYS, Op::choose_level);
    const std::lock_guard lock(mutex_);
    if (holds_ == 0) {
        held_level_ = TRY(begin(mode));
    } else if (held_level_ < mode.least) {
        return fail(EOPNOTSUPP, Op::choose_level); // the first hold decides the level
    }
    ++holds_;
    report_holds();
    return held_level_;
}

Result<void> HookedStream::release() {
    const std::lock_guard lock(mutex_);
    if (holds_ == 0)
        return fail(ENOENT, Op::nothing_held);
    if (holds_ == 1) {
        if (hold_.any()) {
            hold_.start();
        } else if (held_level_ == Level::block) {
            calls_->admit();
        }
    }
    --holds_;
    report_holds();
    return {};
}

std::uint32_t HookedStream::holds() const {
    const std::lock_guard lock(mutex_);
    return holds_;
}

Result<bool> HookedStream::stop(xqueue::Patience) {
    TRY(hold({}));
    return true;
}

std::vector<xqueue::QueueName> HookedStream::queues() const {
    if (level(false).level != Level::interrupt)
        return {};
    return names_of(mapping_.busy_queues(key_));
}

void HookedStream::observe(std::shared_ptr<xqueue::Observer> observer) {
    calls_->observe(observer);
    const std::lock_guard lock(mutex_);
    observer_.swap(observer);
}

void HookedStream::report_holds() {
    if (observer_)
        observer_->note_hold();
}

} // namespace xpreempt::backend
