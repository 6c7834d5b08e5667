// SPDX-License-Identifier: MIT
// Each allocation of a hold or release fails once: the call reports it, and no queue stays stopped
// without an owner who knows of it.
#include "backend/holds.hpp"
#include "backend/stream_hold.hpp"
#include "backend/together.hpp"
#include "control/hold_book.hpp"
#include "sched/policies/highest_priority_first.hpp"
#include "sched/scheduler.hpp"
#include "unit/failing_allocation.hpp"
#include "unit/fake_control_host.hpp"
#include "unit/until.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <span>
#include <vector>

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return test::allocation_fails() ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
}
void* operator new(std::size_t bytes) {
    if (void* memory = operator new(bytes, std::nothrow); memory != nullptr)
        return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using namespace xpreempt;
using namespace xpreempt::backend;

constexpr std::uint32_t num_queues = 3;

// Allocates its answers after it has changed the queues, as a transport does that needs two calls
// of the driver.
class Driver final : public Transport {
public:
    [[nodiscard]] TransportKind kind() const override { return TransportKind::patched; }
    [[nodiscard]] bool can(StopType) const override { return true; }
    Result<void> stop(const hip::QueueRecord& queue, StopType) override {
        return answer(!held.at(queue.kfd_queue_id).exchange(true));
    }
    Result<void> start(const hip::QueueRecord& queue) override {
        return answer(held.at(queue.kfd_queue_id).exchange(false));
    }
    Switched switch_all(std::span<const hip::QueueRecord> stops, StopType,
                        std::span<const hip::QueueRecord> starts) override {
        Switched answers;
        for (const hip::QueueRecord& queue : stops)
            answers.stopped.push_back(stop(queue, StopType::save));
        for (const hip::QueueRecord& queue : starts)
            answers.started.push_back(start(queue));
        return answers;
    }

    std::array<std::atomic<bool>, num_queues> held{};

private:
    static Result<void> answer(bool changed) {
        return changed ? Result<void>{} : fail(EALREADY, Op::switch_queues);
    }
};

std::vector<hip::QueueRecord> make_queues() {
    std::vector<hip::QueueRecord> queues(num_queues);
    for (std::uint32_t id = 0; id < num_queues; ++id) {
        queues[id].kfd_queue_id = id;
        queues[id].generation = 1;
        queues[id].num_streams = 1;
    }
    return queues;
}
const std::vector<hip::QueueRecord> all_queues = make_queues();

class NoMemoryTest : public ::testing::Test {
protected:
    // Calls body with the first, second, ... allocation failing, until none fails.
    template <typename Body> void fail_each(Body body) {
        bool failed = true;
        for (int number = 0; failed; ++number) {
            ASSERT_LT(number, 1000);
            body(number);
            failed = failed_;
        }
    }
    // Returns whether body succeeds; false also after bad_alloc.
    template <typename Body> bool without(int number, Body body, bool all_after = false) {
        const test::FailingAllocation failing(number, all_after);
        bool succeeded = false;
        try {
            succeeded = body();
        } catch (const std::bad_alloc&) {
            succeeded = false;
        }
        failed_ = test::FailingAllocation::has_failed();
        return succeeded;
    }
    void expect_each(bool held) {
        while (!holds.retry()) {
        }
        expect_each_now(held);
    }
    void expect_each_now(bool held) {
        for (const hip::QueueRecord& queue : all_queues) {
            EXPECT_EQ(held ? 1U : 0U, holds.count(hip::ref_of(queue)));
            EXPECT_EQ(held, driver.held.at(queue.kfd_queue_id));
        }
        EXPECT_EQ(held, holds.any());
    }

    Driver driver;
    Holds holds{driver};
    int owner = 0;

private:
    bool failed_ = false;
};

TEST_F(NoMemoryTest, a_hold_that_fails_holds_nothing) {
    fail_each([&](int number) {
        const bool held = without(
            number, [&] { return holds.hold(all_queues, StopType::save, &owner).has_value(); });
        expect_each(held);
        if (held)
            holds.release(all_queues, &owner);
        expect_each(false);
    });
}

TEST_F(NoMemoryTest, a_release_ends_its_hold) {
    fail_each([&](int number) {
        ASSERT_TRUE(holds.hold(all_queues, StopType::save, &owner));
        without(number, [&] {
            holds.release(all_queues, &owner);
            return true;
        });
        expect_each(false);
    });
}

// Memory may stay away, and nothing is repeated then.
TEST_F(NoMemoryTest, no_queue_waits_for_memory_to_run) {
    const auto hold = [&] { return holds.hold(all_queues, StopType::save, &owner).has_value(); };
    const auto release = [&] {
        holds.release(all_queues, &owner);
        return true;
    };
    fail_each([&](int number) {
        ASSERT_TRUE(hold());
        without(number, release, true);
        expect_each_now(false);
        const bool held = without(number, hold, true);
        expect_each_now(held);
        release();
    });
}

TEST_F(NoMemoryTest, an_exchange_holds_or_does_not_and_releases) {
    const std::span queues(all_queues);
    const hip::QueueRef first = hip::ref_of(all_queues[0]);
    fail_each([&](int number) {
        ASSERT_TRUE(holds.hold(queues.subspan(1), StopType::save, &owner));
        without(number, [&] {
            holds.exchange(queues.first(1), queues.subspan(1), &owner);
            return true;
        });
        while (!holds.retry()) {
        }
        EXPECT_EQ(holds.count(first) == 1, driver.held[0]);
        EXPECT_FALSE(driver.held[1] || driver.held[2]);
        holds.release(all_queues, &owner);
        expect_each(false);
    });
}

TEST_F(NoMemoryTest, a_lift_that_fails_lifts_nothing) {
    fail_each([&](int number) {
        ASSERT_TRUE(holds.hold(all_queues, StopType::save, &owner));
        const bool lifted = without(number, [&] { return holds.lift(all_queues[1]); });
        while (!holds.retry()) {
        }
        EXPECT_EQ(lifted, !driver.held[1]);
        if (lifted)
            holds.drop_lift(hip::ref_of(all_queues[1]));
        expect_each(true);
        holds.release(all_queues, &owner);
        expect_each(false);
    });
}

// Lifts come from rings, at any time. The counters of a queue are dropped for those of newer ones.
TEST_F(NoMemoryTest, a_held_queue_is_lifted) {
    ASSERT_TRUE(holds.hold(all_queues[0], StopType::save, &owner));
    hip::QueueRecord newer = all_queues[1];
    while (++newer.generation < 1100) {
        ASSERT_TRUE(holds.hold(newer, StopType::save, &owner));
        holds.release(newer, &owner);
    }
    fail_each([&](int number) {
        ASSERT_TRUE(without(number, [&] { return holds.lift(all_queues[0]); })) << number;
        while (!holds.retry()) {
        }
        EXPECT_FALSE(driver.held[0]);
        holds.drop_lift(hip::ref_of(all_queues[0]));
        EXPECT_TRUE(driver.held[0]);
    });
    holds.release(all_queues[0], &owner);
    expect_each(false);
}

std::uint32_t copy_queues(hip::QueueRecord* out, std::uint32_t max) {
    std::copy_n(all_queues.begin(), std::min(max, num_queues), out);
    return num_queues;
}

// A graph is under way: the stream is on all queues.
hook::Table make_table() {
    hook::Table table{};
    table.bytes = sizeof table;
    table.stream_queue = [](const void*, hip::QueueRecord* out) {
        *out = all_queues[0];
        return 0;
    };
    table.busy_queues = [](const void*, hip::QueueRecord* out, std::uint32_t max) {
        return copy_queues(out, max);
    };
    table.birth_of = [](const void*) { return std::uint64_t{0}; };
    return table;
}

TEST_F(NoMemoryTest, a_stream_is_held_as_a_whole_or_not) {
    const hook::Table table = make_table();
    const hip::Mapping mapping(&table);
    StreamHold hold(mapping, holds, nullptr, &owner, nullptr);
    fail_each([&](int number) {
        const bool held =
            without(number, [&] { return hold.stop(StopType::save, false).has_value(); });
        EXPECT_EQ(held, hold.any());
        expect_each(held);
        ASSERT_TRUE(held || hold.stop(StopType::save, false));
        without(number, [&] {
            hold.start();
            return true;
        });
        EXPECT_FALSE(hold.any());
        expect_each(false);
    });
}

class Job final : public xqueue::Source {
public:
    Job(Holds& hardware, const hip::QueueRecord& queue, std::int32_t priority)
        : hardware_(hardware), queue_(queue), priority_(priority) {}
    [[nodiscard]] bool has_work() const override { return work; }
    [[nodiscard]] std::uint32_t holds() const override { return held_; }
    [[nodiscard]] std::int32_t priority() const override { return priority_; }
    Result<bool> stop(xqueue::Patience) override {
        const std::vector<hip::QueueRecord> queues{queue_};
        if (const auto held = hardware_.hold(queues, StopType::save, this); !held)
            return tl::make_unexpected(held.error());
        ++held_;
        return true;
    }
    void outlast() override {}
    Result<void> start(xqueue::Patience) override {
        hardware_.release(queue_, this);
        --held_;
        return {};
    }
    [[nodiscard]] std::vector<xqueue::QueueName> queues() const override {
        return names_of({queue_});
    }
    void observe(std::shared_ptr<xqueue::Observer>) override {}

    std::atomic<bool> work{true};

private:
    Holds& hardware_;
    const hip::QueueRecord queue_;
    const std::int32_t priority_;
    std::atomic<std::uint32_t> held_{0};
};

// A thread of the program reacts; that of the scheduler tries again.
TEST_F(NoMemoryTest, a_decision_is_made_later) {
    hook::Table table = make_table();
    table.queues = copy_queues;
    const hip::Mapping mapping(&table);
    KfdTogether together(mapping, holds);
    const auto scheduler =
        sched::Scheduler::make(sched::by(sched::HighestPriorityFirst{}), &together);
    std::vector<std::shared_ptr<Job>> jobs;
    for (std::uint32_t id = 0; id < num_queues; ++id) {
        jobs.push_back(std::make_shared<Job>(holds, all_queues[id], id == 0 ? 1 : 0));
        scheduler->add(jobs.back(), 0);
    }
    fail_each([&](int number) {
        jobs[0]->work = true;
        without(number, [&] {
            scheduler->react();
            return true;
        });
        test::until([&] { return driver.held[1] && driver.held[2]; });
        jobs[0]->work = false;
        scheduler->changed();
        test::until([&] { return !holds.any(); });
        EXPECT_FALSE(driver.held[1] || driver.held[2]);
    });
    scheduler->stop();
}

// New jobs need room, and the old ones may be all that there is when the policy is asked again.
TEST_F(NoMemoryTest, a_policy_decides_afterwards) {
    std::vector<sched::JobView> jobs(100);
    for (std::size_t i = 0; i < jobs.size(); ++i)
        jobs[i] = {.id = i + 1, .nodes = 1, .priority = static_cast<int>(i), .ready = true};
    fail_each([&](int number) {
        for (const std::size_t then : {jobs.size(), std::size_t{1}}) {
            sched::HighestPriorityFirst policy;
            std::vector<sched::Verdict> verdicts(jobs.size());
            const auto decide = [&](std::size_t count) {
                (void)sched::decide_by(policy, {sched::Time{}, std::span(jobs).first(count)},
                                       std::span(verdicts).first(count));
                return true;
            };
            decide(1);
            without(number, [&] { return decide(jobs.size()); });
            decide(then);
            EXPECT_EQ(sched::Verdict::run, verdicts[then - 1]);
            EXPECT_EQ(static_cast<std::ptrdiff_t>(then) - 1,
                      std::ranges::count(std::span(verdicts).first(then), sched::Verdict::hold));
        }
    });
}

// A client's hold is in the book, or there is none.
TEST_F(NoMemoryTest, a_hold_of_the_socket_is_in_the_book) {
    test::FakeControlHost host;
    control::HoldBook book(host);
    constexpr control::Owner client{7, 1, 1};
    const auto target = test::target(control::wire::Object::stream, "low");
    fail_each([&](int number) {
        without(number, [&] {
            (void)book.serve(client, {control::wire::Kind::suspend, 0, target});
            return true;
        });
        EXPECT_EQ(book.holds_any(client.connection) ? 1U : 0U,
                  host.holds(control::wire::Object::stream, 0x1000));
        book.release_all();
    });
}

} // namespace
