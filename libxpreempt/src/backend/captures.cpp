// SPDX-License-Identifier: MIT
// Keeps questions about a stream and calls that capture or destroy it apart.
#include "backend/captures.hpp"

#include <algorithm>
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

void Captures::change(const void* stream, bool destroys) {
    std::unique_lock lock(mutex_);
    changing_.emplace(stream, destroys);
    answered_.wait_for(lock, patience, [&] { return !asked_.contains(stream); });
}

void Captures::changed(const void* stream) {
    const std::lock_guard lock(mutex_);
    changing_.extract(stream);
}

Captures::Question::Question(Captures& captures, const void* stream, bool harmless)
    : captures_(captures), stream_(stream) {
    const std::lock_guard lock(captures_.mutex_);
    const auto [first, last] = captures_.changing_.equal_range(stream);
    allowed_ = harmless ? std::none_of(first, last, [](const auto& call) { return call.second; })
                        : first == last && !captures_.captured_.contains(stream);
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
