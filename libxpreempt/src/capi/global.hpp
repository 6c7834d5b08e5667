// SPDX-License-Identifier: MIT
// Scheduling by xpreemptd: priority and attributes of this process' sources become those of its
// job.
#pragma once

#include "base/error.hpp"
#include "control/daemon_link.hpp"
#include "xqueue/attributes.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace xpreempt::capi {

// Above 0 the job is in band high, below in band idle, at 0 where its rule puts it. Policy HPF uses
// the priority itself. Thread-safe.
class GlobalScheduling {
public:
    // The strongest values of all sources.
    struct Wanted {
        std::optional<std::int32_t> priority = {}; // nothing: there are no sources yet
        xqueue::Attributes attributes = {};
        bool operator==(const Wanted&) const = default;
    };

    // EALREADY: it runs. The error of the daemon, or ENOENT or ECONNREFUSED without one; then it
    // doesn't run.
    Result<void> start(const Wanted& wanted);
    Result<void> stop(); // ENOENT
    [[nodiscard]] bool runs() const;

    // Sends the parts that have changed. Returns the daemon's answer about the part that the caller
    // has set: a refused priority is no error of attributes. While runs() is false it does nothing.
    enum class Part { priority, attributes, both };
    Result<void> update(const Wanted& wanted, Part set);

private:
    // Whether the daemon has a part of sent_. due: it may not have looked at it.
    enum class State { taken, rejected, due };
    static State state_after(const control::DaemonLink::Answer& answer);
    static control::DaemonLink::Answer send_priority(control::DaemonLink& link,
                                                     std::optional<std::int32_t> priority);
    static control::DaemonLink::Answer send_attributes(control::DaemonLink& link,
                                                       const xqueue::Attributes& attributes);

    mutable std::mutex mutex_;
    std::unique_ptr<control::DaemonLink> link_; // while it runs
    Wanted sent_;
    State priority_ = State::taken, attributes_ = State::taken;
};

} // namespace xpreempt::capi
