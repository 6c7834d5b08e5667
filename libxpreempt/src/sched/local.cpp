// SPDX-License-Identifier: MIT
// Starts and stops the process' scheduler, and connects the sources with it.
#include "sched/local.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>

namespace xpreempt::sched {

Result<void> LocalScheduling::start(Decide decide, std::uint32_t kind) {
    const std::lock_guard lifecycle(lifecycle_mutex_);
    std::unique_lock lock(mutex_);
    if (scheduler_)
        return fail(EALREADY, Op::configure);
    scheduler_ = Scheduler::make(std::move(decide), &together_);
    kind_ = kind;
    const auto scheduler = scheduler_;
    try {
        for (const Known& known : known_)
            if (const auto source = known.source.lock())
                scheduler->add(source, known.name);
    } catch (const std::bad_alloc&) {
        lock.unlock(); // as in stop()
        scheduler->stop();
        lock.lock();
        scheduler_.reset();
        throw;
    }
    lock.unlock();
    scheduler->changed();
    return {};
}

Result<void> LocalScheduling::stop() {
    const std::lock_guard lifecycle(lifecycle_mutex_);
    const auto scheduler = running();
    if (!scheduler)
        return fail(ENOENT, Op::no_scheduler);
    // Without mutex_: its thread may wait for a launch callback that destroys another xqueue.
    scheduler->stop();
    const std::lock_guard lock(mutex_);
    scheduler_.reset();
    return {};
}

void LocalScheduling::created(const std::shared_ptr<Source>& source, const SourceName& name) {
    const std::lock_guard lock(mutex_);
    known_.push_back({source, source.get(), name});
    if (scheduler_)
        scheduler_->add(source, name);
}

void LocalScheduling::destroyed(const Source& source) {
    std::unique_lock lock(mutex_);
    std::erase_if(known_, [&](const Known& known) { return known.address == &source; });
    const auto scheduler = scheduler_;
    lock.unlock();
    if (scheduler)
        scheduler->remove(source);
}

std::optional<std::int32_t> LocalScheduling::highest_priority() const {
    const std::lock_guard lock(mutex_);
    std::optional<std::int32_t> highest;
    for (const Known& known : known_)
        if (const auto source = known.source.lock())
            highest = std::max(highest, std::optional(source->priority()));
    return highest;
}

namespace {

using xqueue::Attributes;

void strengthen(std::chrono::nanoseconds& strongest, std::chrono::nanoseconds time,
                std::chrono::nanoseconds /*initial*/) {
    strongest = std::min(strongest, time);
}

// The initial value is that of a source that has set none.
void strengthen(std::uint32_t& strongest, std::uint32_t number, std::uint32_t initial) {
    if (strongest == initial || (number != initial && number > strongest))
        strongest = number;
}

} // namespace

Attributes LocalScheduling::strongest_attributes() const {
    const Attributes initials;
    Attributes strongest;
    const std::lock_guard lock(mutex_);
    for (const Known& known : known_)
        if (const auto source = known.source.lock()) {
            const Attributes attributes = source->attributes();
#define ATTRIBUTE(kind, name, least, most, initial, view, ...)                                     \
    strengthen(strongest.view, attributes.view, initials.view);
#include "base/attributes.def"
        }
    return strongest;
}

std::shared_ptr<Scheduler> LocalScheduling::running() const {
    const std::lock_guard lock(mutex_);
    return scheduler_;
}

std::uint32_t LocalScheduling::kind() const {
    const std::lock_guard lock(mutex_);
    return kind_;
}

} // namespace xpreempt::sched
