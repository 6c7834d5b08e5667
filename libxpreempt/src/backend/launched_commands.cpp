// SPDX-License-Identifier: MIT
// Takes launched commands back, from the newest to the oldest that allows it.
#include "backend/launched_commands.hpp"

#include <span>
#include <vector>

namespace xpreempt::backend {

void LaunchedCommands::add(Entry entry, bool launched) {
    last_ = entry.ticket;
    const bool room = launched && entries_.size() < max_entries;
    newest_guarded_ = entry.guardian && room;
    newest_flushable_ = entry.log != nullptr && entry.log->incomplete == 0 && room;
    if (!newest_guarded_)
        guarded_from_ = last_ + 1;
    if (!newest_flushable_)
        flushable_from_ = last_ + 1;
    // A guardian is remembered in any case: its slot is in use.
    if (entry.guardian || (entry.log != nullptr && room))
        entries_.push_back(std::move(entry));
}

std::uint32_t LaunchedCommands::forget(xqueue::Ticket completed) {
    std::size_t done = entries_.size();
    // A ticket that was taken back is in here again with its next launch.
    while (done > 0 && (entries_[done - 1].taken_back || entries_[done - 1].ticket > completed))
        --done;
    std::uint32_t guardians = 0;
    for (; done > 0; --done) {
        guardians += entries_.front().guardian ? 1U : 0U;
        entries_.pop_front();
    }
    return guardians;
}

void LaunchedCommands::taken_back_from(std::size_t entry) {
    last_ = entries_[entry].ticket - 1;
    for (; entry < entries_.size(); ++entry)
        entries_[entry].taken_back = true;
}

// From the newest on: an older one may begin meanwhile, and then stays, but none behind it can.
std::optional<xqueue::Ticket> LaunchedCommands::take_back_guarded() {
    std::size_t first = entries_.size();
    while (first > 0 && !entries_[first - 1].taken_back &&
           entries_[first - 1].ticket >= guarded_from_ &&
           // NOLINTNEXTLINE(bugprone-unchecked-optional-access): all have one from guarded_from_ on
           GuardianRing::take_back(*entries_[first - 1].guardian))
        --first;
    if (first == entries_.size())
        return std::nullopt;
    const xqueue::Ticket ticket = entries_[first].ticket;
    taken_back_from(first);
    return ticket;
}

std::optional<xqueue::Ticket> LaunchedCommands::take_back_packets(AqlRing& ring,
                                                                  std::uint64_t hsa_queue) {
    std::size_t begin = entries_.size();
    const auto in_ring = [&](const Entry& entry) {
        return entry.log->num_packets == 0 || entry.log->hsa_queue == hsa_queue;
    };
    while (begin > 0 && !entries_[begin - 1].taken_back &&
           entries_[begin - 1].ticket >= flushable_from_ && in_ring(entries_[begin - 1]))
        --begin;
    std::vector<std::span<const std::uint64_t>> commands;
    for (std::size_t i = begin; i < entries_.size(); ++i)
        commands.emplace_back(entries_[i].log->packets, entries_[i].log->num_packets);
    const std::size_t first = begin + take_back(ring, commands);
    if (first == entries_.size())
        return std::nullopt;
    const xqueue::Ticket ticket = entries_[first].ticket;
    taken_back_from(first);
    return ticket;
}

} // namespace xpreempt::backend
