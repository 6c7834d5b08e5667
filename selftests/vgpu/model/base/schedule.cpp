// SPDX-License-Identifier: MIT
// When asynchronous things happen: draws from the seed.
#include "model/base/schedule.hpp"

#include <string_view>

namespace vgpu {
namespace {

struct KindEntry {
    std::string_view counter;
    Schedule::Step longest; // delay, in steps; 0 where the choice is no delay
};
// A step of waves takes 0.1 to 0.3 ms. The driver waits 100 ms for a fence of the KIQ, 4 s for a
// dequeue, 9 s for an unmap: what adds up in each of them stays far below that.
constexpr std::array<KindEntry, Schedule::kinds> entries = {{
    {"choices/doorbell", 8},
    {"choices/map", 16},
    {"choices/stop", 16},
    {"choices/ask", 8},
    {"choices/leave", 16},
    {"choices/fence", 8},
    {"choices/completion", 16},
    {"choices/read_pointer", 16},
    {"choices/interrupt", 16},
    {"choices/msi", 8},
    {"choices/relaunch", 8},
    {"choices/pushed", 0},
    {"choices/unit", 0},
    {"choices/turn", 0},
    {"choices/turn_length", 0},
    {"choices/xcc_speed", 0},
    {"choices/xcc_order", 0},
    {"choices/time_slice", 0},
}};

// The finalizer of SplitMix64.
constexpr std::uint64_t mix(std::uint64_t value) {
    value += 0x9e37'79b9'7f4a'7c15;
    value = (value ^ value >> 30) * 0xbf58'476d'1ce4'e5b9;
    value = (value ^ value >> 27) * 0x94d0'49bb'1331'11eb;
    return value ^ value >> 31;
}

// Delays of one kind share a habit for so many choices: orders that need several late events in a
// row, or one late event among prompt ones, are rare otherwise.
constexpr std::uint64_t choices_of_a_habit = 32;
constexpr std::uint64_t habit_stream = 0x8000'0000'0000'0000;

} // namespace

void Schedule::follow(std::uint64_t seed) {
    on_ = true;
    seed_ = seed;
    observer_.count("schedule_seed", seed);
}

std::uint64_t Schedule::draw(Kind kind) {
    const auto index = static_cast<std::size_t>(kind);
    return mix(mix(seed_ ^ mix(index)) ^ drawn_[index]++);
}

Schedule::Step Schedule::draw_step(Kind kind) {
    const auto index = static_cast<std::size_t>(kind);
    const std::uint64_t habit =
        mix(mix(seed_ ^ mix(index)) ^ habit_stream ^ drawn_[index] / choices_of_a_habit);
    const Step longest = entries[index].longest;
    const std::uint64_t number = draw(kind);
    Step delay = 0;
    switch (habit % 4) {
    case 0: break;                                                      // prompt
    case 1: delay = number % (longest + 1); break;                      // any
    case 2: delay = number % 8 == 0 ? longest : 0; break;               // some very late
    default: delay = number % 8 == 0 ? 0 : longest - number % 3; break; // most of them late
    }
    if (delay != 0)
        ahead_.insert(now_ + delay);
    return now_ + delay;
}

void Schedule::step() {
    if (!on_)
        return;
    ++now_;
    ahead_.erase(ahead_.begin(), ahead_.upper_bound(now_));
    for (std::size_t i = 0; i < kinds; ++i)
        if (counted_[i] != drawn_[i]) {
            observer_.count(entries[i].counter, drawn_[i] - counted_[i]);
            counted_[i] = drawn_[i];
        }
}

bool Schedule::skip() {
    if (ahead_.empty())
        return false;
    now_ = *ahead_.begin();
    ahead_.erase(ahead_.begin());
    return true;
}

} // namespace vgpu
