// SPDX-License-Identifier: MIT
// The SWITCH calls of one command: any number of entries, max_batch in a call.
#pragma once

#include "driver/driver.hpp"

#include <cstdint>
#include <kfd_preempt.h>
#include <optional>
#include <span>
#include <sys/types.h>

namespace cli {

// A process may keep itself locked while it allocates or its memory moves. The driver waits for 100
// ms each time.
constexpr unsigned locked_tries_max = 20;

// The driver could not lock the process and has not reached the queue.
[[nodiscard]] bool is_locked(const kfd_preempt_switch_entry& entry);

class SwitchCalls {
public:
    // Fills in the entries. Returns how many the driver has processed: all of them, or those before
    // the call that it rejected, which error() is of. target: all are queues of that process, see
    // kfd::Device::switch_queues_of(); else each entry names its own.
    std::size_t send(const Driver& driver, std::uint32_t flags,
                     std::span<kfd_preempt_switch_entry> entries, std::optional<int> target = {},
                     std::uint32_t timeout_ms = 0);

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t hw_ns() const { return hw_ns_; }

private:
    std::uint64_t count_ = 0;
    std::uint64_t hw_ns_ = 0;
    std::optional<Error> error_;
};

} // namespace cli
