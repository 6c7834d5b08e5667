// SPDX-License-Identifier: MIT
// Keeps questions about a stream and calls that capture or destroy it apart.
#include "backend/captures.hpp"

#include <algorithm>
#include <utility>

namespace xpreempt::backend {

namespace {

// A question takes microseconds, or as long as a hold when HIP keeps a lock meanwhile. The begin of
// the capture would want that lock as well.
constexpr std::chrono::seconds patience{1};

// A capture that lasts longer may wait for who waits for its end.
constexpr auto longest_capture = 10 * patience;

// HIP looks for a capture within microseconds after a wait has begun, and then it only waits.
constexpr std::chrono::milliseconds until_it_waits{2};

// A capture that others joined, or whose begin wasn't seen, ends without a notice: HIP is asked.
constexpr std::chrono::milliseconds between_questions{20};

// Other than its id, no later thread has it.
std::uint64_t number_of_thread() {
    static std::atomic<std::uint64_t> last{0};
    thread_local const std::uint64_t number = ++last;
    return number;
}

} // namespace

// Called with the lock, after each change.
void Captures::count() {
    num_ = captured_.size() + changing_.size() + (knows_all_ ? 0 : 1);
    changed_.notify_all();
}

void Captures::know_all(bool all) {
    const std::lock_guard lock(mutex_);
    knows_all_ = all;
    count();
}

void Captures::change(const void* stream, bool destroys) {
    const auto& questions = asked(stream);
    Lock lock(mutex_);
    changing_.emplace(stream, destroys);
    num_destroyed_ += destroys ? 1 : 0;
    count();
    changed_.wait_for(lock, patience, [&] { return questions == 0; });
    if (!destroys)
        changed_.wait_for(lock, until_it_waits, [&] { return !is_waited_for(stream); });
}

void Captures::end_waits(const void* stream, std::chrono::steady_clock::time_point deadline) {
    Lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return !is_waited_for(stream); });
}

void Captures::changed(const void* stream) {
    const std::lock_guard lock(mutex_);
    changing_.extract(stream);
    count();
}

void Captures::began(const void* stream, bool captured) {
    const std::lock_guard lock(mutex_);
    changing_.extract(stream);
    if (captured) {
        captured_[stream] = number_of_thread();
        ++num_begun_;
    }
    count();
}

void Captures::ended(const void* stream) {
    const std::lock_guard lock(mutex_);
    captured_.erase(stream);
    count();
}

std::set<const void*> Captures::captured() {
    const std::lock_guard lock(mutex_);
    std::set<const void*> streams;
    for (const auto& [stream, thread] : captured_)
        streams.insert(stream);
    return streams;
}

bool Captures::has(const void* stream) {
    const std::lock_guard lock(mutex_);
    return captured_.contains(stream) || changing_.contains(stream);
}

// The calling thread has begun one.
bool Captures::captures_here() const {
    return std::ranges::any_of(
        captured_, [](const auto& captured) { return captured.second == number_of_thread(); });
}

void Captures::wait_for_none() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, longest_capture,
                      [this] { return captured_.empty() || captures_here(); });
}

// Comes and returns with the lock.
Captures::Answer Captures::answer(Lock& lock, const hip::Functions* hip, const void* key,
                                  hip::Stream handle, Kind kind) {
    const auto [first, last] = changing_.equal_range(key);
    if (std::any_of(first, last, [](const auto& call) { return call.second; }))
        return Answer::no;
    if (kind == Kind::harmless)
        return Answer::yes;
    const Answer if_captured = kind == Kind::wait && !captures_here() ? Answer::later : Answer::no;
    if (first != last || captured_.contains(key))
        return if_captured;
    // It may have joined a capture. HIP allows this question during one.
    lock.unlock();
    const bool is_captured = hip != nullptr && hip::is_captured(*hip, handle);
    lock.lock();
    return is_captured ? if_captured : Answer::yes;
}

// Comes with the question counted, and returns so if it is allowed. A wait is counted by its
// stream.
bool Captures::permit(Question& question, const hip::Functions* hip, const void* key,
                      hip::Stream handle, Kind kind) {
    Lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + longest_capture;
    Answer found = answer(lock, hip, key, handle, kind);
    while (found == Answer::later && std::chrono::steady_clock::now() < deadline) {
        --question.asked_;
        changed_.notify_all();
        changed_.wait_for(lock, between_questions);
        ++question.asked_;
        found = answer(lock, hip, key, handle, kind);
    }
    const bool allowed = found == Answer::yes;
    if (allowed && question.waits_)
        question.next_ = std::exchange(waits_, &question);
    if (!allowed || question.waits_) {
        --question.asked_;
        changed_.notify_all();
    }
    return allowed;
}

bool Captures::is_waited_for(const void* stream) const {
    const Question* wait = waits_;
    while (stream != nullptr && wait != nullptr && wait->key_ != stream)
        wait = wait->next_;
    return wait != nullptr;
}

void Captures::notify() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

void Captures::end_wait(const Question& wait) {
    const std::lock_guard lock(mutex_);
    Question** place = &waits_;
    while (*place != &wait)
        place = &(*place)->next_;
    *place = wait.next_;
    changed_.notify_all();
}

} // namespace xpreempt::backend
