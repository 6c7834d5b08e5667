// SPDX-License-Identifier: MIT
// Holds of KFD queues, each with its owner: the first stops the queue, the last one's end starts
// it.
#pragma once

#include "backend/transport.hpp"
#include "base/error.hpp"
#include "hip/mapping.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <vector>

namespace xpreempt::backend {

struct HeldQueue {
    hip::QueueRecord queue;
    std::uint32_t holds;
    std::uint32_t lifts; // > 0: it runs although it is held
};

// The owner of a hold, identified by addresses only. A stream's holds end with the stream. A later
// user of the same handle holds with another object, so the two owners compare unequal.
struct Owner {
    // NOLINTNEXTLINE(google-explicit-constructor): most are a stream alone, or none
    Owner(const void* held_stream = nullptr, const void* holding_object = nullptr)
        : stream(held_stream), object(holding_object) {}
    bool operator==(const Owner&) const = default;

    const void* stream;
    const void* object;
};

// Counts this library's stops of one queue. Times are measured around the call to the driver.
struct StopCounters {
    std::uint64_t stops = 0;
    std::uint64_t last_stop_ns = 0;
    std::uint64_t max_stop_ns = 0;
    std::uint64_t last_start_ns = 0;
};

// Thread-safe. The mutex is held across the ioctl, because the count must agree with the driver.
class Holds {
public:
    explicit Holds(Transport& transport) : transport_(transport) {}

    // EIO: the queue is dead. ESHUTDOWN: the process ends.
    Result<void> hold(const hip::QueueRecord& queue, StopType type, const Owner& owner);
    // A hold that ended without its owner (the queue was destroyed or died, the stream was
    // destroyed) is released with success.
    Result<void> release(const hip::QueueRecord& queue, const Owner& owner);

    // Several at once, a queue perhaps more than once, without an owner. All are held after it, or
    // none that wasn't before.
    Result<void> hold_all(std::span<const hip::QueueRecord> queues, StopType type);
    // An answer for each; a queue whose start is refused stays held.
    std::vector<Result<void>> release_each(std::span<const hip::QueueRecord> queues);

    // One more hold of a queue that is stopped; nothing for one that runs.
    void keep(const hip::QueueRecord& queue, const Owner& owner);
    // Holds some and releases others, all for that owner and by one call of the driver. A stop that
    // is refused is no hold; the queues whose start is refused stay held, and are returned.
    std::vector<hip::QueueRecord> exchange(std::span<const hip::QueueRecord> to_hold,
                                           std::span<const hip::QueueRecord> to_release,
                                           const Owner& owner);

    // Ends holds without their owners: those of a stream, or all.
    void forget(hip::QueueRef queue, const void* stream);
    void forget(hip::QueueRef queue);

    // Temporarily overrides all holds on the queue, present and future. Nestable; pair with
    // drop_lift().
    void lift(const hip::QueueRecord& queue);
    void drop_lift(hip::QueueRef queue);

    // Every queue runs again, whoever holds it, and none is held any more: for the end of the
    // process.
    void release_all();

    [[nodiscard]] std::uint32_t count(hip::QueueRef queue) const;
    [[nodiscard]] StopCounters counters(hip::QueueRef queue) const;
    [[nodiscard]] std::vector<HeldQueue> held() const; // with at least one hold
    [[nodiscard]] bool any() const { return num_held_.load(std::memory_order_relaxed) != 0; }

    // Called after a hold began or ended, in that thread and without the mutex. Set once, before
    // the first hold.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
    // Called once for each queue that is found dead, with the mutex. Null: none.
    using Died = std::function<void(const hip::QueueRecord& queue, const Error& error)>;
    void on_death(Died died);

private:
    struct Hold {
        hip::QueueRecord queue;
        StopType type;
        std::vector<Owner> owners;
        std::uint32_t lifts;
        bool stopped;
    };
    using Entry = std::map<hip::QueueRef, Hold>::iterator;

    Entry entry_of(const hip::QueueRecord& queue, StopType type);
    Result<void> apply(Entry entry);
    Result<void> stop(const Hold& hold);
    Result<void> start(const Hold& hold);
    void count_stop(hip::QueueRef queue, std::uint64_t ns);
    void count_start(hip::QueueRef queue, std::uint64_t ns);
    void note_death(const hip::QueueRecord& queue, const Error& error);
    bool is_over(const hip::QueueRecord& queue, const Error& error);
    void settle(Entry entry);
    void notify_changed() const;

    Transport& transport_;
    std::function<void()> changed_;
    std::atomic<std::uint32_t> num_held_{0};
    mutable std::mutex mutex_;
    std::map<hip::QueueRef, Hold> holds_;
    std::set<hip::QueueRef> dead_;
    Died died_;
    std::map<hip::QueueRef, StopCounters> counters_;
    bool shut_ = false;
};

} // namespace xpreempt::backend
