// SPDX-License-Identifier: MIT
// Runs a policy over the sources of this process.
#pragma once

#include "base/error.hpp"
#include "sched/snapshot.hpp"
#include "sched/switch_cost.hpp"
#include "xqueue/source.hpp"
#include "xqueue/together.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace xpreempt::sched {

using xqueue::Patience;
using xqueue::Source;

struct Statistics {
    std::uint64_t decisions = 0; // calls of the policy
    std::uint64_t suspends = 0;
    std::uint64_t resumes = 0;
    std::uint64_t failures = 0;         // of both; tried again, ever more seldom
    std::uint64_t last_reaction_ns = 0; // from the event until what must not run was suspended
    std::uint64_t max_reaction_ns = 0;
};

// Names a source for policies of the program.
struct SourceName {
    // NOLINTNEXTLINE(google-explicit-constructor): most have a device only
    SourceName(std::uint32_t of_device = 0, std::uint64_t of_xqueue = 0, void* of_stream = nullptr)
        : device(of_device), xqueue(of_xqueue), stream(of_stream) {}

    std::uint32_t device;
    std::uint64_t xqueue;
    void* stream;
};

// Makes the decisions of a scheduler: a policy, or a function of the program. `names` has one name
// for each job, and names of one device are neighbours. Every verdict is Verdict::run before the
// call. Called by one thread at a time.
using Decide = std::function<Time(const Snapshot& snapshot, std::span<const SourceName> names,
                                  std::span<Verdict> verdicts)>;
// A template, so that only the policies that are used are linked.
template <class Policy> [[nodiscard]] Decide by(Policy policy) {
    return [policy = std::move(policy)](const Snapshot& snapshot, std::span<const SourceName>,
                                        std::span<Verdict> verdicts) mutable {
        return decide_by(policy, snapshot, verdicts);
    };
}

// Thread-safe. Its suspends are its own: those of others come on top and are left alone.
//
// The thread that reports an event decides and acts at once, in react(), and waits for nothing but
// the hardware. The scheduler's thread does the rest: it waits for launches in progress, retries
// what the hardware refused, and handles events that a lock kept react() from handling.
//
// Lock order: sources_mutex_, then a source's, then note_mutex_. No lock is held while a source is
// stopped or started, because that may wait for a launch callback, which may call remove() of
// another one; remove() waits for the action in progress on its own source. If two decisions
// overlap, the later one wins: actions that it doesn't want are skipped.
class Scheduler final : public xqueue::Observer, public std::enable_shared_from_this<Scheduler> {
public:
    // together: by which several sources change at once; null: one by one. It must outlive this.
    static std::shared_ptr<Scheduler> make(Decide decide, xqueue::Together* together = nullptr) {
        return std::shared_ptr<Scheduler>(new Scheduler(std::move(decide), together));
    }
    ~Scheduler() { stop(); }
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // The thread ends, and what was suspended runs again. To be called before the last reference
    // goes; who comes second does nothing.
    void stop();

    // Nothing after stop().
    void add(const std::shared_ptr<Source>& source, const SourceName& name);
    // Undoes its suspend. When it returns, the source is the caller's alone.
    void remove(const Source& source);

    // Something else that the policy reads has changed. Takes effect before it returns, but for
    // what takes patience.
    void changed() noexcept {
        note(true);
        react();
    }

    void note(bool will_react) noexcept override;
    void note_hold() noexcept override;
    void react() noexcept override;

    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] Statistics statistics() const;

private:
    struct Entry {
        std::shared_ptr<Source> source;
        SourceName name;
        JobView job;                   // as of the last decision
        Verdict wanted = Verdict::run; // by the last decision
        bool suspended = false;        // by us
        bool acting = false;           // a thread is in its stop() or start()
        bool skipped = false;          // and a decision left it alone for that
        bool unfinished = false;       // stopped, and outlast() is due
    };
    // The source may be gone by then: its address is looked up, and not followed before.
    struct Action {
        const Source* source;
        Verdict verdict;
    };
    enum class Outcome : std::uint8_t {
        nothing, // no action was left, or none that reaches the hardware
        done,
        again, // something was decided meanwhile that couldn't be done
        refused,
        takes_patience,
    };
    using Lock = std::unique_lock<std::mutex>;
    using Actions = std::vector<Action>;
    using Part = std::span<const Action>;

    Scheduler(Decide decide, xqueue::Together* together);
    void work();
    void call_again(Time now, Time when);
    bool await_news(Lock& lock, Time attempt);
    Actions decide();
    static void refresh(Entry& entry, Time now);
    std::uint64_t node_of(std::uint32_t device);
    Outcome act(const Action& action, Patience patience);
    Entry* find(const Source* source);
    static bool let_go(Entry& entry);
    Outcome act_all(Part actions, Patience patience);
    std::vector<xqueue::QueueName> queues_of(Part actions);
    void note_reaction(Time event);
    void note_cost(bool stops, Time called);
    Outcome react_to(Time event, Patience patience);
    Outcome react_at_once(Time event);
    void outlast_all();

    const Decide decide_;
    xqueue::Together* const together_;

    mutable std::mutex sources_mutex_;
    std::condition_variable acted_;
    std::vector<Entry> entries_;         // sorted by device
    std::vector<std::uint32_t> devices_; // by number of the node
    std::uint64_t last_id_ = 0;
    bool stopped_ = false;
    SwitchCost cost_;
    Statistics statistics_;

    std::mutex note_mutex_;
    std::condition_variable noted_;
    bool pending_ = false; // event_ has not been handled
    bool wake_ = false;
    bool stopping_ = false;
    Time event_{};              // of the first note
    Time next_ = at_next_event; // when the policy wants to be called again

    std::thread thread_; // last: it uses everything above
};

} // namespace xpreempt::sched
