// SPDX-License-Identifier: MIT
// Work that a program puts into a stream by itself, not as commands of an xqueue: seen by the gate,
// and kept back there while the stream is withheld.
#pragma once

#include "hip/mapping.hpp"
#include "xqueue/hw_queue.hpp"
#include "xqueue/source.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace xpreempt::backend {

// The direct calls of one stream. Thread-safe.
class DirectCalls : public std::enable_shared_from_this<DirectCalls> {
public:
    // Puts a marker behind what is in the stream.
    using Mark = std::function<Result<std::shared_ptr<xqueue::Marker>>()>;
    // Called when the calls of the stream begin or cease to be of interest.
    using Interest = std::function<void(bool)>;
    DirectCalls(Mark mark, Interest interest)
        : mark_(std::move(mark)), interest_(std::move(interest)) {}
    ~DirectCalls();
    DirectCalls(const DirectCalls&) = delete;
    DirectCalls& operator=(const DirectCalls&) = delete;

    // Stops the stream's queue, so that a call can be made and nothing of it runs.
    class Stopper {
    public:
        virtual bool stop() = 0; // false: it can't be stopped now
        virtual void start() = 0;

    protected:
        ~Stopper() = default;
    };

    // Until as many admit(), callers wait before their call. A call that has begun continues. The
    // thread that withholds would wait for itself: with a stopper, its first call stops the queue,
    // and calls are made from then on. The stopper must live until the admit().
    void withhold(Stopper* stopper = nullptr);
    void admit();

    // From here on no more than threshold calls are under way on the GPU, of which every batch-th
    // gets a marker behind it: further callers wait before their call. threshold 0: any number.
    void pace(std::uint32_t threshold, std::uint32_t batch);

    // The stream's queue is stopped: its work doesn't complete, and gets no marker behind it.
    void stands(bool standing);

    // nullptr: no observer any more. Otherwise a thread that ends by itself waits for the work.
    void observe(std::shared_ptr<xqueue::Observer> observer);

    // Returns true while a call is in progress or blocked. With an observer, also while work of an
    // earlier call may be unfinished.
    [[nodiscard]] bool has_work() const;
    [[nodiscard]] std::uint32_t waiters() const;

    // Around each call, in the program's threads. will_wait: the caller may be made to. before()
    // returns whether it was.
    bool before(bool will_wait);
    void after();

    // Around a call that destroys the stream.
    void begin_destroy();
    void end_destroy(bool destroyed);

    // For the end of the process: all callers continue. Then, when all queues run, until no thread
    // of ours is in HIP, which goes down.
    void shut();
    void join();
    // After shut(): waits until no call is in progress. Returns false at the deadline.
    bool wait_for_calls(std::chrono::steady_clock::time_point deadline);

private:
    using Lock = std::unique_lock<std::mutex>;

    struct Marked {
        std::shared_ptr<xqueue::Marker> marker;
        std::uint32_t calls; // before it, and behind the one before
    };

    // Without the thread nothing would find out that the work has ended.
    [[nodiscard]] bool works() const { return (work_ && (watching_ || gone_)) || calls_ > 0; }
    bool stop_instead(Lock& lock);
    void report_work(Lock& lock, bool reacts);
    Result<std::shared_ptr<xqueue::Marker>> mark(Lock& lock);
    void place_marker(Lock& lock);
    void wait_marked(Lock& lock);
    void show_interest(Lock& lock);
    void start_watching();
    void watch();
    void watch_once(Lock& lock);

    const Mark mark_;
    const Interest interest_;

    mutable std::mutex mutex_; // all below
    std::condition_variable changed_;
    std::shared_ptr<xqueue::Observer> observer_;
    std::uint64_t made_ = 0;    // calls that have put work into the stream
    std::uint32_t calls_ = 0;   // in progress, including those that are kept back
    std::uint32_t waiters_ = 0; // kept back
    std::uint32_t withheld_ = 0;
    Stopper* stopper_ = nullptr;              // while withheld
    std::thread::id withholder_;              // the thread that brought it
    bool stopping_ = false;                   // a thread is in the stopper
    bool stopped_ = false;                    // by it
    bool warned_ = false;                     // that it cannot stop the queue
    std::uint32_t threshold_ = 0, batch_ = 0; // 0: not paced
    std::list<Marked> markers_;               // of paced calls, oldest first
    std::uint32_t in_flight_ = 0;             // paced calls that aren't known to be complete
    std::uint32_t unmarked_ = 0;              // of these, behind the last marker
    bool work_ = false;                       // not known to be complete
    bool reported_work_ = false;              // what the observer knows
    bool standing_ = false;
    bool watching_ = false;                               // there is a thread
    std::chrono::steady_clock::time_point last_marked_{}; // by it
    std::uint32_t marking_ = 0; // threads that are about to put a marker into the stream
    bool gone_ = false;         // the stream is, or is about to be
    bool shut_ = false;
    bool interesting_ = false;
};

// The observed streams. Thread-safe.
class DirectStreams {
public:
    // key: hip::Mapping::key_of(). One for all who ask while one of them keeps it.
    std::shared_ptr<DirectCalls> of(hip::Stream key, DirectCalls::Mark mark);

    // nullptr: no observer.
    [[nodiscard]] std::shared_ptr<DirectCalls> find(const void* key) const;
    [[nodiscard]] bool any() const { return interesting_.load(std::memory_order_relaxed) != 0; }
    // Changes when find() may answer otherwise.
    [[nodiscard]] std::uint64_t generation() const {
        return generation_.load(std::memory_order_acquire);
    }

    // The stream is destroyed: another one may have its key.
    void forget(const void* key);
    // Around a call that may destroy several streams. begin_reset() returns the observed ones of
    // these, for end_reset(). Both ask without a lock.
    struct Known {
        const void* key; // null: it was destroyed
        std::weak_ptr<DirectCalls> calls;
    };
    using AskKey = std::function<bool(const void* key)>;
    std::vector<Known> begin_reset(const AskKey& may_be_destroyed);
    void end_reset(const std::vector<Known>& streams, const AskKey& is_destroyed);

    // Called when any() changes. Set once, before the first of().
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

    // As of each stream.
    void shut();
    void join();
    bool wait_for_calls(std::chrono::steady_clock::time_point deadline);

private:
    [[nodiscard]] std::vector<std::shared_ptr<DirectCalls>> all() const;

    mutable std::mutex mutex_;
    std::vector<Known> known_;
    std::atomic<std::uint64_t> generation_{1};
    std::atomic<std::uint32_t> interesting_{0};
    std::function<void()> changed_;
};

} // namespace xpreempt::backend
