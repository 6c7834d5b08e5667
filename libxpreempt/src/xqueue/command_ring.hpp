// SPDX-License-Identifier: MIT
// Commands by ticket, from the oldest that may still be needed to the newest.
#pragma once

#include "base/caller_state.hpp"
#include "xqueue/hw_queue.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <memory>

namespace xpreempt::xqueue {

// Memory follows what is kept, in chunks: 32 bytes a command. Not thread-safe. An entry stays where
// it is, but operator[] may not run beside push() or release().
class CommandRing {
public:
    // Tickets are pushed without a gap, beginning with 1.
    void push(Ticket ticket, const Command& command) {
        const Ticket number = ticket / chunk_commands;
        if (number - first_chunk_ == chunks_.size()) {
            const KeptErrno kept;
            chunks_.push_back(spare_ ? std::move(spare_) : std::make_unique_for_overwrite<Chunk>());
        }
        (*this)[ticket] = command;
    }

    Command& operator[](Ticket ticket) {
        return (*chunks_[ticket / chunk_commands - first_chunk_])[ticket % chunk_commands];
    }

    // Up to and including that ticket, which was pushed, nothing is needed any more.
    void release(Ticket ticket) {
        while (first_chunk_ < (ticket + 1) / chunk_commands) {
            if (chunks_.front())
                spare_ = std::move(chunks_.front());
            chunks_.pop_front();
            ++first_chunk_;
        }
    }

    // Those between are needed no more either, though older ones are.
    void forget(Ticket first, Ticket last) {
        const Ticket end = (last + 1) / chunk_commands;
        for (Ticket number = (first + chunk_commands - 1) / chunk_commands; number < end; ++number)
            chunks_[number - first_chunk_].reset();
    }

private:
    static constexpr std::size_t chunk_commands = 256;
    using Chunk = std::array<Command, chunk_commands>;

    std::deque<std::unique_ptr<Chunk>> chunks_;
    std::unique_ptr<Chunk> spare_; // so that a short queue doesn't allocate again and again
    Ticket first_chunk_ = 0;
};

} // namespace xpreempt::xqueue
