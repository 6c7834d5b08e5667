// SPDX-License-Identifier: MIT
// Scheduling by xpreemptd: the priorities of this process' sources become those of its job.
#pragma once

#include "base/error.hpp"
#include "control/daemon_link.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace xpreempt::capi {

// Above 0 the job is in band high, below in band idle, at 0 where its rule puts it. Policy HPF uses
// the priority itself. Thread-safe.
class GlobalScheduling {
public:
    // highest: of the sources; nothing: there are none yet. EALREADY: it runs. The error of the
    // daemon, or ENOENT or ECONNREFUSED without one; then it doesn't run.
    Result<void> start(std::optional<std::int32_t> highest);
    Result<void> stop(); // ENOENT
    [[nodiscard]] bool runs() const;

    // Nothing is sent if it is as before, or if it doesn't run.
    Result<void> update(std::optional<std::int32_t> highest);

private:
    static Result<void> send(control::DaemonLink& link, std::optional<std::int32_t> highest);

    mutable std::mutex mutex_;
    std::unique_ptr<control::DaemonLink> link_; // while it runs
    std::optional<std::int32_t> sent_;
};

} // namespace xpreempt::capi
