// SPDX-License-Identifier: MIT
// The scheduler of this process, if one runs, and the sources that one would be for.
#pragma once

#include "base/error.hpp"
#include "sched/scheduler.hpp"
#include "xqueue/attributes.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace xpreempt::sched {

// Thread-safe. Lock order: lifecycle_mutex_, mutex_, then the scheduler's.
class LocalScheduling {
public:
    // together: outlives every scheduler.
    explicit LocalScheduling(xqueue::Together& together) : together_(together) {}

    // kind: returned by kind(), means nothing here. EALREADY: one runs.
    Result<void> start(Decide decide, std::uint32_t kind);
    Result<void> stop(); // ENOENT

    void created(const std::shared_ptr<Source>& source, const SourceName& name);
    // Must come before the source's end.
    void destroyed(const Source& source);

    // The highest of all sources; nothing: there are none.
    [[nodiscard]] std::optional<std::int32_t> highest_priority() const;
    // Each attribute has the strongest value that a source set: the largest number, the shortest
    // time.
    [[nodiscard]] xqueue::Attributes strongest_attributes() const;

    // nullptr: none. It may be stopped at any time, and then does nothing any more.
    [[nodiscard]] std::shared_ptr<Scheduler> running() const;
    [[nodiscard]] std::uint32_t kind() const; // of the policy that runs, or ran last

private:
    struct Known {
        std::weak_ptr<Source> source;
        const Source* address;
        SourceName name;
    };

    xqueue::Together& together_;
    std::mutex lifecycle_mutex_; // start and stop, one after the other
    mutable std::mutex mutex_;
    std::vector<Known> known_;
    std::shared_ptr<Scheduler> scheduler_;
    std::uint32_t kind_ = 0;
};

} // namespace xpreempt::sched
