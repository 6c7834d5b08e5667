// SPDX-License-Identifier: MIT
// Messages for people: to a function of the program, or to standard error, or nowhere.
#pragma once

#include "base/caller_state.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <new>

namespace xpreempt::log {

enum class Level : std::uint32_t { none, error, warning, info, debug };

using Function = void (*)(std::uint32_t level, const char* message, void* argument);

struct Sink {
    std::atomic<Level> most{Level::none};
    std::mutex mutex; // held while the function is called: after a change the old one isn't
    Function function = nullptr; // null: standard error
    void* argument = nullptr;
};

inline constinit Sink sink;

inline void set(Function function, Level most, void* argument) {
    const std::lock_guard lock(sink.mutex);
    sink.function = function;
    sink.argument = argument;
    sink.most.store(most, std::memory_order_relaxed);
}

// In the child of a fork: another thread of the parent may have been in the function.
inline void unlock() {
    new (&sink.mutex) std::mutex;
}

// Costs a load and a branch if the message isn't wanted.
[[gnu::format(printf, 2, 3)]] inline void report(Level level, const char* format, ...) {
    if (level > sink.most.load(std::memory_order_relaxed))
        return;
    const CallerState state;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const std::lock_guard lock(sink.mutex);
    try {
        if (sink.function != nullptr)
            sink.function(static_cast<std::uint32_t>(level), message, sink.argument);
        else
            std::fprintf(stderr, "libxpreempt: %s\n", message);
    } catch (...) { // NOLINT(bugprone-empty-catch): the program's own, and callers throw nothing
    }
}

} // namespace xpreempt::log
