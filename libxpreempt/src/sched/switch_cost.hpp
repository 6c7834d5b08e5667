// SPDX-License-Identifier: MIT
// Measures what a stop and a resume cost here, by the calls of the driver that did them.
#pragma once

#include "sched/snapshot.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

namespace xpreempt::sched {

// The cheapest of the last calls that stopped something, and of those that only resumed: a call is
// also long because the host was busy, or because there were many waves to save, and no policy may
// become slow for that. A call that does both, as in each turn of RR, counts as the whole.
class SwitchCost {
public:
    // A machine with more than this has other troubles than the length of turns.
    static constexpr Duration most = std::chrono::milliseconds{50};
    // A policy that waits because switches are dear makes none, and so finds no cheaper ones: after
    // this time without calls it has to try. Long beside `most`, so that tries cost little.
    static constexpr Duration counts_for = std::chrono::seconds{5};

    void note(bool stops, Time called, Duration took) {
        Calls& calls = stops ? stops_ : resumes_;
        calls.last[calls.count++ % calls.last.size()] = {called, std::max(took, Duration{0})};
    }
    // For a snapshot; 0: there were no calls of late.
    [[nodiscard]] Duration value(Time now) const { return since(now - counts_for); }
    // However long ago that was.
    [[nodiscard]] Duration last_known() const { return since(Time::min()); }

private:
    struct Call {
        Time when;
        Duration took{0};
    };
    struct Calls {
        std::array<Call, 16> last{};
        std::size_t count = 0;

        [[nodiscard]] Duration cheapest(Time since) const {
            std::optional<Duration> least;
            for (const Call& call : std::span(last).first(std::min(count, last.size())))
                if (call.when >= since)
                    least = std::min(least.value_or(call.took), call.took);
            return least.value_or(Duration{0});
        }
    };
    [[nodiscard]] Duration since(Time when) const {
        return std::min(most, stops_.cheapest(when) + resumes_.cheapest(when));
    }

    Calls stops_, resumes_;
};

} // namespace xpreempt::sched
