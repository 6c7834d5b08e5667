// SPDX-License-Identifier: MIT
// The control socket of the built library, on the fake ROCm: names, lists, suspends, fork, end.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "control/connection.hpp"
#include "control/directory.hpp"
#include "fake/fake_rocm.hpp"
#include "unit/leaks.hpp"
#include "unit/until.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

namespace control = xpreempt::control;
namespace wire = xpreempt::control::wire;
namespace fs = std::filesystem;
using wire::Object;

class ControlTest : public testing::Test {
protected:
    ControlTest() {
        fake_choose_driver();
        std::string name = (fs::temp_directory_path() / "xpreempt-control-XXXXXX").string();
        runtime = ::mkdtemp(name.data());
        ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
    }
    ~ControlTest() override {
        (void)xp_control_close(); // it may not be open
        fs::remove_all(runtime);
    }
    static void* new_stream() {
        void* stream = nullptr;
        EXPECT_EQ(0, xp_stream_create(&stream)) << xp_last_detail();
        return stream;
    }
    [[nodiscard]] fs::path path() const {
        return runtime / "kfd-preempt" / control::own_socket_name();
    }
    control::Connection connect() const {
        auto connection = control::Connection::open(path());
        EXPECT_TRUE(connection);
        return std::move(*connection);
    }
    static const control::Answer& ask(control::Connection& connection, wire::Kind kind,
                                      const wire::Target* target = nullptr) {
        connection.ask(kind, target);
        control::Connection* const one[] = {&connection};
        control::Connection::await(one,
                                   control::Connection::Clock::now() + std::chrono::seconds(60));
        EXPECT_FALSE(connection.failure()) << connection.failure()->text;
        return connection.answer();
    }
    static wire::Target target(Object object, std::string_view name, std::uint32_t flags = 0) {
        wire::Target wanted{};
        wanted.object = static_cast<std::uint32_t>(object);
        wanted.flags = flags;
        wire::put_text(wanted.name, name);
        return wanted;
    }
    static bool runs(std::uint32_t kfd_queue_id) {
        const fake::Queue& queue = fake_driver()->queues[kfd_queue_id];
        return !queue.held && queue.percentage == 100;
    }
    static const wire::Stream* find(const control::Answer& answer, const void* stream) {
        for (const wire::Stream& record : answer.streams)
            if (record.handle == reinterpret_cast<std::uintptr_t>(stream))
                return &record;
        return nullptr;
    }

    fs::path runtime;
};

TEST_F(ControlTest, opens_when_told_and_not_before) {
    void* stream = new_stream();
    EXPECT_FALSE(fs::exists(path()));
    EXPECT_EQ(-ENOENT, xp_control_close());
    ASSERT_EQ(0, xp_control_open(nullptr)) << xp_last_detail();
    EXPECT_EQ(-EALREADY, xp_control_open(nullptr));
    EXPECT_TRUE(fs::exists(path()));
    EXPECT_EQ(0, xp_control_close());
    EXPECT_FALSE(fs::exists(path()));
    xp_control_options options{};
    options.sz = sizeof options;
    options.flags = 2;
    EXPECT_EQ(-EINVAL, xp_control_open(&options));
    options.flags = 0;
    options.max_clients = 33;
    EXPECT_EQ(-EINVAL, xp_control_open(&options));
    options.sz = 4;
    EXPECT_EQ(-EINVAL, xp_control_open(&options));
    EXPECT_EQ(0, xp_stream_destroy(stream));
}

TEST_F(ControlTest, tells_streams_with_names_and_queues) {
    void* low = new_stream();
    void* high = new_stream();
    ASSERT_EQ(0, xp_stream_set_name(low, "low"));
    xp_stream_info info{};
    info.sz = sizeof info;
    ASSERT_EQ(0, xp_stream_query(low, &info));
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(high, nullptr, &xqueue));
    ASSERT_EQ(0, xp_xqueue_set_name(xqueue, "front"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    const control::Answer& answer = ask(connection, wire::Kind::list);
    ASSERT_TRUE(answer.process);
    EXPECT_EQ(wire::process_hook, answer.process->flags);
    EXPECT_EQ(xp_version(), std::string(wire::text_of(answer.process->library_version)));
    const wire::Stream* record = find(answer, low);
    ASSERT_NE(nullptr, record);
    EXPECT_EQ("low", wire::text_of(record->name));
    EXPECT_EQ(info.kfd_queue_id, record->kfd_queue_id);
    EXPECT_EQ(info.generation, record->generation);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_INTERRUPT), record->level);
    record = find(answer, high);
    ASSERT_NE(nullptr, record);
    EXPECT_EQ("", wire::text_of(record->name));
    ASSERT_EQ(1U, answer.xqueues.size());
    EXPECT_EQ("front", wire::text_of(answer.xqueues[0].name));
    EXPECT_EQ(xqueue.handle, answer.xqueues[0].handle);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(high), answer.xqueues[0].stream);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_TRUE(ask(connection, wire::Kind::list).xqueues.empty());
    EXPECT_EQ(0, xp_stream_destroy(low));
    EXPECT_EQ(0, xp_stream_destroy(high));
}

TEST_F(ControlTest, lists_the_ring_of_a_queue_that_a_hip_call_fills) {
    void* stream = new_stream();
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    ASSERT_EQ(0, xp_control_open(nullptr)) << xp_last_detail();
    auto connection = connect();
    const control::Answer& answer = ask(connection, wire::Kind::list);
    const wire::Stream* record = find(answer, stream);
    ASSERT_NE(nullptr, record);
    const wire::Ring* used = nullptr;
    for (const wire::Ring& ring : answer.rings)
        if (ring.kfd_queue_id == record->kfd_queue_id && ring.generation == record->generation)
            used = &ring;
    ASSERT_NE(nullptr, used);
    EXPECT_LT(0U, used->packets);
    EXPECT_EQ(wire::ring_seen | wire::ring_hip_call, used->flags);
    EXPECT_EQ(0, xp_stream_destroy(stream));
}

// HIP destroys it at the end of its thread, by no call that the hook sees: nothing would be lifted.
TEST_F(ControlTest, a_threads_own_stream_is_not_suspended) {
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, reinterpret_cast<void*>(2)));
    ASSERT_EQ(0, xp_control_open(nullptr)) << xp_last_detail();
    auto connection = connect();
    const control::Answer listed = ask(connection, wire::Kind::list);
    ASSERT_EQ(1U, listed.streams.size());
    wire::Target wanted = target(Object::stream, "");
    wanted.handle = listed.streams[0].handle;
    EXPECT_EQ(EOPNOTSUPP, ask(connection, wire::Kind::suspend, &wanted).done.error);
    EXPECT_TRUE(runs(listed.streams[0].kfd_queue_id));
}

TEST_F(ControlTest, a_name_ends_with_its_stream) {
    void* stream = new_stream();
    ASSERT_EQ(0, xp_stream_set_name(stream, "old"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    EXPECT_EQ("old", wire::text_of(find(ask(connection, wire::Kind::list), stream)->name));
    ASSERT_EQ(0, hipStreamDestroy(stream)); // the library isn't told
    EXPECT_EQ(nullptr, find(ask(connection, wire::Kind::list), stream));
}

TEST_F(ControlTest, a_stream_does_not_get_the_name_of_one_that_was_never_used) {
    fake_hip()->reuse_handles = true;
    void* old = nullptr;
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&old));
    ASSERT_EQ(0, xp_stream_set_name(old, "old"));
    ASSERT_EQ(0, hipStreamDestroy(old));
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(old, stream);
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    EXPECT_EQ("", wire::text_of(find(ask(connection, wire::Kind::list), stream)->name));
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

TEST_F(ControlTest, names_have_limits) {
    void* stream = new_stream();
    EXPECT_EQ(-ENAMETOOLONG, xp_stream_set_name(stream, std::string(64, 'x').c_str()));
    EXPECT_EQ(0, xp_stream_set_name(stream, std::string(63, 'x').c_str()));
    EXPECT_EQ(-EINVAL, xp_stream_set_name(stream, "two\nlines"));
    EXPECT_EQ(-EINVAL, xp_stream_set_name(stream, "0x10"));
    EXPECT_EQ(0, xp_stream_set_name(stream, nullptr));
    EXPECT_EQ(-EBADF, xp_xqueue_set_name(xp_xqueue_t{42}, "x"));
    EXPECT_EQ(0, xp_stream_destroy(stream));
}

TEST_F(ControlTest, stops_a_stream_and_leaves_the_other_alone) {
    void* low = new_stream();
    void* high = new_stream();
    ASSERT_EQ(0, xp_stream_set_name(low, "low"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    const control::Answer& before = ask(connection, wire::Kind::list);
    const std::uint32_t low_queue = find(before, low)->kfd_queue_id;
    const std::uint32_t high_queue = find(before, high)->kfd_queue_id;

    const wire::Target wanted = target(Object::stream, "low");
    const control::Answer& stopped = ask(connection, wire::Kind::suspend, &wanted);
    ASSERT_EQ(0, stopped.done.error) << stopped.done.text;
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_INTERRUPT), stopped.outcome->level);
    EXPECT_FALSE(runs(low_queue));
    EXPECT_TRUE(runs(high_queue));
    const control::Answer& held = ask(connection, wire::Kind::list);
    EXPECT_EQ(1U, find(held, low)->queue_holds);
    ASSERT_EQ(1U, held.holders.size());
    EXPECT_EQ(static_cast<std::uint32_t>(::getpid()), held.holders[0].pid);
    for (const wire::Queue& queue : held.queues)
        EXPECT_EQ(queue.kfd_queue_id == low_queue ? 1U : 0U, queue.stops);

    // The program's own hold is counted apart.
    ASSERT_EQ(0, xp_stream_hold(low, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr));
    EXPECT_EQ(1U, ask(connection, wire::Kind::resume, &wanted).outcome->left);
    EXPECT_FALSE(runs(low_queue));
    EXPECT_EQ(0, xp_stream_release(low));
    EXPECT_TRUE(runs(low_queue));

    // A hold that was to stay still ends with the socket.
    const wire::Target kept = target(Object::stream, "low", wire::keep);
    EXPECT_EQ(0, ask(connection, wire::Kind::suspend, &kept).done.error);
    EXPECT_FALSE(runs(low_queue));
    EXPECT_EQ(0, xp_control_close());
    EXPECT_TRUE(runs(low_queue));
    EXPECT_EQ(0, xp_stream_destroy(low));
    EXPECT_EQ(0, xp_stream_destroy(high));
}

// The xqueue takes the hold over, and the end of the connection must still find it.
TEST_F(ControlTest, a_stream_that_is_held_and_gets_an_xqueue_runs_after_the_connection) {
    void* stream = new_stream();
    ASSERT_EQ(0, xp_stream_set_name(stream, "low"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    xp_xqueue_t xqueue{};
    xp_xqueue_state state{};
    state.sz = sizeof state;
    {
        auto connection = connect();
        const wire::Target wanted = target(Object::stream, "low");
        ASSERT_EQ(0, ask(connection, wire::Kind::suspend, &wanted).done.error);
        ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
        ASSERT_EQ(0, xp_xqueue_query(xqueue, &state));
        EXPECT_EQ(1U, state.suspends);
        EXPECT_EQ(1U, find(ask(connection, wire::Kind::list), stream)->queue_holds);
    }
    test::until([&] { return xp_xqueue_query(xqueue, &state) == 0 && state.suspends == 0; });
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(0, xp_stream_destroy(stream));
}

TEST_F(ControlTest, stops_an_xqueue_whose_end_does_not_wait_for_it) {
    void* stream = new_stream();
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue));
    ASSERT_EQ(0, xp_xqueue_set_name(xqueue, "front"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    const wire::Target wanted = target(Object::xqueue, "front", wire::keep);
    const control::Answer& answer = ask(connection, wire::Kind::suspend, &wanted);
    ASSERT_EQ(0, answer.done.error) << answer.done.text;
    EXPECT_EQ(1U, answer.outcome->left);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_LEVEL_INTERRUPT), answer.outcome->level);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue)); // resumes
    const control::Answer& after = ask(connection, wire::Kind::list);
    EXPECT_TRUE(after.holders.empty());
    for (const wire::Queue& queue : after.queues)
        EXPECT_TRUE(runs(queue.kfd_queue_id));
    EXPECT_EQ(0, xp_stream_destroy(stream));
}

TEST_F(ControlTest, a_shared_queue_is_stopped_only_when_that_is_allowed) {
    void* streams[3] = {};
    for (void*& stream : streams) { // two queues in the pool
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    }
    ASSERT_EQ(0, xp_stream_set_name(streams[0], "shared"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    wire::Target wanted = target(Object::stream, "shared");
    EXPECT_EQ(EBUSY, ask(connection, wire::Kind::suspend, &wanted).done.error);
    wanted.flags = wire::allow_shared;
    EXPECT_EQ(0, ask(connection, wire::Kind::suspend, &wanted).done.error);
    wanted.flags = 0;
    EXPECT_EQ(0, ask(connection, wire::Kind::resume, &wanted).done.error);
    for (void* stream : streams)
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

// The others continue at once: no client could name the stream to resume it.
TEST_F(ControlTest, a_destroyed_stream_does_not_hold_those_that_shared_its_queue) {
    void* streams[3] = {};
    for (void*& stream : streams) {
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    }
    ASSERT_EQ(0, xp_stream_set_name(streams[0], "gone"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    const std::uint32_t queue = find(ask(connection, wire::Kind::list), streams[0])->kfd_queue_id;
    EXPECT_EQ(queue, find(ask(connection, wire::Kind::list), streams[2])->kfd_queue_id);
    const wire::Target wanted = target(Object::stream, "gone", wire::allow_shared | wire::keep);
    ASSERT_EQ(0, ask(connection, wire::Kind::suspend, &wanted).done.error);
    ASSERT_FALSE(runs(queue));
    ASSERT_EQ(0, hipStreamDestroy(streams[0]));
    EXPECT_TRUE(runs(queue));
    const control::Answer& after = ask(connection, wire::Kind::list);
    EXPECT_TRUE(after.holders.empty());
    EXPECT_EQ(0U, find(after, streams[2])->queue_holds);
    EXPECT_EQ(0, hipStreamDestroy(streams[1]));
    EXPECT_EQ(0, hipStreamDestroy(streams[2]));
}

// HIP uses the addresses of streams again, and its pool the queues.
TEST_F(ControlTest, a_hold_is_not_taken_for_one_of_the_next_stream_of_that_handle) {
    fake_hip()->reuse_handles = true;
    void* streams[2] = {};
    for (void*& stream : streams) {
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    }
    ASSERT_EQ(0, xp_stream_set_name(streams[0], "first"));
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto one = connect();
    auto other = connect();
    const std::uint32_t queue = find(ask(one, wire::Kind::list), streams[0])->kfd_queue_id;
    const wire::Target first = target(Object::stream, "first");
    ASSERT_EQ(0, ask(one, wire::Kind::suspend, &first).done.error);
    ASSERT_FALSE(runs(queue));
    ASSERT_EQ(0, hipStreamDestroy(streams[0]));
    ASSERT_TRUE(runs(queue));

    void* next = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&next));
    ASSERT_EQ(streams[0], next);
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, next));
    ASSERT_EQ(0, xp_stream_set_name(next, "second"));
    const wire::Target second = target(Object::stream, "second");
    const control::Answer& resumed = ask(one, wire::Kind::resume, &second);
    ASSERT_EQ(0, resumed.done.error) << resumed.done.text;
    EXPECT_EQ(1U, resumed.outcome->already);
    ASSERT_EQ(0, ask(other, wire::Kind::suspend, &second).done.error);
    ASSERT_FALSE(runs(queue));
    EXPECT_EQ(1U, ask(one, wire::Kind::resume, &second).outcome->already);
    EXPECT_FALSE(runs(queue));
    const control::Answer& mine = ask(one, wire::Kind::suspend, &second);
    EXPECT_EQ(0U, mine.outcome->already);
    EXPECT_EQ(2U, mine.outcome->left_here);
    EXPECT_EQ(0, ask(one, wire::Kind::resume, &second).done.error);
    EXPECT_EQ(0, ask(other, wire::Kind::resume, &second).done.error);
    EXPECT_TRUE(runs(queue));
    fake_hip()->reuse_handles = false;
    EXPECT_EQ(0, hipStreamDestroy(next));
    EXPECT_EQ(0, hipStreamDestroy(streams[1]));
}

TEST_F(ControlTest, a_child_has_no_socket_and_leaves_the_parents) {
    ASSERT_EQ(0, xp_control_open(nullptr));
    auto connection = connect();
    EXPECT_EQ(0, ask(connection, wire::Kind::list).done.error);
    const pid_t child = ::fork();
    if (child == 0) {
        test::leaks_are_meant = true; // memory of the parent's threads has no owner here
        if (xp_control_close() != -EBADF)
            ::_exit(1);
        int sockets = 0;
        for (int fd = 0; fd < 256; ++fd) {
            struct stat status{};
            if (::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && fd != connection.fd())
                ++sockets;
        }
        if (sockets != 0)
            ::_exit(2);
        std::exit(0); // runs the library's destructors
    }
    int status = 0;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_TRUE(fs::exists(path()));
    EXPECT_EQ(0, ask(connection, wire::Kind::list).done.error);
}

} // namespace

extern "C" int __lsan_is_turned_off() { // NOLINT: its name
    return test::leaks_are_meant ? 1 : 0;
}
