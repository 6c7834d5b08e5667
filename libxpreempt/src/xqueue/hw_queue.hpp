// SPDX-License-Identifier: MIT
// What an XQueue needs of the queue below it. XSched's words: block, deactivate, interrupt.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace xpreempt::xqueue {

enum class Level : std::uint8_t {
    block = 1,      // no further command is launched
    deactivate = 2, // and none of the launched ones starts
    interrupt = 3,  // and the running one stops where it is
};

struct LevelChoice {
    Level level;
    std::string reason; // why not a higher one, empty at the highest
};

// 0 or a negative errno. May not wait for the GPU.
using LaunchFunction = int (*)(void* stream, void* argument);

struct Command {
    LaunchFunction launch;
    void* argument;
};

// A point in the hardware queue, behind the commands launched before it.
class Marker {
public:
    virtual ~Marker() = default;
    virtual bool passed() = 0;
    virtual Result<void> wait() = 0;
};

class HwQueue {
public:
    virtual ~HwQueue() = default;

    virtual LevelChoice best_level() = 0;
    virtual Result<void> launch(const Command& command) = 0;
    virtual Result<std::shared_ptr<Marker>> mark() = 0;

    // Each stop is undone by its start; never nested. After an error nothing has changed.
    virtual Result<void> deactivate() = 0;
    virtual Result<void> reactivate() = 0;
    virtual Result<void> interrupt() = 0;
    virtual Result<void> restore() = 0;
};

} // namespace xpreempt::xqueue
