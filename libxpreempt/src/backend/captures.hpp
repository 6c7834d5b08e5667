// SPDX-License-Identifier: MIT
// Keeps captures of streams and our calls into HIP about streams apart: HIP ends a capture when it
// is asked about the stream, or about an event that was recorded on it, even before the capture.
#pragma once

#include "hip/runtime.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace xpreempt::backend {

// Streams are named by their keys. Thread-safe.
class Captures {
public:
    // From before a capture begins until after it ended, and while some may be unknown, at first.
    [[nodiscard]] bool any() const { return num_.load() != 0; }
    [[nodiscard]] const std::atomic<std::size_t>& num() const { return num_; } // not 0: any()
    void know_all(bool all);
    [[nodiscard]] bool knows_all() const { return knows_all_; }

    // Streams of which the destruction has begun.
    [[nodiscard]] std::uint64_t num_destroyed() const { return num_destroyed_.load(); }
    // Captures that have begun.
    [[nodiscard]] std::uint64_t num_begun() const { return num_begun_.load(); }

    // Around a call that begins a capture of the stream, that adds it to one by an event, or that
    // destroys it. Waits for the questions about that stream; but no longer than they can take
    // where no lock of HIP's is in the way.
    void change(const void* stream, bool destroys = false);
    // Until no thread waits for an event of the stream, or of any for null: HIP looks at it there.
    // Between change() and the destruction, where HIP waits for the work of the stream as well.
    void end_waits(const void* stream, std::chrono::steady_clock::time_point deadline =
                                           std::chrono::steady_clock::time_point::max());
    void changed(const void* stream);
    void began(const void* stream, bool captured); // in place of changed()
    void ended(const void* stream);
    [[nodiscard]] std::set<const void*> captured();

    // The stream is captured or about to be, as far as its calls tell. A stream can join a capture
    // by an event of it, so is_captured() asks HIP; not about default streams.
    [[nodiscard]] bool has(const void* stream);
    [[nodiscard]] bool is_captured(const hip::Functions* hip, const void* key, const void* handle) {
        return any() && (hip == nullptr || !hip::is_handle(handle)
                             ? has(key)
                             : hip::is_captured(*hip, const_cast<void*>(handle)));
    }
    // Until no stream is captured, or for ten seconds: the capture may wait for the caller. Not in
    // a thread that captures.
    void wait_for_none();

    enum class Kind : std::uint8_t {
        harmless, // HIP allows it during a capture
        brief,
        wait, // HIP looks for a capture when it begins. Comes after others, see wait_for_none()
        wait_unless_captured,
    };
    // Permission to call HIP about a stream: the answer stays true while this object lives. False
    // if another thread destroys the stream, and if it is captured, unless that is harmless.
    class Question {
    public:
        Question(Captures& captures, const hip::Functions* hip, const void* key, hip::Stream handle,
                 Kind kind = Kind::brief)
            : captures_(captures), asked_(captures.asked(key)), key_(key),
              waits_(kind >= Kind::wait) {
            ++asked_; // before the look: change() does the reverse
            if (captures_.any() || waits_) [[unlikely]]
                allowed_ = captures_.permit(*this, hip, key, handle, kind);
        }
        ~Question() {
            if (!allowed_)
                return;
            if (waits_)
                captures_.end_wait(*this);
            else if (--asked_ == 0 && captures_.any()) [[unlikely]]
                captures_.notify();
        }
        Question(const Question&) = delete;
        Question& operator=(const Question&) = delete;
        explicit operator bool() const { return allowed_; }

    private:
        friend Captures;
        Captures& captures_;
        std::atomic<std::uint32_t>& asked_;
        const void* const key_;
        const bool waits_;
        Question* next_ = nullptr;
        bool allowed_ = true;
    };

private:
    // Brief questions about streams, by a hash of the key, so that most need no lock.
    struct alignas(64) Asked {
        std::atomic<std::uint32_t> questions{0};
    };
    std::atomic<std::uint32_t>& asked(const void* stream) {
        return asked_[hip::bucket_of(stream)].questions;
    }

    enum class Answer : std::uint8_t { yes, later, no };
    using Lock = std::unique_lock<std::mutex>;
    Answer answer(Lock& lock, const hip::Functions* hip, const void* key, hip::Stream handle,
                  Kind kind);
    bool permit(Question& question, const hip::Functions* hip, const void* key, hip::Stream handle,
                Kind kind);
    void notify();
    void end_wait(const Question& wait);
    [[nodiscard]] bool is_waited_for(const void* stream) const; // with the lock, as the next one
    [[nodiscard]] bool captures_here() const;
    void count();

    std::array<Asked, hip::num_buckets> asked_;
    std::atomic<std::size_t> num_{
        1}; // captured_ and changing_ together; one more unless knows_all_
    std::atomic<bool> knows_all_{false};
    std::atomic<std::uint64_t> num_begun_{0}, num_destroyed_{0};
    std::mutex mutex_; // all below
    std::condition_variable changed_;
    std::map<const void*, std::uint64_t> captured_; // by which thread
    Question* waits_ = nullptr;                     // a list: a wait must not need memory
    std::multimap<const void*, bool> changing_;     // by a call in progress; true: it destroys it
};

} // namespace xpreempt::backend
