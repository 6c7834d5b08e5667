// SPDX-License-Identifier: MIT
// Tracks which queues are held, which are blocked on a held queue, and which held queues must run
// to unblock a higher priority.
#pragma once

#include "backend/holds.hpp"
#include "backend/ring_copies.hpp"
#include "hip/mapping.hpp"
#include "order/find_waiters.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace xpreempt::backend {

// One queue as a scan found it.
struct SeenQueue {
    hip::QueueRecord record{};
    bool held = false;
    std::uint64_t outstanding = 0; // packets that weren't taken out
    std::optional<hip::QueueRecord>
        waits_for; // held queue that it, or what is before it, waits for
    // Its ring is in VRAM, and packets that may be edges aren't copied yet. Counts as a queue that
    // waits for some held one, until the order thread has read them: microseconds for each packet.
    bool unread = false;
    [[nodiscard]] bool stands() const { return held || waits_for || unread; }
};

// The ring in the memory that the host gave to KFD, with its indices. None if it isn't an HSA
// queue, or if its memory isn't what we take it for. The queue must not be destroyed meanwhile.
std::optional<order::Ring> ring_of(const hip::QueueRecord& queue);

// Packets that weren't taken out of the queue. It must not be destroyed meanwhile.
std::uint64_t outstanding_in(const hip::QueueRecord& queue);

// Packets that were ever reserved in the queue; 0 if it is no AQL queue. Likewise.
std::uint64_t packets_ever_in(const hip::QueueRecord& queue);

class QueueOrder {
public:
    QueueOrder(const hip::Mapping& mapping, Holds& holds) : mapping_(mapping), holds_(holds) {}

    // Reads the rings, of those in VRAM the copies. Returns nothing while no queue is held.
    std::vector<SeenQueue> scan_queues();

    // After a call that may have made an edge, or after holds changed: lifts and holds again as the
    // rings now tell. The order thread repeats that while something is lifted, and when it has
    // copied packets of rings in VRAM, and repeats the calls that the driver refused
    // (Holds::retry()); it is started here and ends by itself.
    void settle();

    // Starts the order thread if an earlier attempt failed, for a thread that waits for its work.
    // At the limit of threads the caller's own thread repeats the calls that the driver refused.
    // Returns false if the driver refuses one again.
    bool ensure_watched();
    // The same after holds changed: at the limit of threads it does so for half a second at most.
    // Then it is left to the calls of HIP that meet the queue.
    void ensure_repeated();

    // As the last settle() found it: without a scan of the rings.
    [[nodiscard]] bool stood(hip::QueueRef queue) const;

    // Returns true if a packet of the queue, one of the stream's, may wait for another queue. The
    // queue must not be destroyed meanwhile.
    [[nodiscard]] bool has_waits(hip::Stream key, std::uint64_t hsa_queue) const;

    // The queue runs now to unblock a higher priority.
    [[nodiscard]] bool lifted(hip::QueueRef queue) const;

    // A stream has the highest priority of its owners, or 0. add_owner() refuses a known owner.
    bool add_owner(std::uint64_t owner, hip::Stream stream);
    void set_priority(std::uint64_t owner, std::int32_t priority);
    void forget_owner(std::uint64_t owner);

    // Called without a lock after lifts or stopped queues changed. Set once, before the first hold.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

    // For the end of the process: nothing is lifted or held again from here.
    void shut();

private:
    struct Scan {
        std::vector<SeenQueue> queues;
        std::vector<bool> lift;
    };
    // want: all packets that there are now may be edges.
    Scan scan(bool want = false);
    // The highest of each queue's streams; queues of streams without an owner are left out.
    [[nodiscard]] std::map<hip::QueueRef, std::int32_t> priorities() const;
    void settle_once(bool want);
    void watch();
    [[nodiscard]] bool has_work() const { return !lifted_.empty() || to_copy_ || holds_.is_due(); }
    void start_watching();

    const hip::Mapping& mapping_;
    Holds& holds_;
    std::function<void()> changed_;

    struct Owned {
        hip::Stream stream;
        std::int32_t priority;
    };
    mutable std::mutex priorities_mutex_;
    std::map<std::uint64_t, Owned> priorities_;

    mutable std::mutex standing_mutex_;
    std::set<hip::QueueRef> standing_;

    RingCopies copies_;

    mutable std::mutex mutex_; // all below; before the others here and those of Holds
    std::set<hip::QueueRef> lifted_;
    std::condition_variable wake_watcher_;
    bool watching_ = false;
    bool to_copy_ = false; // wakes the order thread
    bool shut_ = false;
    std::thread watcher_;
};

} // namespace xpreempt::backend
