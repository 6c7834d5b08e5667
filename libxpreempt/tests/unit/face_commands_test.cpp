// SPDX-License-Identifier: MIT
// Callables as commands of the C++ face: which ones, how long they live, and what they throw.
#include "unit/face_fixture.hpp"
#include "unit/leaks.hpp"
#include "unit/until.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

extern "C" {
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamEndCapture(void* stream, void** graph);
}

namespace {

using test::errc_of;
using test::must;
using test::until;
using namespace xpreempt;

enum FakeError { success = 0, illegal_address = 700 }; // as hipError_t
enum class Scoped { zero };

// The forms of callables.
template <typename Function> constexpr bool accepted = LaunchCallable<Function>;
static_assert(accepted<int (*)(void*)> && accepted<void (*)()>);
static_assert(accepted<decltype([](ihipStream_t*) { return success; })>);
static_assert(accepted<decltype([](StreamRef) {})>);
static_assert(
    accepted<decltype([](auto stream) { return hipMemsetAsync(nullptr, 0, 4, stream); })>);
static_assert(accepted<decltype([moved = std::unique_ptr<int>()](void*) { return 0; })>);
static_assert(!accepted<decltype([](void*) { return true; })>);
static_assert(!accepted<decltype([](void*) { return 0L; })>);
static_assert(!accepted<decltype([](void*) { return Scoped::zero; })>);
static_assert(!accepted<decltype([](void*, void*) { return 0; })>);
static_assert(!accepted<decltype([](int) { return 0; })>);
// Without memory.
static_assert(detail::PackedCallable<decltype([](void*) noexcept {})>);
static_assert(detail::PackedCallable<int (*)(void*) noexcept>);
static_assert(!detail::PackedCallable<decltype([](void*) {})>);

// Counts the living, and the allocations of those that didn't fit.
struct Counted {
    explicit Counted(std::atomic<int>& count) : living(&count) { ++*living; }
    Counted(const Counted& other) : living(other.living) { ++*living; }
    Counted(Counted&& other) noexcept : living(other.living) { ++*living; }
    Counted& operator=(const Counted&) = delete;
    Counted& operator=(Counted&&) = delete;
    ~Counted() { --*living; }
    std::atomic<int>* living;
};

class FaceCommandsTest : public test::FaceTest {
protected:
    [[nodiscard]] auto counted() {
        return
            [one = Counted(living)](void* given) { return hipMemsetAsync(nullptr, 0, 4, given); };
    }
    // The work of the stream doesn't end until then.
    void begin_long_work() {
        fake_hip()->running[0] = stream.get();
        fake_hip()->unfinished = true;
    }
    static void end_long_work() {
        fake_hip()->unfinished = false;
        fake_hip()->running[0] = nullptr;
    }

    std::atomic<int> living{0};
    StreamRef stream = new_stream();
    XQueue xqueue = must(XQueue::create(stream));
};

// Then the xqueue stays, and nobody is left who could free them.
TEST_F(FaceCommandsTest, callables_outlive_an_xqueue_that_ends_in_a_capture) {
    test::leaks_are_meant = true;
    const xp_xqueue_t handle = xqueue.get();
    must(xqueue.suspend());
    must(xqueue.submit(counted()));
    ASSERT_EQ(0, hipStreamBeginCapture(stream.get(), 0));
    {
        const XQueue ends = std::move(xqueue);
    }
    EXPECT_EQ(1, living);
    ASSERT_EQ(0, hipStreamEndCapture(stream.get(), nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(handle));
}

TEST_F(FaceCommandsTest, a_callable_is_called_with_the_stream_in_the_type_that_it_takes) {
    std::vector<void*> seen;
    must(xqueue.submit([&](void* given) { seen.push_back(given); }));
    must(xqueue.submit([&](ihipStream_t* given) {
        seen.push_back(given);
        return success;
    }));
    must(xqueue.submit([&](StreamRef given) { seen.push_back(given.get()); }));
    must(xqueue.submit([&](auto given) {
        seen.push_back(given);
        return 0;
    }));
    must(xqueue.submit([&] { seen.push_back(stream.get()); }));
    must(xqueue.submit([&](void* given) noexcept { seen.push_back(given); }));
    EXPECT_EQ(std::vector<void*>(6, stream.get()), seen);
}

TEST_F(FaceCommandsTest, a_packed_callable_keeps_what_it_captured) {
    static void* seen = nullptr;
    const char letters[] = "abc";
    const auto small = [letter = &letters[1]](void*) noexcept { seen = const_cast<char*>(letter); };
    static_assert(detail::PackedCallable<std::decay_t<decltype(small)>>);
    must(xqueue.suspend());
    const std::uint64_t ticket = must(xqueue.submit(small));
    must(xqueue.resume());
    must(xqueue.wait(ticket));
    EXPECT_EQ(&letters[1], seen);
}

TEST_F(FaceCommandsTest, the_c_forms_of_submit_exist_as_well) {
    int calls = 0;
    const xp_launch_fn count = [](void*, void* argument) {
        return ++*static_cast<int*>(argument), 0;
    };
    must(xqueue.submit(count, &calls));
    xp_command command = XP_COMMAND_INIT;
    command.launch = count;
    command.argument = &calls;
    must(xqueue.submit(command));
    EXPECT_EQ(2, calls);
}

TEST_F(FaceCommandsTest, a_callable_lives_until_its_command_has_completed) {
    begin_long_work();
    const std::uint64_t ticket = must(xqueue.submit(counted()));
    EXPECT_EQ(1U, must(xqueue.get_stats()).launched);
    EXPECT_EQ(std::errc::timed_out, errc_of(xqueue.wait_for(ticket, std::chrono::seconds(-1))));
    EXPECT_EQ(1, living);
    end_long_work();
    must(xqueue.wait(ticket));
    EXPECT_EQ(0, living);
}

TEST_F(FaceCommandsTest, a_wait_destroys_the_callables_of_all_commands_before) {
    must(xqueue.submit(counted()));
    const std::uint64_t second = must(xqueue.submit(counted()));
    const std::uint64_t third = must(xqueue.submit(counted()));
    must(xqueue.wait(second));
    EXPECT_LE(living, 1); // the marker of the second may count the third as well
    must(xqueue.wait_for(third, std::chrono::hours(1)));
    EXPECT_EQ(0, living);
    must(xqueue.submit(counted()));
    must(xqueue.wait_all());
    EXPECT_EQ(0, living);
}

TEST_F(FaceCommandsTest, a_drop_destroys_the_callables_of_dropped_commands_and_no_others) {
    begin_long_work();
    must(xqueue.set_max_level(XP_LEVEL_BLOCK));
    const std::uint64_t launched = must(xqueue.submit(counted()));
    must(xqueue.suspend());
    const std::uint64_t waits = must(xqueue.submit(counted()));
    must(xqueue.submit(counted()));
    EXPECT_EQ(3, living);
    EXPECT_EQ(2U, must(xqueue.drop()));
    EXPECT_EQ(1, living);
    EXPECT_EQ(std::errc::operation_canceled, errc_of(xqueue.wait(waits)));
    must(xqueue.resume());
    end_long_work();
    must(xqueue.wait(launched));
    EXPECT_EQ(0, living);
    EXPECT_EQ(0U, must(xqueue.drop()));
}

TEST_F(FaceCommandsTest, close_launches_what_waits_and_then_destroys_the_callables) {
    bool called = false;
    must(xqueue.suspend());
    must(xqueue.submit([&, one = Counted(living)] { called = true; }));
    must(xqueue.close());
    EXPECT_TRUE(called);
    EXPECT_EQ(0, living);
}

TEST_F(FaceCommandsTest, the_end_of_an_xqueue_destroys_the_callables) {
    {
        XQueue other = must(XQueue::create(new_stream()));
        must(other.suspend());
        must(other.submit(counted()));
        must(other.submit(counted()));
        must(other.drop());
        must(other.submit(counted()));
        EXPECT_EQ(1, living);
    }
    EXPECT_EQ(0, living);
}

// In the thread of the owner's next call, and not where the drop holds a lock.
TEST_F(FaceCommandsTest, a_callable_that_c_code_drops_is_destroyed_by_the_next_call) {
    must(xqueue.suspend());
    must(xqueue.submit(counted()));
    ASSERT_EQ(0, xp_xqueue_drop(xqueue.get(), nullptr));
    EXPECT_EQ(1, living);
    must(xqueue.drop());
    EXPECT_EQ(0, living);
}

TEST_F(FaceCommandsTest, a_callable_whose_submit_fails_is_destroyed) {
    EXPECT_EQ(std::errc::invalid_argument, errc_of(xqueue.submit(counted(), 0x80)));
    EXPECT_EQ(0, living);
    EXPECT_EQ(std::errc::operation_not_permitted,
              errc_of(xqueue.submit([one = Counted(living)] { return -EPERM; })));
    EXPECT_EQ(0, living);
}

TEST_F(FaceCommandsTest, a_program_that_never_waits_has_few_callables) {
    int most = 0;
    for (int i = 0; i < 20000; ++i) {
        must(xqueue.submit(counted()));
        most = std::max(most, living.load());
    }
    EXPECT_LE(most, 200);
}

TEST_F(FaceCommandsTest, callables_that_fail_in_the_xqueues_thread_are_destroyed) {
    int most = 0;
    for (std::uint64_t submitted = 20; submitted <= 1000; submitted += 20) {
        {
            const Suspended suspended = must(Suspended::suspend(xqueue));
            for (int i = 0; i < 20; ++i)
                must(xqueue.submit([one = Counted(living)] { return -EPERM; }));
        }
        until([&] { return must(xqueue.get_stats()).launch_failures == submitted; });
        most = std::max(most, living.load());
    }
    EXPECT_LE(most, 200);
}

TEST_F(FaceCommandsTest, a_callable_larger_than_a_slot_is_allocated_and_a_small_one_is_not) {
    static std::atomic<int> allocations{0};
    struct Small {
        std::array<char, 64> bytes;
        int operator()(void*) const { return bytes[0]; }
        static void* operator new(std::size_t bytes) {
            return ++allocations, ::operator new(bytes);
        }
        static void operator delete(void* memory) { ::operator delete(memory); }
    };
    struct Large : Small {
        std::array<char, 8> more;
    };
    must(xqueue.submit(Small{}));
    EXPECT_EQ(0, allocations);
    must(xqueue.submit(Large{}));
    EXPECT_EQ(1, allocations);
    must(xqueue.wait_all());
}

TEST_F(FaceCommandsTest, an_exception_is_the_error_of_the_submit_that_launched) {
    const auto failed = xqueue.submit(
        [one = Counted(living)]() -> int { throw std::runtime_error("no kernel of that name"); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error(), std::errc::io_error);
    EXPECT_TRUE(contains(failed.error().detail(), "no kernel of that name"))
        << failed.error().detail();
    EXPECT_EQ(0, living);
    must(xqueue.wait(must(xqueue.submit(counted()))));
}

TEST_F(FaceCommandsTest, an_exception_in_the_xqueues_thread_is_the_error_of_the_wait) {
    must(xqueue.suspend());
    const std::uint64_t first = must(xqueue.submit([] { throw std::runtime_error("first"); }));
    const std::uint64_t second = must(xqueue.submit([] { throw 2; }));
    const std::uint64_t third = must(xqueue.submit(counted()));
    must(xqueue.resume());
    must(xqueue.wait(third));
    for (const auto& [ticket, text] :
         {std::pair(first, "threw: first"), {second, "threw: an ob"}}) {
        const auto failed = xqueue.wait(ticket);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error(), std::errc::io_error);
        EXPECT_TRUE(contains(failed.error().detail(), text)) << failed.error().detail();
    }
}

TEST_F(FaceCommandsTest, a_callable_that_throws_when_it_is_moved_in_is_not_submitted) {
    struct Throws {
        explicit Throws(std::atomic<int>& count) : one(count) {}
        Throws(const Throws& other) : one(other.one) { throw std::length_error("copied"); }
        int operator()(void*) const { return 0; }
        Counted one;
    };
    const Throws function(living);
    EXPECT_THROW((void)xqueue.submit(function), std::length_error);
    EXPECT_EQ(1, living);
    EXPECT_EQ(0U, must(xqueue.get_stats()).submitted);
    must(xqueue.submit(counted()));
}

TEST_F(FaceCommandsTest, a_callable_may_submit_to_its_own_xqueue) {
    std::atomic<int> calls{0};
    must(xqueue.submit(
        [&, one = Counted(living)] { (void)xqueue.submit([&, another = one] { ++calls; }); }));
    must(xqueue.wait_all());
    must(xqueue.wait_all()); // the ticket of the second one is known by now
    EXPECT_EQ(1, calls);
    EXPECT_EQ(0, living);
}

// Three streams, so that the first shares its queue and only commands with flags are taken back.
class FaceTakenBackTest : public FaceCommandsTest {
protected:
    FaceTakenBackTest() {
        new_stream();
        new_stream();
    }
    auto counting() {
        return [this, one = Counted(living)](void* given) {
            ++calls;
            return hipMemsetAsync(nullptr, 0, 4, given);
        };
    }
    int calls = 0;
};

TEST_F(FaceTakenBackTest, a_callable_with_a_flag_lives_until_it_was_called_for_the_last_time) {
    begin_long_work();
    const std::uint64_t ticket = must(xqueue.submit(counting(), XP_COMMAND_IDEMPOTENT));
    EXPECT_EQ(XP_LEVEL_DEACTIVATE, must(xqueue.suspend()));
    EXPECT_EQ(1, calls);
    EXPECT_EQ(1, living);
    end_long_work();
    must(xqueue.resume());
    must(xqueue.wait(ticket));
    EXPECT_EQ(2, calls);
    EXPECT_EQ(0, living);
}

TEST_F(FaceTakenBackTest, a_callable_that_was_taken_back_is_destroyed_when_it_is_dropped) {
    begin_long_work();
    const std::uint64_t plain = must(xqueue.submit(counting()));
    must(xqueue.submit(counting(), XP_COMMAND_IDEMPOTENT));
    must(xqueue.submit(counting(), XP_COMMAND_IDEMPOTENT));
    EXPECT_EQ(XP_LEVEL_DEACTIVATE, must(xqueue.suspend()));
    must(xqueue.submit(counting(), XP_COMMAND_IDEMPOTENT));
    EXPECT_EQ(4, living);
    EXPECT_EQ(3U, must(xqueue.drop()));
    EXPECT_EQ(1, living);
    must(xqueue.resume());
    end_long_work();
    must(xqueue.wait(plain));
    EXPECT_EQ(3, calls);
    EXPECT_EQ(0, living);
}

TEST_F(FaceTakenBackTest, a_callable_with_a_flag_is_not_dropped_while_it_is_in_flight) {
    begin_long_work();
    const std::uint64_t ticket = must(xqueue.submit(counting(), XP_COMMAND_IDEMPOTENT));
    EXPECT_EQ(0U, must(xqueue.drop()));
    EXPECT_EQ(1, living);
    end_long_work();
    must(xqueue.wait(ticket));
    EXPECT_EQ(0, living);
}

TEST_F(FaceTakenBackTest, a_guardian_is_to_be_had_in_a_callable_only) {
    EXPECT_EQ(std::errc::invalid_argument, errc_of(guardian_of_launch()));
    bool guarded = false;
    must(xqueue.submit(
        [&] {
            const auto guardian = guardian_of_launch();
            guarded = guardian && guardian->decision != nullptr;
        },
        XP_COMMAND_GUARDED));
    EXPECT_TRUE(guarded);
    must(xqueue.wait_all());
}

TEST_F(FaceCommandsTest, an_xqueue_that_is_destroyed_in_its_own_launch_keeps_its_callables) {
    // The program's mistake: the xqueue is left behind and still needs its callables.
    static std::atomic<int> left{0};
    static XQueue* own = new XQueue(must(XQueue::create(new_stream())));
    std::atomic<int> answer{0};
    must(own->submit([&answer, one = Counted(left)] {
        answer = static_cast<int>(errc_of(own->close()));
        delete own;
    }));
    EXPECT_EQ(EDEADLK, answer);
}

// To be run with the sanitizers: submits, drops, waits and suspends of several threads.
TEST_F(FaceCommandsTest, threads_submit_drop_wait_and_suspend_as_they_like) {
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> newest{0};
    const auto submits = [&] {
        for (int i = 0; i < 3000; ++i)
            newest = must(xqueue.submit(counted(), i % 3 == 0 ? XP_COMMAND_IDEMPOTENT : 0U));
    };
    std::thread drops([&] {
        while (!over) {
            const Suspended suspended = must(Suspended::suspend(xqueue));
            std::this_thread::yield();
            must(xqueue.drop());
        }
    });
    std::thread waits([&] {
        while (!over)
            if (const std::uint64_t ticket = newest; ticket != 0)
                (void)xqueue.wait(ticket);
    });
    std::thread one(submits), other(submits);
    one.join();
    other.join();
    over = true;
    drops.join();
    waits.join();
    must(xqueue.drop());
    must(xqueue.wait_all());
    EXPECT_EQ(0, living);
    EXPECT_EQ(6000U, must(xqueue.get_stats()).submitted);
}

TEST_F(FaceCommandsTest, a_notice_is_called_once_and_destroyed) {
    std::atomic<int> told{0};
    const auto note = [&, one = Counted(living)](const Expected<void>& answer) {
        told = answer ? 1 : answer.error().errno_value();
    };
    EXPECT_EQ(1, living);
    must(xqueue.notify(must(xqueue.submit([](void*) noexcept {})), note));
    until([&] { return told == 1 && living == 1; });
    must(xqueue.suspend());
    must(xqueue.notify(must(xqueue.submit([](void*) noexcept {})), note));
    EXPECT_EQ(2, living);
    must(xqueue.drop());
    EXPECT_EQ(ECANCELED, told);
    EXPECT_EQ(1, living);
    EXPECT_EQ(std::errc::invalid_argument, errc_of(xqueue.notify(99, note)));
    EXPECT_EQ(1, living);
    must(xqueue.resume());
    EXPECT_EQ(stream.get(), must(xqueue.stream()).get());
}

} // namespace
