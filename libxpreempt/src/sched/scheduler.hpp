// SPDX-License-Identifier: MIT
// Runs a policy over the xqueues of this process: one thread that sleeps until something happens.
#pragma once

#include "base/error.hpp"
#include "sched/policy.hpp"
#include "xqueue/xqueue.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace xpreempt::sched {

struct Statistics {
    std::uint64_t decisions = 0; // calls of the policy
    std::uint64_t suspends = 0;
    std::uint64_t resumes = 0;
    std::uint64_t failures = 0;         // of both; tried again, ever more seldom
    std::uint64_t last_reaction_ns = 0; // from the event until what must not run was suspended
    std::uint64_t max_reaction_ns = 0;
};

// Thread-safe. Its suspends are its own: those of others come on top and are left alone.
//
// Lock order: queues_mutex_, then an XQueue's, then note_mutex_. No lock is held while an XQueue is
// suspended or resumed, because that may wait for a launch callback, which may call remove() of
// another XQueue; remove() waits for what is being done with its own.
class Scheduler final : public xqueue::Observer {
public:
    explicit Scheduler(Policy& policy);
    ~Scheduler() { stop(); }
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;
    Scheduler(Scheduler&&) = delete;
    Scheduler& operator=(Scheduler&&) = delete;

    // The thread ends, and what was suspended runs again. To be called once, by one thread.
    void stop();

    // Nothing after stop().
    void add(const std::shared_ptr<xqueue::XQueue>& queue, std::uint32_t device);
    // Undoes its suspend. When it returns, the XQueue is the caller's alone.
    void remove(const xqueue::XQueue& queue);

    // Something that the policy looks at has changed.
    void note() noexcept override;

    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] Statistics statistics() const;

private:
    struct Entry {
        std::shared_ptr<xqueue::XQueue> queue;
        std::uint32_t device;
        bool suspended = false; // by us
        bool acting = false;    // somebody is in its suspend() or resume()
    };
    // The queue may be gone by then: its address is looked up, and not followed before.
    struct Action {
        const xqueue::XQueue* queue;
        Verdict verdict;
    };
    using Lock = std::unique_lock<std::mutex>;

    void work();
    std::vector<Action> decide();
    bool act(const Action& action);
    Entry* find(const xqueue::XQueue* queue);
    bool react(Time event);

    Policy& policy_;

    mutable std::mutex queues_mutex_;
    std::condition_variable acted_;
    std::vector<Entry> entries_; // sorted by device
    bool stopped_ = false;
    Statistics statistics_;

    std::mutex note_mutex_;
    std::condition_variable noted_;
    bool pending_ = false;
    bool stopping_ = false;
    Time event_{}; // of the first note that nobody has looked at

    std::thread thread_; // last: it uses everything above
};

} // namespace xpreempt::sched
