// SPDX-License-Identifier: MIT
// The library's connection to the daemon against the daemon's own server: good days and bad ones.
#include "control/daemon_link.hpp"
#include "server_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace {

// How often this thread has waited in vain, and for how long it wanted to.
struct Waits {
    int count = 0;
    std::chrono::milliseconds sum{0};
};
thread_local Waits waits;

} // namespace

// In the place of that of the C library.
extern "C" int poll(pollfd* fds, nfds_t count, int timeout_ms) {
    constexpr int ms_of_s = 1000;
    constexpr long ns_of_ms = 1'000'000;
    const timespec timeout{timeout_ms / ms_of_s, timeout_ms % ms_of_s * ns_of_ms};
    const int ready = ::ppoll(fds, count, timeout_ms < 0 ? nullptr : &timeout, nullptr);
    if (ready == 0 && timeout_ms > 0) {
        ++waits.count;
        waits.sum += std::chrono::milliseconds{timeout_ms};
    }
    return ready;
}

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;
using xpreempt::UniqueFd;
using xpreempt::control::DaemonLink;

// The server in a thread, so that a client may wait for it. The fake Control is looked at when the
// thread has ended, or after a reply.
class DaemonLinkTest : public test::ServerFixture {
protected:
    ~DaemonLinkTest() override { stop(); }

    void start(std::size_t max_clients = Server::default_max_clients) {
        serve(max_clients);
        ASSERT_TRUE(loop.watch(wake_.get(), [this] {
            std::uint64_t count = 0;
            (void)!::read(wake_.get(), &count, sizeof count);
        }));
        ending_ = false;
        thread_ = std::thread([this] {
            while (!ending_ && loop.wait_until(Loop::Time::max())) {
            }
        });
    }
    void stop() {
        if (!thread_.joinable())
            return;
        ending_ = true;
        const std::uint64_t one = 1;
        (void)!::write(wake_.get(), &one, sizeof one);
        thread_.join();
        loop.forget(wake_.get());
        server.reset();
    }

    // In this thread.
    void serve_until(const std::function<bool()>& done) {
        while (!done())
            ASSERT_TRUE(loop.wait_until(std::chrono::steady_clock::now() + 10ms));
    }

    static int error_of(const DaemonLink::Answer& answer) {
        return answer ? 0 : answer.error().error;
    }
    // Once a failure has made the link wait before its next attempt.
    static int eventually(const std::function<DaemonLink::Answer()>& call, int wanted = 0) {
        int error = error_of(call());
        for (const auto end = std::chrono::steady_clock::now() + 30s;
             error != wanted && std::chrono::steady_clock::now() < end; error = error_of(call()))
            std::this_thread::sleep_for(10ms);
        return error;
    }

private:
    UniqueFd wake_{::eventfd(0, EFD_CLOEXEC)};
    std::atomic<bool> ending_{false};
    std::thread thread_;
};

TEST_F(DaemonLinkTest, hints_arrive_as_they_were_given) {
    start();
    DaemonLink link(path.string());
    EXPECT_EQ(error_of(link.begin(0us)), 0);
    EXPECT_EQ(error_of(link.begin(7us)), 0);
    EXPECT_EQ(error_of(link.announce(max_soon)), 0);
    EXPECT_EQ(error_of(link.end()), 0);
    EXPECT_EQ(error_of(link.set_band("high")), 0);
    EXPECT_EQ(error_of(link.set_band({})), 0);
    EXPECT_EQ(error_of(link.set_priority(-255)), 0);
    EXPECT_EQ(error_of(link.set_priority({})), 0);
    EXPECT_EQ(error_of(link.set_attributes({{"deadline_us", 20}, {"utilization", 0}})), 0);
    EXPECT_EQ(error_of(link.set_attributes({})), 0);
    stop();
    EXPECT_EQ(control.hints,
              (std::vector<Hint>{
                  BeginHint{}, BeginHint{7us}, SoonHint{max_soon}, EndHint{},
                  BandHint{sched::Band::high}, BandHint{}, PriorityHint{-255}, PriorityHint{},
                  AttributesHint{{.deadline = 20us, .utilization = 0}}, AttributesHint{}}));
    for (const Caller& caller : control.callers)
        EXPECT_EQ(caller.pid, ::getpid());
}

TEST_F(DaemonLinkTest, refusals_keep_errno_and_text) {
    control.refusal = {EPERM, R"(not "yours" \ at all)"};
    start();
    DaemonLink link(path.string());
    const auto answer = link.set_band("high");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error, EPERM);
    EXPECT_EQ(answer.error().text, R"(xpreemptd: not "yours" \ at all)");
    for (const int error : {EAGAIN, ESRCH, EINVAL, EOPNOTSUPP, ENOENT, EBUSY}) {
        stop();
        control.refusal.error = error;
        start();
        EXPECT_EQ(eventually([&] { return link.end(); }, error), error);
    }
}

TEST_F(DaemonLinkTest, without_a_daemon_calls_fail_at_once_and_later_find_it) {
    DaemonLink link(path.string());
    const auto answer = link.begin(0us);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error, ENOENT);
    EXPECT_NE(answer.error().text.find("xpreemptd is not running"), std::string::npos);
    EXPECT_NE(answer.error().text.find(path.string()), std::string::npos);
    start();
    EXPECT_EQ(eventually([&] { return link.begin(0us); }), 0);
}

TEST_F(DaemonLinkTest, socket_that_nobody_listens_at_refuses) {
    std::filesystem::create_directories(path.parent_path());
    const UniqueFd left(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_TRUE(left.valid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    DaemonLink link(path.string());
    EXPECT_EQ(error_of(link.end()), ECONNREFUSED);
    EXPECT_EQ(error_of(DaemonLink(std::string(200, 'x')).end()), ENAMETOOLONG);
    EXPECT_EQ(error_of(DaemonLink("").end()), ENAMETOOLONG);
}

TEST_F(DaemonLinkTest, restarted_daemon_hears_lasting_hints_again) {
    start();
    DaemonLink link(path.string());
    EXPECT_EQ(error_of(link.set_band("idle")), 0);
    EXPECT_EQ(error_of(link.set_priority(5)), 0);
    EXPECT_EQ(error_of(link.set_attributes({{"weight", 7}})), 0);
    EXPECT_EQ(error_of(link.begin(0us)), 0);
    stop();
    control.hints.clear();
    start();
    EXPECT_EQ(eventually([&] { return link.announce(1us); }), 0);
    stop();
    EXPECT_EQ(control.hints, (std::vector<Hint>{BandHint{sched::Band::idle}, PriorityHint{5},
                                                AttributesHint{{.weight = 7}}, SoonHint{1us}}));
}

TEST_F(DaemonLinkTest, what_was_refused_is_not_said_again) {
    control.refusal = {EPERM, "not yours"};
    start();
    DaemonLink link(path.string());
    EXPECT_EQ(error_of(link.set_band("realtime")), EPERM);
    stop();
    control.hints.clear();
    control.refusal.error = 0;
    start();
    EXPECT_EQ(eventually([&] { return link.end(); }), 0);
    stop();
    EXPECT_EQ(control.hints, std::vector<Hint>{EndHint{}});
}

// The daemon has taken those that the caller may choose.
TEST_F(DaemonLinkTest, attributes_of_which_some_were_refused_are_sent_again) {
    control.refusal = {EPERM, "not yours"};
    start();
    DaemonLink link(path.string());
    EXPECT_EQ(error_of(link.set_attributes({{"deadline_us", 1}, {"weight", 7}})), EPERM);
    stop();
    control.hints.clear();
    control.refusal.error = 0;
    start();
    EXPECT_EQ(eventually([&] { return link.end(); }), 0);
    stop();
    EXPECT_EQ(control.hints,
              (std::vector<Hint>{AttributesHint{{.weight = 7, .deadline = 1us}}, EndHint{}}));
}

TEST_F(DaemonLinkTest, link_that_had_to_leave_connects_again) {
    start(1);
    DaemonLink first(path.string()), second(path.string());
    EXPECT_EQ(error_of(first.begin(0us)), 0);
    EXPECT_EQ(error_of(second.begin(0us)), 0); // in its place
    const int error = error_of(first.end());   // the reason why it had to leave, or connected again
    EXPECT_TRUE(error == 0 || error == EUSERS) << error;
    EXPECT_EQ(eventually([&] { return first.end(); }), 0);
}

TEST_F(DaemonLinkTest, daemon_that_hangs_costs_a_bounded_wait_once) {
    serve(); // and this thread does not run the loop
    DaemonLink link(path.string());
    const auto begin = std::chrono::steady_clock::now();
    waits = {};
    EXPECT_EQ(error_of(link.begin(0us)), ETIMEDOUT);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, DaemonLink::patience);
    EXPECT_EQ(waits.count, 1);
    EXPECT_LE(waits.sum, DaemonLink::patience);
    for (int call = 0; call < 100; ++call)
        EXPECT_EQ(error_of(link.begin(0us)), ETIMEDOUT);
    // Most of them didn't even try.
    for (int turn = 0; turn < 300; ++turn)
        ASSERT_TRUE(loop.wait_until(std::chrono::steady_clock::now()));
    EXPECT_GE(control.hints.size(), 1U);
    EXPECT_LT(control.hints.size(), 20U);
}

TEST_F(DaemonLinkTest, daemon_that_hangs_is_waited_for_once_with_a_band_too) {
    start();
    DaemonLink link(path.string());
    EXPECT_EQ(error_of(link.set_band("idle")), 0);
    EXPECT_EQ(error_of(link.set_priority(5)), 0);
    stop();
    serve(); // and this thread does not run the loop
    waits = {};
    EXPECT_EQ(error_of(link.begin(0us)), ETIMEDOUT);
    EXPECT_EQ(waits.count, 1);
    EXPECT_LE(waits.sum, DaemonLink::patience);
    EXPECT_EQ(error_of(link.begin(0us)), ETIMEDOUT);
}

TEST_F(DaemonLinkTest, daemon_that_is_late_is_waited_for_where_a_setting_counts) {
    serve();
    DaemonLink link(path.string(), 60s);
    auto answer = std::async(std::launch::async, [&] { return link.set_band("high"); });
    EXPECT_EQ(answer.wait_for(3 * DaemonLink::patience), std::future_status::timeout);
    serve_until([&] { return answer.wait_for(0s) == std::future_status::ready; });
    EXPECT_EQ(error_of(answer.get()), 0);
    EXPECT_EQ(control.hints, std::vector<Hint>{BandHint{sched::Band::high}});
}

TEST_F(DaemonLinkTest, setting_that_got_no_reply_is_said_on_the_next_connection) {
    serve();
    DaemonLink link(path.string());
    EXPECT_EQ(error_of(link.set_band("idle")), ETIMEDOUT);
    serve_until([&] { return !control.hints.empty(); });
    control.hints.clear();
    auto answer =
        std::async(std::launch::async, [&] { return eventually([&] { return link.end(); }); });
    serve_until([&] { return answer.wait_for(0s) == std::future_status::ready; });
    EXPECT_EQ(answer.get(), 0);
    // Those whose replies are late again are said again.
    control.hints.erase(std::ranges::unique(control.hints).begin(), control.hints.end());
    EXPECT_EQ(control.hints, (std::vector<Hint>{BandHint{sched::Band::idle}, EndHint{}}));
}

TEST_F(DaemonLinkTest, child_does_not_keep_the_connection) {
    serve();
    std::optional<DaemonLink> link(path.string());
    std::thread client([&] { (void)link->begin(0us); });
    while (control.hints.empty())
        ASSERT_TRUE(loop.wait_until(Loop::Time::max()));
    client.join();
    const test::Child child = test::in_child([](int say_to) {
        test::say(say_to, "lives\n");
        ::pause();
    });
    ASSERT_EQ(child.line(), "lives\n");
    EXPECT_TRUE(control.forgotten.empty());
    link.reset();
    for (int turn = 0; turn < 3000 && control.forgotten.empty(); ++turn)
        ASSERT_TRUE(loop.wait_until(std::chrono::steady_clock::now() + 10ms));
    EXPECT_EQ(control.forgotten, std::vector{control.callers.at(0).connection});
}

} // namespace
