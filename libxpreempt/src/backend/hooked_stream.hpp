// SPDX-License-Identifier: MIT
// A stream without commands as a source: held at level 1 by keeping its callers back, at levels 2
// and 3 by its queue.
#pragma once

#include "backend/direct_calls.hpp"
#include "backend/stream_hold.hpp"
#include "backend/transport.hpp"
#include "xqueue/holdable.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace xpreempt::backend {

// Thread-safe. Lock order: mutex_, then those of Holds and of DirectCalls.
class HookedStream final : public xqueue::Holdable {
public:
    // References must outlive it. key: hip::Mapping::key_of(), not of hipStreamPerThread.
    HookedStream(const Transport& transport, const Probe& probe, const hip::Mapping& mapping,
                 Holds& holds, hip::Stream key, std::shared_ptr<DirectCalls> calls)
        : transport_(transport), probe_(probe), mapping_(mapping), key_(key),
          calls_(std::move(calls)), hold_(mapping, holds, key, {key, this}, calls_) {}

    ~HookedStream() override; // ends what is held
    HookedStream(const HookedStream&) = delete;
    HookedStream& operator=(const HookedStream&) = delete;

    Result<xqueue::Level> hold(const xqueue::HoldMode& mode) override;
    Result<void> release() override;

    [[nodiscard]] xqueue::LevelChoice level(bool allow_shared) const;
    void limit_level(xqueue::Level highest) { highest_.store(highest, std::memory_order_relaxed); }
    // As DirectCalls::pace().
    void pace(std::uint32_t threshold, std::uint32_t batch) { calls_->pace(threshold, batch); }

    [[nodiscard]] bool has_work() const override { return calls_->has_work(); }
    [[nodiscard]] std::uint32_t holds() const override;
    Result<bool> stop(xqueue::Patience patience) override;
    void outlast() override {}
    Result<void> start(xqueue::Patience) override { return release(); }
    [[nodiscard]] std::vector<xqueue::QueueName> queues() const override;
    void observe(std::shared_ptr<xqueue::Observer> observer) override;

private:
    Result<xqueue::Level> begin(const xqueue::HoldMode& mode);
    void report_holds();

    const Transport& transport_;
    const Probe& probe_;
    const hip::Mapping& mapping_;
    const hip::Stream key_;
    const std::shared_ptr<DirectCalls> calls_;
    std::atomic<xqueue::Level> highest_{xqueue::Level::interrupt};

    mutable std::mutex mutex_; // all below
    StreamHold hold_;
    std::uint32_t holds_ = 0;
    xqueue::Level held_level_ = xqueue::Level::block;
    std::shared_ptr<xqueue::Observer> observer_;
};

} // namespace xpreempt::backend
