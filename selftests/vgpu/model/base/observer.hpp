// SPDX-License-Identifier: MIT
// Where the model tells what it did, and what it was asked that it can't do.
#pragma once

#include <cstdint>
#include <string_view>

namespace vgpu {

class Observer {
public:
    virtual ~Observer() = default;

    // Cheap test, so that callers format an event only when it is read.
    virtual bool tracing() const = 0;

    // One readable line: `actor` is the unit in the field's terms ("cp", "sq", "gmc", "ih").
    virtual void event(std::string_view actor, std::string_view text) = 0;

    // A packet or instruction that the model doesn't know and doesn't execute, or a state that
    // the hardware wouldn't be in: results may be wrong from here on. It is never silently
    // ignored: the run ends with exit status 3 and names each distinct text once.
    virtual void unmodelled(std::string_view actor, std::string_view text) = 0;

    // The same for a thing on which no result of a program depends. If nothing else is wrong, the
    // run ends with exit status 4.
    virtual void unmodelled_harmless(std::string_view actor, std::string_view text) = 0;

    // Adds to a named counter of the end-of-run summary. "group/key" is a counter in a group.
    virtual void count(std::string_view counter, std::uint64_t amount) = 0;

    // The guest asked for a copy of all counters now, under its own label (see README.md).
    virtual void snapshot(std::uint32_t label) { static_cast<void>(label); }
};

} // namespace vgpu
