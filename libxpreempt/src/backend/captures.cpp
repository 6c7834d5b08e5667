// SPDX-License-Identifier: MIT
// Questions about a stream, and calls that make it one that is captured, keep out of each other's
// way.
#include "backend/captures.hpp"

#include <chrono>

namespace xpreempt::backend {

namespace {

// A question takes microseconds, or as long as a hold when HIP keeps a lock meanwhile. The begin of
// the capture would want that lock as well.
constexpr auto patience = std::chrono::seconds(1);

} // namespace

void Captures::begin(const void* stream) {
    ++num_;
    change(stream);
}

void Captures::began(const void* stream, bool captured) {
    const std::lock_guard lock(mutex_);
    changing_.extract(stream);
    if (!captured || !captured_.insert(stream).second)
        --num_;
}

void Captures::ended(const void* stream) {
    const std::lock_guard lock(mutex_);
    if (captured_.erase(stream) != 0)
        --num_;
}

std::set<const void*> Captures::captured() {
    const std::lock_guard lock(mutex_);
    return captured_;
}

void Captures::change(const void* stream) {
    std::unique_lock lock(mutex_);
    changing_.insert(stream);
    answered_.wait_for(lock, patience, [&] { return !asked_.contains(stream); });
}

void Captures::changed(const void* stream) {
    const std::lock_guard lock(mutex_);
    changing_.extract(stream);
}

Captures::Question::Question(Captures& captures, const void* stream)
    : captures_(captures), stream_(stream) {
    const std::lock_guard lock(captures_.mutex_);
    allowed_ = !captures_.captured_.contains(stream) && !captures_.changing_.contains(stream);
    if (allowed_)
        captures_.asked_.insert(stream);
}

Captures::Question::~Question() {
    if (!allowed_)
        return;
    const std::lock_guard lock(captures_.mutex_);
    captures_.asked_.erase(captures_.asked_.find(stream_));
    captures_.answered_.notify_all();
}

} // namespace xpreempt::backend
