// SPDX-License-Identifier: MIT
// Holds of KFD queues: the first stops the queue, the end of the last one starts it.
#pragma once

#include "backend/transport.hpp"
#include "base/error.hpp"
#include "hip/mapping.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace xpreempt::backend {

// The owner of a hold, identified by addresses only. A stream's holds end with the stream. A later
// user of the same handle holds with another object, so the two owners compare unequal.
struct Owner {
    // NOLINTNEXTLINE(google-explicit-constructor): most are a stream alone, or none
    Owner(const void* held_stream = nullptr, const void* holding_object = nullptr)
        : stream(held_stream), object(holding_object) {}
    bool operator==(const Owner&) const = default;

    // The owner of the holds of xp_queue_hold(), which are counted together. They hold the queue
    // itself, so they end with the queue, and not with its last stream.
    static Owner of_queue() {
        static constexpr char object = 0;
        return {nullptr, &object};
    }

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
//
// A hold ends with its release(), whatever the driver answers: an entry whose queue isn't as its
// holds want it stays, as a stopped queue without an owner, until retry() succeeds. To begin a hold
// takes memory, to end one takes none.
class Holds {
public:
    // mapping: knows which queues are gone or being destroyed; null: all are there.
    explicit Holds(Transport& transport, const hip::Mapping* mapping = nullptr)
        : transport_(transport), mapping_(mapping) {}

    // Holds all queues, or on failure none that was not held before; a queue may occur more than
    // once. Returns EIO if a queue is dead, ESTALE if it is gone, EBUSY while it is destroyed,
    // ESHUTDOWN if the process ends, ENOMEM without memory. A stop that the driver confirms late is
    // a hold, see is_late().
    Result<void> hold(std::span<const hip::QueueRecord> queues, StopType type, const Owner& owner);
    Result<void> hold(const hip::QueueRecord& queue, StopType type, const Owner& owner) {
        return hold({&queue, 1}, type, owner);
    }
    // The same for one queue. Only its first stop has the options.
    Result<void> hold_with(const hip::QueueRecord& queue, StopType type, const StopOptions& options,
                           const Owner& owner);
    // Does nothing if the hold has ended with its queue or its stream.
    void release(std::span<const hip::QueueRecord> queues, const Owner& owner) {
        exchange({}, queues, owner);
    }
    void release(const hip::QueueRecord& queue, const Owner& owner) { release({&queue, 1}, owner); }
    // Releases by the queue's name. Returns false if the owner has no hold of it.
    bool release_if_held(hip::QueueRef queue, const Owner& owner);

    // One more hold of a queue that is stopped; nothing for one that runs.
    void keep(const hip::QueueRecord& queue, const Owner& owner);
    // Holds some and releases others, all for that owner and by one call of the driver. A stop that
    // is refused is no hold, nor is any without memory; the releases are made.
    void exchange(std::span<const hip::QueueRecord> to_hold,
                  std::span<const hip::QueueRecord> to_release, const Owner& owner);

    // Ends holds without their owners: those of a stream.
    void forget_stream(const void* stream);
    // For a queue that no stream uses any more: ends its holds except those of Owner::of_queue().
    void forget_streams(hip::QueueRef queue);

    // Around the destruction of a queue. The first call starts the queue; between the two none is
    // made to the driver for it. If it was destroyed its holds end, otherwise they stop it again.
    void begin_destroy(hip::QueueRef queue);
    void end_destroy(hip::QueueRef queue, bool destroyed);

    // Ends all holds of that owner.
    void forget(const Owner& owner);

    // Temporarily overrides all holds on the queue, present and future. Nestable; pair with
    // drop_lift(). Returns false at the end of the process, or without memory for an unheld queue.
    bool lift(const hip::QueueRecord& queue);
    void drop_lift(hip::QueueRef queue);
    // The same for all queues, also those of later holds: true and then false. Allocates nothing.
    void lift_all(bool lifted);

    // Repeats the calls that the driver refused. Returns true if none is left.
    bool retry();
    [[nodiscard]] bool is_due() const { return num_due_.load(std::memory_order_relaxed) != 0; }

    // For the end of the process: ends all holds, rejects new ones, retries starts to the deadline.
    void release_all(std::chrono::steady_clock::time_point deadline);

    // Returns whether the queue is held, but its stop isn't confirmed: its waves may still run.
    // Asks the driver once more, which takes a millisecond at most.
    [[nodiscard]] bool is_late(hip::QueueRef queue);

    // The effect of a queue's holds. running: its stop isn't confirmed, or a lift overrides them.
    enum class Progress { none, dead, running, stopped };
    // Asks the driver as is_late() does.
    [[nodiscard]] Progress progress(hip::QueueRef queue);

    [[nodiscard]] std::uint32_t count(hip::QueueRef queue) const;
    [[nodiscard]] StopCounters counters(hip::QueueRef queue) const;
    // With at least one hold, or stopped still.
    [[nodiscard]] std::set<hip::QueueRef> held() const;
    [[nodiscard]] bool any() const { return num_held_.load(std::memory_order_relaxed) != 0; }

    // Called after a hold began or ended, in that thread and without the mutex. Set once, before
    // the first hold.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
    // The function that report_deaths() calls, once for each queue that a call found dead.
    using Died = std::function<void(const hip::QueueRecord& queue, const Error& error)>;
    void on_death(Died died);
    // For after each change of holds and lifts: without a lock, as the program may end in it.
    void report_deaths() noexcept;

private:
    struct Hold {
        hip::QueueRecord queue{};
        StopType type{};
        std::vector<Owner> owners;
        std::uint32_t lifts = 0;
        bool stopped = false;
        bool late = false;     // stopped, but not confirmed
        bool unsure = false;   // the driver's answer was lost: stopped may be wrong
        bool reported = false; // its start was refused
        bool changed = false;  // for agree()
        bool ending = false;   // the program is destroying it
        bool dead = false;     // and not to be touched again
        Error death{};         // to be reported; errno_value 0: none
        [[nodiscard]] bool wants_stop() const { return !owners.empty() && lifts == 0 && !ending; }
        [[nodiscard]] bool is_due() const { return wants_stop() != stopped || unsure; }
        [[nodiscard]] bool is_to_switch() const { return changed && is_due() && !dead && !ending; }
    };
    using Queues = std::vector<hip::QueueRecord>;

    Hold& entry_of(const hip::QueueRecord& queue, StopType type);
    [[nodiscard]] Result<void> check(const hip::QueueRecord& queue) const;
    bool add(std::span<const hip::QueueRecord> queues, StopType type, const Owner& owner) noexcept;
    bool drop(hip::QueueRef queue, const Owner& owner);
    template <typename Ends> void end_holds(Ends ends);
    Result<void> agree() noexcept;
    Result<void> switch_queues(const Queues& stops, StopType type, const Queues& starts);
    Result<void> switch_queue(hip::QueueRef queue, Hold& hold);
    Result<void> note_stop(hip::QueueRef queue, const Result<void>& answer, std::uint64_t ns);
    void note_start(hip::QueueRef queue, const Result<void>& answer, std::uint64_t ns);
    void note_end(Hold& hold, const Error& error);
    void count_stop(hip::QueueRef queue, std::uint64_t ns);
    void settle();
    void notify_changed() const noexcept;

    Transport& transport_;
    const hip::Mapping* const mapping_;
    std::function<void()> changed_;
    std::atomic<std::uint32_t> num_held_{0}, num_due_{0};
    std::recursive_mutex died_mutex_; // before mutex_; that function may end the process
    Died died_;
    mutable std::mutex mutex_;
    std::map<hip::QueueRef, Hold> holds_;
    std::map<hip::QueueRef, StopCounters> counters_;
    std::uint32_t all_lifts_ = 0; // counted in the lifts of each queue
    bool shut_ = false;
};

} // namespace xpreempt::backend
