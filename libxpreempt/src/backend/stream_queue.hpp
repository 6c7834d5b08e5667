// SPDX-License-Identifier: MIT
// A HIP stream as the hardware queue of an XQueue.
#pragma once

#include "backend/holds.hpp"
#include "hip/mapping.hpp"
#include "hip/runtime.hpp"
#include "xqueue/hw_queue.hpp"

#include <optional>

namespace xpreempt::backend {

// How far a stream's queue can be stopped now, and why not further. allow_shared: other streams may
// stop with it.
xqueue::LevelChoice level_of(const Transport& transport, const Probe& probe,
                             const hip::Mapping& mapping, hip::Stream stream, bool allow_shared);

// References must outlive it; the composition root owns them.
struct Environment {
    const hip::Functions& hip;
    const hip::Mapping& mapping;
    const Probe& probe;
    Transport& transport;
    Holds& holds;
};

class StreamQueue final : public xqueue::HwQueue {
public:
    StreamQueue(const Environment& environment, hip::Stream stream, bool allow_shared)
        : environment_(environment), stream_(stream), allow_shared_(allow_shared) {}

    xqueue::LevelChoice best_level() override;
    Result<void> launch(const xqueue::Launch& launch) override;
    Result<std::shared_ptr<xqueue::Marker>> mark() override;

    // Where the driver cannot drain, waves are saved instead: none of the launched commands starts
    // either way.
    Result<xqueue::Deactivated> deactivate() override;
    Result<void> reactivate() override { return start(); }
    Result<void> interrupt() override { return stop(StopType::save); }
    Result<void> restore() override { return start(); }

private:
    Result<void> stop(StopType type);
    Result<void> start();

    Environment environment_;
    hip::Stream stream_;
    bool allow_shared_;
    std::optional<hip::QueueRecord> stopped_; // the stream may have moved when it is started
};

} // namespace xpreempt::backend
