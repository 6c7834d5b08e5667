// SPDX-License-Identifier: MIT
// Keeps captures of streams and questions to HIP about streams apart: a question about a stream
// that is captured ends the capture.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace xpreempt::backend {

// Streams are named by their keys. Thread-safe.
class Captures {
public:
    // From before a capture begins until after it ended.
    [[nodiscard]] bool any() const { return num_.load() != 0; }

    // Around a call that begins a capture. Waits for the questions about that stream; but no longer
    // than they can take where no lock of HIP's is in the way.
    void begin(const void* stream);
    void began(const void* stream, bool captured);
    void ended(const void* stream);
    [[nodiscard]] std::set<const void*> captured();

    // Around a call that destroys a stream, or adds it to a capture by an event of one.
    void change(const void* stream, bool destroys = false);
    void changed(const void* stream);

    // Permission to query or touch a stream. False if it is captured, or if begin() or change() of
    // it is in progress. If true, the caller still has to ask HIP whether the stream is captured, a
    // query that HIP allows during a capture; the answer stays valid while this object lives.
    // harmless: HIP allows it during a capture. False then only while the stream is destroyed.
    class Question {
    public:
        Question(Captures& captures, const void* stream, bool harmless = false);
        ~Question();
        Question(const Question&) = delete;
        Question& operator=(const Question&) = delete;
        explicit operator bool() const { return allowed_; }

    private:
        Captures& captures_;
        const void* stream_;
        bool allowed_;
    };

private:
    std::atomic<std::uint32_t> num_{0};
    std::mutex mutex_; // all below
    std::condition_variable answered_;
    std::set<const void*> captured_;
    std::multimap<const void*, bool> changing_; // by a call in progress; true: it destroys it
    std::multiset<const void*> asked_;
};

} // namespace xpreempt::backend
