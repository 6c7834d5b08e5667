// SPDX-License-Identifier: MIT
// Chooses the level that a suspend needs, and reports why.
#include "xqueue/xqueue.hpp"

#include <algorithm>

namespace xpreempt::xqueue {

namespace {

const char* name(Level level) {
    switch (level) {
    case Level::block: return "block";
    case Level::deactivate: return "deactivate";
    case Level::interrupt: return "interrupt";
    }
    return "an unknown level";
}

std::string us(std::uint64_t ns) {
    return std::to_string((ns + 500) / 1000) + " us";
}

} // namespace

// The lowest level that keeps the latency budget, as higher ones cost the hardware more. All that
// may be, when there is no budget, or nothing is known about the commands.
Level XQueue::needed() const {
    if (!pace_.adapts())
        return highest_;
    if (pace_.keeps_budget())
        return Level::block;
    return pace_.command_keeps_budget() ? std::min(Level::deactivate, highest_) : highest_;
}

std::string XQueue::times() const {
    const std::string budget = "budget " + us(pace_.config().latency_budget_ns);
    if (pace_.command_ns() == 0)
        return budget + ", command time not known yet";
    return budget + ", command " + us(pace_.command_ns()) + ", " +
           std::to_string(pace_.threshold()) + " in flight";
}

LevelChoice XQueue::level() {
    Lock lock(mutex_);
    const Level wanted = needed();
    const Level highest = highest_;
    const bool in_time = pace_.keeps_budget() || pace_.command_keeps_budget();
    const std::string measured = pace_.adapts() ? times() : "";
    lock.unlock();
    LevelChoice choice = hw_->best_level(wanted);
    if (choice.level < wanted) {
        if (!measured.empty())
            choice.reason = measured + "; " + choice.reason;
    } else if (wanted < highest) {
        choice.reason = std::string(name(wanted)) + " is enough: " + measured;
    } else if (highest < Level::interrupt) {
        choice.reason = "limited by its owner";
        if (!measured.empty() && !in_time)
            choice.reason += "; " + measured;
    } else if (!measured.empty()) {
        choice.reason = std::string(name(wanted)) + ": " + measured;
    }
    return choice;
}

} // namespace xpreempt::xqueue
