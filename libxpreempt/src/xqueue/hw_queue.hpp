// SPDX-License-Identifier: MIT
// The interface of the queue below an XQueue. XSched's words: block, deactivate, interrupt.
#pragma once

#include "base/error.hpp"
#include "xqueue/device_turns.hpp"
#include "xqueue/prompt_wait.hpp"
#include "xqueue/source.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace xpreempt::xqueue {

using Ticket = std::uint64_t; // commands of one XQueue, counted from 1

enum class Level : std::uint8_t {
    block = 1,      // no further command is launched
    deactivate = 2, // and none of the launched ones starts
    interrupt = 3,  // and the running one stops where it is
};

// By what means launched commands are kept from starting.
enum class DeactivateMethod : std::uint8_t {
    none,     // not at all
    hardware, // the queue itself is held
    guardian, // their kernels look at a flag, and return at once while it is set
    flush,    // they are taken back out of the hardware queue
};

struct LevelChoice {
    Level level;
    DeactivateMethod method;
    std::string reason; // why not a higher one, empty at the highest
};

// 0 or a negative errno. May not wait for the GPU.
using LaunchFunction = int (*)(void* stream, void* argument);

// Flags of a command. One with any of them may be launched again.
constexpr std::uint32_t command_idempotent = 0x1; // although it ran, wholly or in part
constexpr std::uint32_t command_guarded = 0x2;    // its kernels look at the guardian flag
constexpr std::uint32_t command_flags = command_idempotent | command_guarded;

struct Command {
    LaunchFunction launch = nullptr;
    void* argument = nullptr;
    std::uint32_t flags = 0;
    // Null, or called once with the argument when the command has completed or was dropped, or when
    // the xqueue's thread could not launch it. With the xqueue's mutex.
    void (*over)(void* argument) = nullptr;
};

// One launch of a command. All tickets up to `completed` are known to be complete: what was
// remembered for them can be forgotten.
struct Launch {
    Command command;
    Ticket ticket = 0;
    Ticket completed = 0;
    bool captured = false; // see HwQueue::is_captured()
};

// Answer of deactivate(). From `relaunch_from` on, every launched command that has a flag either
// didn't run and will not, or is idempotent; commands without flags are never among them. The
// XQueue launches them again, in order, after start(). Nothing: all of them stay launched.
struct Deactivated {
    std::optional<Ticket> relaunch_from;
    DeactivateMethod method = DeactivateMethod::hardware;
};

// A point in the hardware queue, behind the commands launched before it. Any thread may ask, and
// several may wait. A marker behind commands that were taken back is void: it may pass at any time,
// and at the latest after start().
class Marker {
public:
    virtual ~Marker() = default;
    virtual bool passed() = 0;
    virtual Result<void> wait() = 0;

    // As wait(), for threads that must return within microseconds: sleeps until shortly before the
    // marker may pass, then polls, and blocks only if it is later than expected.
    virtual Result<void> wait_promptly(const Expected& expected) {
        return poll(expected, [this] { return passed(); }) ? Result<void>{} : wait();
    }

    // Returns whether it passes within that time. Returns early once `stop` isn't 0.
    virtual bool passes_within(std::uint64_t ns, const std::atomic<std::uint32_t>& stop) {
        return poll_for(ns, stop, [this] { return passed(); });
    }
};

// State that the XQueues of a device share. Thread-safe.
struct DeviceLoad {
    std::atomic<std::uint32_t> busy{0}; // XQueues that have commands in flight
    DeviceTurns turns;
};

// launch() and mark() are called by one thread at a time, and by none during deactivate(); an
// interrupt() may be called while a launch is in progress, best_level() at any time.
class HwQueue {
public:
    virtual ~HwQueue() = default;

    // Returns the time of the clock that command times are measured by.
    virtual std::uint64_t now_ns() {
        return static_cast<std::uint64_t>(
            std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
    }

    // Sleeps for that time of now_ns(), or until `over` is true, which `wakes` notifies. Comes and
    // returns with the lock.
    virtual void sleep(std::unique_lock<std::mutex>& lock, std::condition_variable& wakes,
                       std::uint64_t ns, const std::function<bool()>& over) {
        wakes.wait_for(lock, std::chrono::nanoseconds(ns), over);
    }

    // Up to `highest`, which the xqueue's owner allows.
    virtual LevelChoice best_level(Level highest) = 0;
    virtual Result<void> launch(const Launch& launch) = 0;
    virtual Result<std::shared_ptr<Marker>> mark() = 0; // EBUSY: is_captured()
    // A command that is launched now becomes a part of a graph, and never runs by itself.
    [[nodiscard]] virtual bool is_captured() const { return false; }
    // Neither is it captured now, nor by a call in progress.
    [[nodiscard]] virtual bool stays_out_of_graphs() const { return true; }
    // A number that is 0 while no stream is captured, nor by a call in progress.
    [[nodiscard]] virtual const std::atomic<std::size_t>& captures() const {
        static const std::atomic<std::size_t> none{0};
        return none;
    }

    // Never nested. After an error nothing has changed.
    virtual Result<Deactivated> deactivate() = 0;
    virtual Result<void> interrupt() = 0;
    // Returns when the hardware has confirmed either, or when it was started. Any thread may wait.
    virtual void finish_stop() {}
    // Ends either. If the driver refuses it now, the queue starts later.
    virtual void start() = 0;

    // Returns the queues that interrupt() would hold, for callers that stop several at once.
    [[nodiscard]] virtual std::vector<QueueName> queues() const { return {}; }

    // Returns that of its device, which outlives the queue; null: not counted.
    [[nodiscard]] virtual DeviceLoad* load() { return nullptr; }

    // Direct work: what the program puts into the hardware queue itself, not as a command. It can
    // be withheld before it gets there, paced and observed. The defaults are for queues whose
    // direct work we can't see.
    virtual void withhold_direct(bool) {}
    virtual void pace_direct(std::uint32_t /*threshold*/, std::uint32_t /*batch*/) {} // 0: not
    [[nodiscard]] virtual bool has_direct_work() const { return false; }
    virtual void observe_direct(const std::shared_ptr<Observer>&) {}
};

} // namespace xpreempt::xqueue
