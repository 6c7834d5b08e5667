// SPDX-License-Identifier: MIT
// The SWITCH calls of one command: any number of entries, max_batch in a call.
#include "driver/switch_calls.hpp"

#include <algorithm>
#include <cerrno>

namespace cli {

bool is_locked(const kfd_preempt_switch_entry& entry) {
    return entry.result == -EBUSY && entry.queue_uid == 0 && entry.holds == 0 &&
           entry.state != KFD_PREEMPT_STATE_PENDING;
}

std::size_t SwitchCalls::send(const Driver& driver, std::uint32_t flags,
                              std::span<kfd_preempt_switch_entry> entries,
                              std::optional<int> target, std::uint32_t timeout_ms) {
    const std::size_t batch = std::max<std::size_t>(driver.query.max_batch, 1);
    error_.reset();
    for (std::size_t first = 0; first < entries.size(); first += batch) {
        const auto part = entries.subspan(first, std::min(batch, entries.size() - first));
        ++count_;
        const auto done = target ? driver.device.switch_queues_of(*target, flags, part, timeout_ms)
                                 : driver.device.switch_queues(flags, part, -1, timeout_ms);
        if (!done) {
            error_ = done.error();
            return first;
        }
        hw_ns_ += done->hw_ns;
    }
    return entries.size();
}

} // namespace cli
