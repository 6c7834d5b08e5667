// SPDX-License-Identifier: MIT
// Entries of SWITCH, as many in a call as the driver takes.
#include "driver/kfd_switch.hpp"

#include <algorithm>
#include <kfd_preempt.h>
#include <vector>

namespace xpreemptd {

Result<void> KfdSwitch::change(std::span<Switch> switches, std::uint32_t flags) const {
    Result<void> outcome;
    while (!switches.empty()) {
        const std::size_t count = std::min<std::size_t>(switches.size(), max_batch_);
        if (auto changed = change_batch(switches.first(count), flags); !changed)
            outcome = changed;
        switches = switches.subspan(count);
    }
    return outcome;
}

Result<void> KfdSwitch::change_batch(std::span<Switch> switches, std::uint32_t flags) const {
    std::vector<kfd_preempt_switch_entry> entries;
    entries.reserve(switches.size());
    for (const Switch& wanted : switches) {
        const bool stop = wanted.change == Change::stop;
        kfd_preempt_switch_entry& entry = entries.emplace_back();
        entry.queue_id = wanted.queue_id;
        entry.op = stop ? KFD_PREEMPT_OP_PREEMPT : KFD_PREEMPT_OP_RESUME;
        entry.preempt_type = stop ? KFD_PREEMPT_TYPE_SAVE : 0;
        entry.target_pid = wanted.pid;
        entry.queue_uid = wanted.queue_uid;
    }
    const auto answer = device_.switch_queues(KFD_PREEMPT_SWITCH_MATCH_UID | flags, entries);
    for (std::size_t i = 0; i < switches.size(); ++i) {
        switches[i].result = answer ? -entries[i].result : answer.error().errno_value;
        switches[i].held_by_others =
            switches[i].change == Change::start && answer && entries[i].holds != 0;
    }
    if (!answer)
        return tl::make_unexpected(answer.error());
    return {};
}

// In one call if they fit into one. Where they don't, all stops come before any memory moves: the
// driver wants all queues of a process stopped.
void KfdSwitch::move(std::span<Switch> switches) const {
    if (switches.size() > max_batch_)
        (void)change(switches.first(static_cast<std::size_t>(
                         std::ranges::count(switches, Change::stop, &Switch::change))),
                     0);
    (void)change(switches, KFD_PREEMPT_SWITCH_YIELD_MEMORY);
}

} // namespace xpreemptd
