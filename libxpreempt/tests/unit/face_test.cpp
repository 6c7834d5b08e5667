// SPDX-License-Identifier: MIT
// Owners and errors of the C++ face, on the fake ROCm.
#include "unit/face_fixture.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

using namespace std::chrono_literals;
using test::errc_of;
using test::FaceTest;
using test::must;
using namespace xpreempt;

template <typename Owner>
constexpr bool is_move_only =
    std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner> &&
    !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>;
static_assert(is_move_only<Stream> && is_move_only<Held>);
static_assert(is_move_only<XQueue> && is_move_only<Suspended>);
static_assert(is_move_only<Scheduler> && is_move_only<Control>);
static_assert(std::is_trivially_copyable_v<StreamRef>);
// A later version with another Expected must not have the same symbols.
static_assert(std::is_same_v<Held, v0_tl::Held> && std::is_same_v<Error, v0_tl::Error>);

void expect_destroyed(StreamRef stream) {
    EXPECT_EQ(std::errc::no_such_file_or_directory, errc_of(stream.query()));
}

TEST_F(FaceTest, probe_finds_hook_and_hip) {
    const xp_probe_info info = must(probe());
    EXPECT_EQ(1U, info.hook_loaded);
    EXPECT_EQ(1U, info.hip_loaded);
}

TEST_F(FaceTest, several_streams_are_held_for_a_scope) {
    const StreamRef one = new_stream(), other = new_stream();
    {
        Held held = must(Held::hold({one, other}));
        EXPECT_EQ(XP_LEVEL_INTERRUPT, held.level());
        EXPECT_FALSE(runs(one) || runs(other));
        must(held.release());
        EXPECT_TRUE(runs(one) && runs(other));
        EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(held.release()));
        held = must(Held::hold({one, other}));
        const Held again = must(Held::hold(other)); // counted
        held = must(Held::hold(one));
        EXPECT_FALSE(runs(one) || runs(other));
    }
    EXPECT_TRUE(runs(one) && runs(other));
}

TEST_F(FaceTest, a_shared_queue_is_stopped_with_a_flag_only) {
    const StreamRef stream = new_stream(), other = new_stream();
    new_stream();
    constexpr std::uint32_t stop = XP_HOLD_LEAST(XP_LEVEL_INTERRUPT);
    EXPECT_EQ(std::errc::operation_not_supported, errc_of(Held::hold({other, stream}, stop)));
    EXPECT_TRUE(runs(stream) && runs(other));
    const Held held = must(Held::hold({other, stream}, stop | XP_HOLD_SHARED));
    EXPECT_FALSE(runs(stream) || runs(other));
}

TEST_F(FaceTest, an_owned_stream_has_a_queue_of_its_own_and_is_destroyed) {
    StreamRef left_behind = nullptr;
    {
        const Stream stream = must(Stream::create());
        left_behind = stream;
        EXPECT_EQ(1U, must(stream.query()).num_sharing);
        EXPECT_EQ(std::vector<void*>{stream.get()}, must(stream.sharing()));
    }
    expect_destroyed(left_behind);
}

TEST_F(FaceTest, a_stream_is_destroyed_once) {
    Stream stream = must(Stream::create());
    const StreamRef left_behind = stream;
    fake_hip()->fail_destroy = true;
    const auto failed = stream.destroy();
    ASSERT_FALSE(failed);
    EXPECT_EQ(std::error_code(400, hip_category()), failed.error().code());
    EXPECT_NE(nullptr, stream.get()); // it can be tried again
    fake_hip()->fail_destroy = false;
    must(stream.destroy());
    expect_destroyed(left_behind);
    EXPECT_EQ(nullptr, stream.get());
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(stream.destroy()));
}

TEST_F(FaceTest, a_stream_that_was_moved_from_is_not_the_null_stream) {
    Stream stream = must(Stream::create());
    const Stream moved = std::move(stream);
    EXPECT_TRUE(moved.query());
    // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): defined
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(stream.touch()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(stream.hold()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(stream.set_priority(1)));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(stream.query()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(stream.destroy()));
    // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
}

TEST_F(FaceTest, a_stream_has_priority_and_name) {
    const StreamRef stream = new_stream();
    EXPECT_EQ(XP_PRIORITY_DEFAULT, must(stream.get_priority()));
    must(stream.set_priority(7));
    EXPECT_EQ(7, must(stream.get_priority()));
    EXPECT_EQ(std::errc::invalid_argument, errc_of(stream.set_priority(XP_PRIORITY_MAX + 1)));
    must(stream.set_name("training"));
    must(stream.set_name(""));
    EXPECT_EQ(std::errc::filename_too_long, errc_of(stream.set_name(std::string(64, 'x'))));
}

TEST_F(FaceTest, all_streams_of_a_shared_queue_are_returned) {
    const StreamRef first = new_stream();
    new_stream();
    const StreamRef third = new_stream();
    std::vector<void*> sharing = must(first.sharing());
    ASSERT_EQ(2U, sharing.size());
    if (sharing[0] != first.get())
        std::swap(sharing[0], sharing[1]);
    EXPECT_EQ((std::vector<void*>{first.get(), third.get()}), sharing);
}

TEST_F(FaceTest, a_held_stream_is_released_at_the_end_of_the_scope) {
    const StreamRef stream = new_stream();
    {
        const Held held = must(Held::hold(stream));
        EXPECT_EQ(XP_LEVEL_INTERRUPT, held.level());
        EXPECT_FALSE(runs(stream));
    }
    EXPECT_TRUE(runs(stream));
    Held held = must(Held::hold(stream));
    Held moved = std::move(held);
    EXPECT_FALSE(runs(stream));
    must(moved.release());
    EXPECT_TRUE(runs(stream));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(moved.release()));
    EXPECT_EQ(std::errc::no_such_file_or_directory, errc_of(stream.release()));
}

TEST_F(FaceTest, a_hold_fails_when_the_least_level_cannot_be_reached) {
    const StreamRef stream = new_stream();
    new_stream();
    new_stream();
    EXPECT_EQ(std::errc::operation_not_supported,
              errc_of(Held::hold(stream, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT))));
    EXPECT_EQ(XP_LEVEL_BLOCK, must(Held::hold(stream)).level());
    EXPECT_EQ(std::errc::no_such_file_or_directory, errc_of(stream.release()));
}

TEST_F(FaceTest, a_scheduler_runs_for_its_scope) {
    {
        const Scheduler scheduler = must(Scheduler::start());
        EXPECT_EQ(std::errc::connection_already_in_progress, errc_of(Scheduler::start()));
        EXPECT_EQ(XP_POLICY_HIGHEST_PRIORITY_FIRST, must(Scheduler::query()).policy);
    }
    EXPECT_EQ(0U, must(Scheduler::query()).policy);
    Scheduler scheduler = must(Scheduler::start());
    must(scheduler.stop());
    EXPECT_EQ(0U, must(Scheduler::query()).policy);
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(scheduler.stop()));
    EXPECT_EQ(std::errc::operation_not_supported, errc_of(Scheduler::start(99)));
    xp_sched_parameters parameters{};
    parameters.slice_us = 1000;
    Scheduler turns = must(Scheduler::start(XP_POLICY_ROUND_ROBIN, parameters));
    EXPECT_EQ(XP_POLICY_ROUND_ROBIN, must(Scheduler::query()).policy);
    must(turns.stop());
    parameters.slice_us = 1;
    EXPECT_EQ(std::errc::invalid_argument,
              errc_of(Scheduler::start(XP_POLICY_ROUND_ROBIN, parameters)));
}

TEST_F(FaceTest, attributes_of_xqueues_and_streams_are_set_and_read) {
    const StreamRef stream = new_stream();
    XQueue xqueue = must(XQueue::create(stream));
    xp_sched_attributes attributes = must(xqueue.get_attributes());
    EXPECT_EQ(100U, attributes.weight);
    attributes.weight = 7;
    must(xqueue.set_attributes(attributes));
    attributes = must(stream.get_attributes());
    EXPECT_EQ(7U, attributes.weight);
    attributes.deadline_us = 20000;
    must(stream.set_attributes(attributes));
    EXPECT_EQ(20000U, must(xqueue.get_attributes()).deadline_us);
}

TEST_F(FaceTest, a_policy_lives_as_long_as_its_scheduler) {
    const auto called = std::make_shared<std::atomic<int>>(0);
    const XQueue xqueue = must(XQueue::create(new_stream()));
    {
        Scheduler scheduler = must(Scheduler::start_policy(
            [called](std::span<const xp_sched_source> sources, std::chrono::nanoseconds,
                     std::span<std::uint8_t> suspend) -> std::optional<std::chrono::nanoseconds> {
                ++*called;
                EXPECT_EQ(sources.size(), suspend.size());
                std::ranges::fill(suspend, std::uint8_t{1});
                return std::nullopt;
            }));
        EXPECT_GT(*called, 0);
        EXPECT_EQ(2, called.use_count());
        EXPECT_EQ(1U, must(xqueue.query()).suspends);
        const Scheduler moved = std::move(scheduler);
        EXPECT_EQ(1U, must(xqueue.query()).suspends);
    }
    EXPECT_EQ(1, called.use_count());
    EXPECT_EQ(0U, must(xqueue.query()).suspends);
}

TEST_F(FaceTest, the_control_socket_is_open_for_its_scope) {
    std::string runtime = (fs::temp_directory_path() / "xpreempt-face-XXXXXX").string();
    ASSERT_NE(nullptr, ::mkdtemp(runtime.data()));
    ASSERT_EQ(0, ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1));
    const auto sockets = [&] {
        const auto all = fs::recursive_directory_iterator(runtime);
        return std::count_if(begin(all), end(all),
                             [](const fs::directory_entry& entry) { return entry.is_socket(); });
    };
    {
        const Control control = must(Control::open({.flags = XP_CONTROL_READ_ONLY}));
        EXPECT_EQ(1, sockets());
        EXPECT_EQ(std::errc::connection_already_in_progress, errc_of(Control::open()));
    }
    EXPECT_EQ(0, sockets());
    Control control = must(Control::open());
    EXPECT_EQ(1, sockets());
    must(control.close());
    EXPECT_EQ(0, sockets());
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(control.close()));
    EXPECT_EQ(std::errc::invalid_argument, errc_of(Control::open({.max_clients = 99})));
    fs::remove_all(runtime);
}

TEST_F(FaceTest, an_xqueue_has_the_options_that_it_was_created_with) {
    const StreamRef stream = new_stream();
    const XQueue xqueue =
        must(XQueue::create(stream, {.threshold = 12, .batch = 3, .max_level = XP_LEVEL_BLOCK}));
    const xp_xqueue_state state = must(xqueue.query());
    EXPECT_EQ(12U, state.threshold);
    EXPECT_EQ(3U, state.batch);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_BLOCK), state.best_level);
    const XQueue in_time = must(XQueue::create(new_stream(), {.latency_budget = 2ms}));
    EXPECT_EQ(2'000'000U, must(in_time.query()).latency_budget_ns);
    const auto second = XQueue::create(stream);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(), std::errc::device_or_resource_busy);
    EXPECT_TRUE(contains(second.error().detail(), "second xqueue")) << second.error().detail();
}

TEST_F(FaceTest, every_option_reaches_the_c_interface) {
    const StreamRef stream = new_stream();
    for (const XQueueOptions& bad :
         {XQueueOptions{.threshold = 2, .batch = 3}, XQueueOptions{.max_level = 4},
          XQueueOptions{.flags = 0x80}, XQueueOptions{.deactivate_method = 9},
          XQueueOptions{.latency_budget = -1ns}}) {
        const auto created = XQueue::create(stream, bad);
        ASSERT_FALSE(created);
        EXPECT_EQ(created.error(), std::errc::invalid_argument);
        EXPECT_TRUE(contains(created.error().detail(), " is ")) << created.error().detail();
    }
}

TEST_F(FaceTest, settings_of_an_xqueue_can_be_changed) {
    XQueue xqueue = must(XQueue::create(new_stream()));
    must(xqueue.set_priority(-3));
    EXPECT_EQ(-3, must(xqueue.get_priority()));
    must(xqueue.set_name("inference"));
    must(xqueue.set_launch_config(4));
    EXPECT_EQ(4U, must(xqueue.query()).threshold);
    must(xqueue.set_launch_config(0, 2));
    EXPECT_EQ(2U, must(xqueue.query()).batch);
    must(xqueue.set_max_level(XP_LEVEL_BLOCK));
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_BLOCK), must(xqueue.query()).best_level);
    must(xqueue.set_latency_budget(5us));
    EXPECT_EQ(5000U, must(xqueue.query()).latency_budget_ns);
    EXPECT_EQ(std::errc::invalid_argument, errc_of(xqueue.set_latency_budget(-5us)));
    EXPECT_EQ(5000U, must(xqueue.query()).latency_budget_ns);
}

TEST_F(FaceTest, an_xqueue_is_closed_once) {
    const StreamRef stream = new_stream();
    XQueue xqueue = must(XQueue::create(stream));
    must(xqueue.close());
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.close()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.submit([] {})));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.suspend()));
    EXPECT_TRUE(XQueue::create(stream)); // the stream has none
}

TEST_F(FaceTest, an_xqueue_can_be_moved) {
    const StreamRef one = new_stream(), other = new_stream();
    XQueue xqueue = must(XQueue::create(one));
    const std::uint64_t ticket = must(xqueue.submit([one] { (void)one; }));
    XQueue moved = std::move(xqueue);
    must(moved.wait(ticket));
    // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): defined
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.submit([one] { (void)one; })));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.submit([]() noexcept {})));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.wait(ticket)));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.wait_all()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.drop()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(xqueue.close()));
    // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    moved = must(XQueue::create(other)); // destroys the one that it had
    EXPECT_TRUE(XQueue::create(one));
    must(moved.wait_all());
}

TEST_F(FaceTest, a_suspend_ends_with_its_scope_and_has_a_level) {
    const StreamRef stream = new_stream();
    XQueue xqueue = must(XQueue::create(stream));
    {
        const Suspended suspended = must(Suspended::suspend(xqueue));
        EXPECT_EQ(XP_LEVEL_INTERRUPT, suspended.level());
        EXPECT_FALSE(runs(stream));
        const XQueue moved = std::move(xqueue);
        xqueue = must(XQueue::create(new_stream()));
        EXPECT_FALSE(runs(stream));
        EXPECT_EQ(1U, must(moved.query()).suspends);
    }
    EXPECT_TRUE(runs(stream));
}

TEST_F(FaceTest, a_suspend_can_be_ended_early) {
    const StreamRef stream = new_stream();
    XQueue xqueue = must(XQueue::create(stream));
    Suspended suspended = must(Suspended::suspend(xqueue));
    Suspended moved = std::move(suspended);
    EXPECT_EQ(1U, must(xqueue.query()).suspends);
    must(moved.resume());
    EXPECT_TRUE(runs(stream));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(moved.resume()));
    EXPECT_EQ(std::errc::no_such_file_or_directory, errc_of(xqueue.resume()));
}

TEST_F(FaceTest, a_suspend_that_reached_less_says_so_or_is_an_error) {
    const StreamRef stream = new_stream();
    new_stream();
    new_stream();
    XQueue xqueue = must(XQueue::create(stream));
    EXPECT_EQ(XP_LEVEL_BLOCK, must(Suspended::suspend(xqueue)).level());
    const auto refused = Suspended::suspend(xqueue, XP_SUSPEND_LEAST(XP_LEVEL_INTERRUPT));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), std::errc::operation_not_supported);
    EXPECT_EQ(0U, must(xqueue.query()).suspends);
    const xp_xqueue_stats stats = must(xqueue.get_stats());
    EXPECT_EQ(1U, stats.suspends_block);
    EXPECT_EQ(1U, stats.resumes);
}

TEST_F(FaceTest, an_error_keeps_code_and_detail) {
    XQueue xqueue = must(XQueue::create(new_stream()));
    const auto failed = xqueue.set_priority(300);
    ASSERT_FALSE(failed);
    const Error& error = failed.error();
    (void)xqueue.wait(99); // another error, and another detail of the thread
    EXPECT_EQ("priority is 300: it must be from -255 to 255", error.detail());
    EXPECT_EQ(error.detail(), error.what());
    EXPECT_EQ(EINVAL, error.errno_value());
    EXPECT_EQ(0, error.hip_error());
    const std::error_code code = error;
    EXPECT_EQ(std::make_error_code(std::errc::invalid_argument), code);
    EXPECT_EQ("No such process", Error(ESRCH, "").what());
}

TEST_F(FaceTest, a_hip_error_is_in_a_category_of_its_own) {
    XQueue xqueue = must(XQueue::create(new_stream()));
    for (const int hip_error : {1, 2, 100, 101, 400, 700, 801}) {
        const auto failed = xqueue.submit([=](void*) { return hip_error; });
        ASSERT_FALSE(failed);
        const std::error_code code = failed.error();
        EXPECT_STREQ("hip", code.category().name());
        EXPECT_EQ(hip_error, code.value());
        EXPECT_EQ(hip_error, failed.error().hip_error());
        EXPECT_EQ("HIP error " + std::to_string(hip_error), code.message());
        // The C interface has the same idea of the nearest errno.
        EXPECT_EQ(failed.error().errno_value(), code.default_error_condition().value());
        EXPECT_EQ(code, static_cast<std::errc>(failed.error().errno_value()));
    }
    // An errno isn't one of HIP, also behind an error that was.
    EXPECT_EQ(std::generic_category(), must(XQueue::create(new_stream()))
                                           .submit([](void*) { return -EPERM; })
                                           .error()
                                           .code()
                                           .category());
}

TEST_F(FaceTest, a_failed_launch_of_the_xqueues_own_thread_is_reported_by_wait) {
    XQueue xqueue = must(XQueue::create(new_stream()));
    std::uint64_t ticket = 0;
    {
        const Suspended suspended = must(Suspended::suspend(xqueue));
        ticket = must(xqueue.submit([] { return 700; }));
    }
    const auto failed = xqueue.wait(ticket);
    ASSERT_FALSE(failed);
    EXPECT_EQ(std::error_code(700, hip_category()), failed.error().code());
}

} // namespace
