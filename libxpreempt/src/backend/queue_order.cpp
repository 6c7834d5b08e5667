// SPDX-License-Identifier: MIT
// Takes the snapshot of the queues, and applies the verdict on it.
#include "backend/queue_order.hpp"

#include "base/caller_state.hpp"
#include "base/start_thread.hpp"
#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <new>
#include <thread>

namespace xpreempt::backend {

namespace {

// The end of an edge is a signal in memory that only the GPU writes, without a notification.
constexpr auto watch_interval = std::chrono::microseconds(500);

// The order thread ends when nothing is lifted and nothing was to be copied for so long.
constexpr auto idle_interval = std::chrono::milliseconds(100);

// Between two attempts at what the driver refused: each is twice the one before.
constexpr std::chrono::milliseconds first_retry{1}, longest_retry{500};

void find_owners(order::Snapshot& snapshot, const std::vector<std::optional<order::Ring>>& rings) {
    std::set<order::Signal> wanted;
    for (const auto& queue : snapshot.queues)
        wanted.insert(queue.waits.begin(), queue.waits.end());
    for (const auto& copy : snapshot.copies)
        wanted.insert(copy.waits.begin(), copy.waits.end());
    for (const auto& copy : snapshot.copies)
        wanted.erase(copy.completion);
    for (const order::Signal signal : wanted)
        for (std::size_t i = 0; i < rings.size(); ++i) {
            const std::optional<order::Ring>& ring = rings[i];
            if (ring && ring->base != nullptr && order::completes(*ring, signal))
                snapshot.owners.push_back({signal, i});
        }
}

} // namespace

std::optional<order::Ring> ring_of(const hip::QueueRecord& queue) {
    const auto packets = static_cast<std::uint32_t>(queue.ring_bytes / order::packet_bytes);
    if (queue.queue_type != kfd::queue_type_aql || queue.hsa_queue == 0 ||
        !std::has_single_bit(packets))
        return std::nullopt;
    order::Ring ring;
    ring.base = reinterpret_cast<const std::byte*>(queue.ring_base);
    ring.packets = packets;
    // In this order: what is written between the two reads is a packet more, not fewer.
    ring.read = order::read_index(queue.hsa_queue);
    ring.write = order::write_index(queue.hsa_queue);
    return ring;
}

std::uint64_t outstanding_in(const hip::QueueRecord& queue) {
    if (queue.hsa_queue == 0)
        return 0;
    const std::uint64_t read = order::read_index(queue.hsa_queue);
    return order::write_index(queue.hsa_queue) - read;
}

std::uint64_t packets_ever_in(const hip::QueueRecord& queue) {
    const bool is_aql = queue.queue_type == kfd::queue_type_aql && queue.hsa_queue != 0;
    return is_aql ? order::write_index(queue.hsa_queue) : 0;
}

std::map<hip::QueueRef, std::int32_t> QueueOrder::priorities() const {
    const std::lock_guard lock(priorities_mutex_);
    std::map<hip::QueueRef, std::int32_t> highest;
    for (const auto& [owner, owned] : priorities_)
        if (const auto used = mapping_.queue_of(owned.stream)) {
            auto& known = highest.try_emplace(hip::ref_of(*used), owned.priority).first->second;
            known = std::max(known, owned.priority);
        }
    return highest;
}

bool QueueOrder::has_waits(hip::Stream key, std::uint64_t hsa_queue) const {
    const std::set<hip::QueueRef> in_vram = mapping_.queues_in_vram();
    for (const hip::QueueRecord& record : mapping_.busy_queues(key))
        if (const auto ring = ring_of(record); record.hsa_queue == hsa_queue && ring)
            return in_vram.contains(hip::ref_of(record)) || !order::waits_in(*ring).empty();
    return true;
}

QueueOrder::Scan QueueOrder::scan(bool want) {
    Scan found;
    if (!mapping_.available() || !holds_.any())
        return found;
    const std::set<hip::QueueRef> held = holds_.held();
    order::Snapshot snapshot;
    {
        const std::lock_guard reading(mapping_);
        const std::set<hip::QueueRef> in_vram = mapping_.queues_in_vram();
        const auto copies = copies_.lock();
        std::vector<std::optional<order::Ring>> rings;
        for (const hip::QueueRecord& record : mapping_.queues()) {
            const hip::QueueRef ref = hip::ref_of(record);
            auto ring = ring_of(record);
            found.queues.push_back(
                {record, held.contains(ref), ring ? order::outstanding(*ring) : 0, std::nullopt});
            if (ring && in_vram.contains(ref)) {
                if (want)
                    copies_.want(ref, ring->write);
                found.queues.back().unread = !copies_.substitute(ref, *ring);
            }
            snapshot.queues.push_back(
                {found.queues.back().held, 0,
                 ring ? order::waits_in(*ring) : std::vector<order::Signal>{}});
            rings.push_back(ring);
        }
        const auto copies_in_flight = mapping_.copies();
        // Priorities decide only between queues that wait.
        if (!copies_in_flight.empty() ||
            !std::ranges::all_of(snapshot.queues, &std::vector<order::Signal>::empty,
                                 &order::QueueState::waits)) {
            const auto highest = priorities();
            for (std::size_t i = 0; i < found.queues.size(); ++i)
                if (const auto known = highest.find(hip::ref_of(found.queues[i].record));
                    known != highest.end())
                    snapshot.queues[i].priority = known->second;
        }
        for (const hip::CopyRecord& copy : copies_in_flight) {
            order::CopyState state;
            // One without a stream is not the null stream's: it is outside of HIP's calls.
            const auto queue = copy.stream != nullptr
                                   ? mapping_.queue_of(const_cast<void*>(copy.stream))
                                   : fail(ENOENT, Op::map_stream);
            for (std::size_t i = 0; queue && i < found.queues.size(); ++i)
                if (hip::ref_of(found.queues[i].record) == hip::ref_of(*queue))
                    state.queue = i;
            if (state.queue != order::nobody)
                state.priority = snapshot.queues[state.queue].priority;
            for (std::uint32_t i = 0; i < copy.num_waits; ++i)
                if (order::value_of(copy.waits[i]) > 0)
                    state.waits.push_back(copy.waits[i]);
            state.completion = copy.completion;
            state.engine = copy.engine;
            snapshot.copies.push_back(std::move(state));
        }
        find_owners(snapshot, rings);
    }
    const order::Verdict verdict = order::find_waiters(snapshot);
    for (std::size_t i = 0; i < found.queues.size(); ++i)
        if (verdict.blocker[i] != order::nobody)
            found.queues[i].waits_for = found.queues[verdict.blocker[i]].record;
    found.lift = verdict.lift;
    return found;
}

std::vector<SeenQueue> QueueOrder::scan_queues() {
    return scan().queues;
}

void QueueOrder::settle_once(bool want) {
    bool changed = false;
    {
        const std::lock_guard lock(mutex_);
        if (shut_)
            return;
        const Scan found = scan(want);
        std::set<hip::QueueRef> wanted, standing;
        for (std::size_t i = 0; i < found.queues.size(); ++i) {
            const hip::QueueRef ref = hip::ref_of(found.queues[i].record);
            if (found.queues[i].stands())
                standing.insert(ref);
            if (found.lift[i])
                wanted.insert(ref);
        }
        // From here on nothing allocates: each lift is remembered.
        for (const SeenQueue& queue : found.queues)
            if (const hip::QueueRef ref = hip::ref_of(queue.record);
                wanted.contains(ref) && !lifted_.contains(ref)) {
                changed = true;
                if (!holds_.lift(queue.record))
                    wanted.erase(ref);
            }
        for (const hip::QueueRef ref : lifted_)
            if (!wanted.contains(ref)) {
                holds_.drop_lift(ref);
                changed = true;
            }
        lifted_ = std::move(wanted);
        const std::lock_guard standing_lock(standing_mutex_);
        changed |= standing != standing_;
        standing_ = std::move(standing);
        to_copy_ |= want && std::ranges::any_of(found.queues, &SeenQueue::unread);
        if (has_work())
            start_watching();
    }
    if (changed && changed_)
        changed_();
}

void QueueOrder::start_watching() {
    if (watching_) {
        wake_watcher_.notify_all();
        return;
    }
    if (watcher_.joinable())
        watcher_.join(); // it has left its loop
    auto started = start_thread("xpreempt-order", [this] { watch(); });
    if (!started)
        return; // the next settle() tries again
    watching_ = true;
    watcher_ = std::move(*started);
}

bool QueueOrder::ensure_watched() {
    const CallerState caller;
    {
        const std::lock_guard lock(mutex_);
        if (has_work() && !watching_ && !shut_)
            start_watching();
        if (watching_ || shut_)
            return true;
    }
    return !holds_.is_due() || holds_.retry();
}

void QueueOrder::ensure_repeated() {
    for (auto pause = first_retry; pause < longest_retry && !ensure_watched(); pause *= 2)
        std::this_thread::sleep_for(pause);
}

void QueueOrder::settle() {
    if (!mapping_.available())
        return;
    const CallerState caller;
    try {
        settle_once(true);
    } catch (const std::bad_alloc&) { // the order thread repeats it
        const std::lock_guard lock(mutex_);
        to_copy_ = true;
        start_watching();
    }
}

void QueueOrder::watch() {
    using Clock = std::chrono::steady_clock;
    RingCopies::Progress progress;
    auto pause = first_retry;
    auto retry_at = Clock::now() + pause;
    const auto polls = [&] { return !lifted_.empty() || progress.waiting; };
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            const auto is_due = [this] { return shut_ || to_copy_; };
            if (!progress.more && polls())
                wake_watcher_.wait_for(lock, watch_interval, is_due);
            else if (!progress.more && holds_.is_due())
                wake_watcher_.wait_until(lock, retry_at, is_due);
            else if (!progress.more)
                wake_watcher_.wait_for(lock, idle_interval, [&] {
                    return is_due() || !lifted_.empty() || holds_.is_due();
                });
            if (shut_ || (!polls() && !progress.more && !to_copy_ && !holds_.is_due())) {
                watching_ = false;
                return;
            }
            to_copy_ = false;
        }
        // Our locks aren't held here: threads of the program wait for them.
        try {
            if (holds_.is_due() && Clock::now() >= retry_at) {
                pause = holds_.retry() ? first_retry : std::min(2 * pause, longest_retry);
                retry_at = Clock::now() + pause;
            }
            progress = holds_.any() ? copies_.refresh(mapping_) : RingCopies::Progress{};
            settle_once(false);
        } catch (const std::bad_alloc&) {
            std::this_thread::sleep_for(retry);
            progress = {.more = true};
        }
        if (progress.copied && changed_)
            changed_();
    }
}

bool QueueOrder::stood(hip::QueueRef queue) const {
    const std::lock_guard lock(standing_mutex_);
    return standing_.contains(queue);
}

bool QueueOrder::lifted(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    return lifted_.contains(queue);
}

bool QueueOrder::add_owner(std::uint64_t owner, hip::Stream stream) {
    const std::lock_guard lock(priorities_mutex_);
    return priorities_.try_emplace(owner, Owned{stream, 0}).second;
}

void QueueOrder::set_priority(std::uint64_t owner, std::int32_t priority) {
    {
        const std::lock_guard lock(priorities_mutex_);
        const auto found = priorities_.find(owner);
        if (found == priorities_.end())
            return;
        found->second.priority = priority;
    }
    settle();
}

void QueueOrder::forget_owner(std::uint64_t owner) {
    const std::lock_guard lock(priorities_mutex_);
    priorities_.erase(owner);
}

void QueueOrder::shut() {
    const std::lock_guard lock(mutex_);
    shut_ = true;
    lifted_.clear();
    wake_watcher_.notify_all();
    if (watcher_.joinable())
        watcher_.detach(); // it ends, and this object is never destroyed
}

} // namespace xpreempt::backend
