// SPDX-License-Identifier: MIT
// XQueues of one device that share a latency budget launch in turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace xpreempt::xqueue {

class HwQueue;

// If each kept a budget's worth in flight, a scheduler that stops all of them would wait for as
// many budgets. The one that has the turn launches as if it were alone. When it would launch once
// more and the turn is over, it passes the turn on instead. Thread-safe; its lock is taken last.
class DeviceTurns {
public:
    class Seat { // of one XQueue
        friend class DeviceTurns;
        std::condition_variable passed_on_;
        bool waits_ = false; // it is in waiting_
    };

    struct Launcher {
        std::uint64_t now_ns;
        std::uint64_t command_ns; // measured, 0: not known
    };

    // Returns whether the seat may launch now. If not, it is in the queue afterwards.
    [[nodiscard]] bool take_or_queue(Seat& seat, Launcher launcher);
    // The same, but it doesn't queue, and passes no turn on.
    [[nodiscard]] bool take(const Seat& seat, Launcher launcher);
    // Blocks until a seat in the queue has the turn, or has left. The turn of one that launches
    // nothing for too long is taken away.
    void wait(Seat& seat, HwQueue& clock);
    // Gives up the turn and the place in the queue.
    void leave(Seat& seat);

private:
    [[nodiscard]] bool may_launch(const Seat& seat, Launcher launcher);
    [[nodiscard]] bool is_over(std::uint64_t now_ns) const;
    void begin(const Seat* seat);
    void dequeue(Seat& seat);
    void pass_on();

    std::mutex mutex_; // all below
    const Seat* turn_ = nullptr;
    std::uint32_t launches_ = 0;   // in this turn
    std::uint64_t began_ns_ = 0;   // with the first of them
    std::uint64_t command_ns_ = 0; // of who launched last
    std::uint64_t all_launches_ = 0;
    std::vector<Seat*> waiting_; // the next one first
};

} // namespace xpreempt::xqueue
