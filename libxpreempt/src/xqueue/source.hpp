// SPDX-License-Identifier: MIT
// A schedulable source: it has work for a GPU, and can be kept from running.
#pragma once

#include "base/error.hpp"
#include "xqueue/attributes.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace xpreempt::xqueue {

// A hardware queue, by a name that those who stop it agree upon.
using QueueName = std::uint64_t;

// Notified of what happens to a source. Takes note, and calls no function of the source, whose
// locks are held.
class Observer {
public:
    // It got work, or has none left. The thread will call react(), or not.
    virtual void note(bool will_react) noexcept = 0;
    // A hold came or went.
    virtual void note_hold() noexcept = 0;
    // Called without locks. Doesn't wait for anybody but the hardware.
    virtual void react() noexcept = 0;

protected:
    ~Observer() = default;
};

enum class Patience : std::uint8_t {
    none, // waits for nothing but the hardware; EAGAIN where that isn't enough
    full,
};

// Thread-safe.
class Source {
public:
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    // Anything that isn't known to be complete, or waits to be launched.
    [[nodiscard]] virtual bool has_work() const = 0;
    // Holds that weren't yet released, whoever's.
    [[nodiscard]] virtual std::uint32_t holds() const = 0;
    [[nodiscard]] virtual std::int32_t priority() const = 0;
    [[nodiscard]] virtual Attributes attributes() const { return {}; }

    // Holds it, at the best level that it allows. False, without patience only: it is held, and
    // outlast() is to be called by who has some.
    virtual Result<bool> stop(Patience patience) = 0;
    virtual void outlast() = 0;
    // Undoes one stop. After an error it is held as before.
    virtual Result<void> start(Patience patience) = 0;

    // The hardware queues that a stop would hold, or that are held, mid-kernel; none where it would
    // be by other means.
    [[nodiscard]] virtual std::vector<QueueName> queues() const = 0;

    // nullptr: none. The former observer may still be called for a moment.
    virtual void observe(std::shared_ptr<Observer> observer) = 0;

protected:
    Source() = default;
};

} // namespace xpreempt::xqueue
