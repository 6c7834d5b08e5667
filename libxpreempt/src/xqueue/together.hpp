// SPDX-License-Identifier: MIT
// Lets what one decision stops and starts reach the hardware in one call.
#pragma once

#include "xqueue/source.hpp"

#include <span>

namespace xpreempt::xqueue {

// Thread-safe. The sources are stopped and started one by one, as ever; what is done here before
// them and after them leaves them nothing to ask of the hardware:
//
//   keep(starts); each source to be started: start(); exchange(stops); each to be stopped: stop();
//   end()
class Together {
public:
    using Queues = std::span<const QueueName>;
    virtual ~Together() = default;
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

    // turn: the same in all calls of one decision, and in no other decision in progress. Adds a
    // hold to those that are held, so that they stay held when their sources release them.
    virtual void keep(const void* turn, Queues starts) = 0;
    // Stops these, and starts those that only keep() still holds.
    virtual void exchange(const void* turn, Queues stops, Queues starts) = 0;
    // Releases the holds of this turn; the sources keep theirs.
    virtual void end(const void* turn) = 0;

protected:
    Together() = default;
};

} // namespace xpreempt::xqueue
