// SPDX-License-Identifier: MIT
// When to ask about a process that keeps itself locked in the driver, so that calls about it wait.
#pragma once

#include "driver/provider.hpp"

#include <algorithm>
#include <chrono>

namespace xpreemptd {

// A process locks itself as long as it pins memory, or as it likes. A call that has waited for it
// fails with EBUSY, and its queues are taken to be as before. From then on calls about it follow a
// short question only, and one such process takes a hundredth of our time at most.
class ProcessLock {
public:
    // The last answer: make no calls about the process.
    [[nodiscard]] bool is_locked() const { return locked_; }
    // A call about it has waited.
    void note_wait(Time began, Time ended) {
        // The first one may be of a process that is locked for a moment.
        ask_after_ = suspect_ ? ended + rest_for(ended - began) : ended;
        locked_ = suspect_ = true;
    }
    [[nodiscard]] bool is_suspect() const { return suspect_; }
    [[nodiscard]] bool is_to_be_asked(Time now) const { return suspect_ && now >= ask_after_; }
    void note_answer(bool is_locked, Time began, Time ended) {
        locked_ = is_locked;
        if (is_locked)
            ask_after_ = ended + rest_for(ended - began);
    }

private:
    // The driver waits no longer. The rest of a longer call is time in which we did not run.
    static constexpr std::chrono::milliseconds longest_wait{100};

    static Time::duration rest_for(Time::duration wait) {
        constexpr int rest = 99;
        return rest * std::min<Time::duration>(wait, longest_wait);
    }

    bool locked_ = false;
    bool suspect_ = false; // it was locked once
    Time ask_after_{};
};

} // namespace xpreemptd
