// SPDX-License-Identifier: MIT
// A stream without commands as a source: held at level 1 by keeping its callers back, at levels 2
// and 3 by its queue.
#pragma once

#include "backend/direct_calls.hpp"
#include "backend/stream_hold.hpp"
#include "backend/transport.hpp"
#include "xqueue/xqueue.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace xpreempt::backend {

// Thread-safe. Lock order: mutex_, then those of its xqueue, of Holds and of DirectCalls.
class HookedStream final : public xqueue::Holdable {
public:
    // References must outlive it. key: hip::Mapping::key_of(), not of hipStreamPerThread. birth:
    // hip::Mapping::birth_of() it.
    HookedStream(const Transport& transport, const Probe& probe, const hip::Mapping& mapping,
                 Holds& holds, hip::Stream key, std::uint64_t birth,
                 std::shared_ptr<DirectCalls> calls)
        : transport_(transport), probe_(probe), mapping_(mapping), key_(key), birth_(birth),
          calls_(std::move(calls)), hold_(mapping, holds, key, {key, this}, calls_, birth) {}

    ~HookedStream() override; // ends what is held
    HookedStream(const HookedStream&) = delete;
    HookedStream& operator=(const HookedStream&) = delete;

    [[nodiscard]] std::uint64_t birth() const { return birth_; }

    Result<xqueue::Level> hold(const xqueue::HoldMode& mode) override;
    Result<void> release() override;
    [[nodiscard]] bool lives() const override { return mapping_.birth_of(key_) == birth_; }

    // The stream's xqueue takes this one's place: it gets the holds that there are, at the level
    // `least` if they have it, and from then on each call that holds or releases.
    struct Xqueue {
        std::uint64_t handle = 0; // 0: there is none
        std::shared_ptr<xqueue::XQueue> stream;
        bool ends = false; // it takes no place any more
    };
    Result<void> pass_to(Xqueue xqueue, xqueue::Level least = xqueue::Level::block);
    [[nodiscard]] Xqueue xqueue() const;

    [[nodiscard]] xqueue::LevelChoice level(bool allow_shared) const;
    void limit_level(xqueue::Level highest) { highest_.store(highest, std::memory_order_relaxed); }
    // As DirectCalls::pace().
    void pace(std::uint32_t threshold, std::uint32_t batch) { calls_->pace(threshold, batch); }

    [[nodiscard]] bool has_work() const override { return calls_->has_work(); }
    [[nodiscard]] std::uint32_t holds() const override;
    Result<bool> stop(xqueue::Patience) override {
        return hold({}).map([](xqueue::Level) { return true; });
    }
    void outlast() override {}
    Result<void> start(xqueue::Patience) override { return release(); }
    [[nodiscard]] std::vector<xqueue::QueueName> queues() const override;
    void observe(std::shared_ptr<xqueue::Observer> observer) override;

private:
    using Lock = std::unique_lock<std::mutex>;
    Result<xqueue::Level> begin(const xqueue::HoldMode& mode);
    void end();
    std::shared_ptr<xqueue::Holdable> replacement(Lock& lock) const;

    const Transport& transport_;
    const Probe& probe_;
    const hip::Mapping& mapping_;
    const hip::Stream key_;
    const std::uint64_t birth_;
    const std::shared_ptr<DirectCalls> calls_;
    std::atomic<xqueue::Level> highest_{xqueue::Level::interrupt};

    mutable std::mutex mutex_; // all below
    StreamHold hold_;
    std::uint32_t holds_ = 0;
    xqueue::Level held_level_ = xqueue::Level::block;
    Xqueue xqueue_;
    std::shared_ptr<xqueue::Observer> observer_;
};

} // namespace xpreempt::backend
