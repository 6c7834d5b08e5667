// SPDX-License-Identifier: MIT
// The commands of one stream that were launched and could be taken back, newest last.
#pragma once

#include "backend/aql_ring.hpp"
#include "backend/guardians.hpp"
#include "hook/table.hpp"
#include "xqueue/hw_queue.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace xpreempt::backend {

// A command can be taken back by its guardian, or out of the queue's ring, or not at all. One that
// can't runs, and so do all before it: taking back stops there. One thread at a time.
class LaunchedCommands {
public:
    struct Entry {
        xqueue::Ticket ticket = 0;
        std::optional<Guardian> guardian;
        std::unique_ptr<hook::PacketLog> log; // only of a command that may be flushed
        bool taken_back = false;              // its packets are still in the queue
    };

    // After a launch, whether it can be taken back or not. One that failed can't.
    void add(Entry entry, bool launched = true);
    // All tickets up to this one are complete, and so is what was launched before their launch.
    // Returns how many guardians are of no more use.
    std::uint32_t forget(xqueue::Ticket completed);

    [[nodiscard]] xqueue::Ticket last() const { return last_; }
    // Return whether the newest command can be taken back this way; false before the first launch.
    [[nodiscard]] bool can_guard() const { return newest_guarded_; }
    [[nodiscard]] bool can_flush() const { return newest_flushable_; }

    // The first command that now will not run. Nothing: all of them do.
    std::optional<xqueue::Ticket> take_back_guarded();
    std::optional<xqueue::Ticket> take_back_packets(AqlRing& ring, std::uint64_t hsa_queue);

private:
    void taken_back_from(std::size_t entry);

    // Bounds what is remembered of a program that suspends and resumes behind one long kernel.
    static constexpr std::size_t max_entries = 4096;

    std::deque<Entry> entries_;
    xqueue::Ticket last_ = 0;
    xqueue::Ticket guarded_from_ = 1; // from there on all are
    xqueue::Ticket flushable_from_ = 1;
    bool newest_guarded_ = false;
    bool newest_flushable_ = false;
};

} // namespace xpreempt::backend
