// SPDX-License-Identifier: MIT
// The daemon's socket with good, bad and many clients, on the real loop.
#include "daemon_client.hpp"
#include "fake_control.hpp"
#include "protocol/replies.hpp"
#include "server_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>

namespace {

using namespace xpreemptd;
using test::DaemonClient;
using test::in_child;

class XpreemptdServer : public test::ServerFixture {};

constexpr const char* adopt = R"({"do":"adopt","band":"high"})";
constexpr const char* status = R"({"do":"status"})";

int error_of(const std::string& reply) {
    const Answer<void> answer = parse_done(reply);
    return answer ? 0 : answer.error().error;
}

TEST_F(XpreemptdServer, CarriesOutEachRequest) {
    serve();
    control.reported.policy = "BAND";
    control.listed.resize(1);
    control.listed[0].name = "/a";
    const DaemonClient client(path);
    ASSERT_TRUE(client.connected());
    EXPECT_EQ(error_of(client.ask(loop, adopt)), 0);
    EXPECT_EQ(error_of(client.ask(loop, R"({"do":"set","job":"/a","weight":7})")), 0);
    EXPECT_EQ(error_of(client.ask(loop, R"({"do":"policy","name":"RR"})")), 0);
    ASSERT_EQ(control.callers.size(), 3U);
    for (const Caller& caller : control.callers) {
        EXPECT_EQ(caller.pid, ::getpid());
        EXPECT_EQ(caller.uid, ::geteuid());
    }
    EXPECT_EQ(control.changes[0].band, sched::Band::high);
    EXPECT_EQ(control.changes[1].weight, 7U);
    EXPECT_EQ(control.selectors[0], JobSelector("/a"));
    const Answer<StatusReport> answer = parse_status_reply(client.ask(loop, status));
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_EQ(answer->policy, "RR");
    const Answer<JobPage> page = parse_jobs_reply(client.ask(loop, R"({"do":"jobs"})"));
    ASSERT_TRUE(page) << page.error().text;
    EXPECT_EQ(page->jobs.at(0).report.name, "/a");

    control.refusal = {EPERM, "not yours"};
    const Answer<void> refused = parse_done(client.ask(loop, adopt));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error, EPERM);
    EXPECT_EQ(refused.error().text, "not yours");
}

TEST_F(XpreemptdServer, ForgetsWhatAConnectionHintedWhenItEnds) {
    serve(2);
    DaemonClient first(path);
    const DaemonClient second(path);
    constexpr const char* hint = R"({"do":"hint","is":"soon","us":5})";
    EXPECT_EQ(error_of(first.ask(loop, hint)), 0);
    EXPECT_EQ(error_of(second.ask(loop, hint)), 0);
    ASSERT_EQ(control.callers.size(), 2U);
    const std::uint64_t of_first = control.callers[0].connection;
    const std::uint64_t of_second = control.callers[1].connection;
    EXPECT_NE(of_first, of_second);
    EXPECT_EQ(control.callers[1].pid, ::getpid());
    EXPECT_EQ(control.hints[0], Hint(SoonHint{std::chrono::microseconds{5}}));
    EXPECT_TRUE(control.forgotten.empty());
    first.close();
    EXPECT_EQ(error_of(second.ask(loop, status)), 0);
    const DaemonClient third(path);
    EXPECT_EQ(error_of(third.ask(loop, hint)), 0);
    EXPECT_EQ(control.forgotten, std::vector{of_first});
    const DaemonClient fourth(path); // takes the place of the second
    EXPECT_EQ(error_of(fourth.ask(loop, status)), 0);
    EXPECT_EQ(control.forgotten, (std::vector{of_first, of_second}));
    EXPECT_NE(control.callers[2].connection, of_first);
}

TEST_F(XpreemptdServer, RefusesGarbageAndServesOn) {
    serve();
    const DaemonClient good(path), bad(path);
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        std::string message(1 + random() % 300, '\0');
        std::ranges::generate(message, [&] { return static_cast<char>(random()); });
        const int error = error_of(bad.ask(loop, message));
        EXPECT_TRUE(error == EBADMSG || error == EINVAL) << error; // 1x: a number, and then garbage
    }
    EXPECT_EQ(error_of(bad.ask(loop, std::string(65536, '['))), EINVAL);
    EXPECT_EQ(error_of(bad.ask(loop, std::string(1, '\0'))), EBADMSG);
    EXPECT_EQ(error_of(bad.ask(loop, R"({"do":"jobs","x":1})")), EINVAL);
    // As long as a message may be, and one byte more.
    const std::string padded = status + std::string(max_message_bytes - std::strlen(status), ' ');
    EXPECT_EQ(error_of(bad.ask(loop, padded)), 0);
    EXPECT_EQ(error_of(bad.ask(loop, padded + " ")), EMSGSIZE);
    EXPECT_EQ(error_of(bad.ask(loop, std::string(200000, ' '))), EMSGSIZE);
    // An empty message is a farewell.
    EXPECT_EQ(bad.ask(loop, ""), "");
    EXPECT_EQ(error_of(good.ask(loop, status)), 0);
    EXPECT_EQ(server->clients(), 1U);
    EXPECT_TRUE(control.callers.empty());
}

TEST_F(XpreemptdServer, ClosesDescriptorsThatComeAlong) {
    serve();
    const DaemonClient client(path);
    EXPECT_EQ(error_of(client.ask(loop, status)), 0);
    const std::size_t before = test::open_descriptors();
    for (int i = 0; i < 20; ++i) {
        test::send_descriptor(client.fd(), client.fd(), status);
        EXPECT_EQ(error_of(client.answer(loop)), 0);
    }
    EXPECT_EQ(test::open_descriptors(), before);
}

TEST_F(XpreemptdServer, ServesAThousandClientsAndReplacesTheOneIdleLongest) {
    const rlimit enough{4096, 4096};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &enough), 0);
    serve();
    std::vector<DaemonClient> clients;
    for (std::size_t i = 0; i < Server::default_max_clients; ++i) {
        clients.emplace_back(path);
        ASSERT_TRUE(clients.back().connected()) << i;
    }
    for (const DaemonClient& client : clients)
        ASSERT_EQ(error_of(client.ask(loop, status)), 0);
    EXPECT_EQ(error_of(clients[0].ask(loop, status)), 0); // now clients[1] is idle longest
    const DaemonClient more(path);
    EXPECT_EQ(error_of(more.ask(loop, status)), 0);
    EXPECT_EQ(server->clients(), Server::default_max_clients);
    EXPECT_EQ(error_of(clients[1].answer(loop)), EUSERS);
    EXPECT_EQ(clients[1].answer(loop), "");
    for (std::size_t i = 0; i < clients.size(); ++i)
        if (i != 1) {
            ASSERT_EQ(error_of(clients[i].ask(loop, status)), 0) << i;
        }
}

TEST_F(XpreemptdServer, AUserWithManyClientsReplacesHisOwn) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become another user";
    serve(8);
    const DaemonClient first(path), second(path);
    EXPECT_EQ(error_of(first.ask(loop, status)), 0);
    EXPECT_EQ(error_of(second.ask(loop, status)), 0);
    const test::Child crowd = in_child([&](int done) {
        if (::setresuid(65534, 65534, 65534) != 0)
            ::_exit(1);
        std::vector<DaemonClient> clients;
        for (int i = 0; i < 40; ++i)
            clients.emplace_back(path);
        test::say(done, "connected");
        ::pause();
    });
    EXPECT_EQ(crowd.line(), "connected");
    for (int turn = 0; turn < 200; ++turn)
        (void)loop.wait_until(std::chrono::steady_clock::now());
    EXPECT_EQ(server->clients(), 8U);
    EXPECT_EQ(error_of(first.ask(loop, status)), 0);
    EXPECT_EQ(error_of(second.ask(loop, status)), 0);
}

// A user namespace has 65,536 uids, each with one client.
TEST_F(XpreemptdServer, AUserWithManyUidsReplacesNoClientOfRoot) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become other users";
    constexpr std::size_t limit = 8;
    serve(limit);
    const DaemonClient of_root(path);
    EXPECT_EQ(error_of(of_root.ask(loop, status)), 0);
    const test::Child other = in_child([&](int done) {
        constexpr uid_t first = 100000, unchanged = static_cast<uid_t>(-1);
        std::vector<DaemonClient> clients;
        for (uid_t uid = first; uid < first + 2 * limit; ++uid) {
            if (::setresuid(unchanged, uid, unchanged) != 0)
                ::_exit(1);
            clients.emplace_back(path);
            if (!clients.back().connected() || ::setresuid(unchanged, 0, unchanged) != 0)
                ::_exit(1);
        }
        test::say(done, "connected");
        ::pause();
    });
    ASSERT_EQ(other.line(), "connected");
    for (int turn = 0; turn < 200; ++turn)
        (void)loop.wait_until(std::chrono::steady_clock::now());
    EXPECT_EQ(server->clients(), limit);
    EXPECT_EQ(error_of(of_root.ask(loop, status)), 0);
}

TEST_F(XpreemptdServer, DisconnectsAClientThatNeverReads) {
    serve();
    control.listed.resize(3000);
    const DaemonClient good(path), deaf(path);
    int sent = 0;
    for (int turn = 0; turn < 5000 && deaf.send(R"({"do":"jobs"})"); ++turn, ++sent)
        (void)loop.wait_until(std::chrono::steady_clock::now());
    EXPECT_LT(sent, 50);
    EXPECT_EQ(error_of(good.ask(loop, status)), 0);
    EXPECT_EQ(server->clients(), 1U);
}

TEST_F(XpreemptdServer, AClientMaySendSeveralRequestsBeforeItReads) {
    serve();
    const DaemonClient client(path);
    for (int i = 0; i < 8; ++i)
        ASSERT_TRUE(client.send(i % 2 == 0 ? status : adopt));
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(parse_status_reply(client.answer(loop)).has_value(), i % 2 == 0);
}

TEST_F(XpreemptdServer, CarriesOutWhatAClientSentBeforeItClosed) {
    serve();
    for (int i = 0; i < 50; ++i) {
        DaemonClient client(path);
        ASSERT_TRUE(client.send(adopt));
        ASSERT_TRUE(client.send(status));
        client.close();
    }
    const DaemonClient good(path);
    EXPECT_EQ(error_of(good.ask(loop, status)), 0);
    for (int turn = 0; turn < 300; ++turn)
        (void)loop.wait_until(std::chrono::steady_clock::now());
    EXPECT_EQ(server->clients(), 1U);
    EXPECT_EQ(control.callers.size(), 50U);
}

TEST_F(XpreemptdServer, ServesOneRequestATurnAndTheClientsInTurn) {
    serve();
    std::vector<DaemonClient> clients;
    for (int i = 0; i < 20; ++i) {
        clients.emplace_back(path);
        for (int j = 0; j < 5; ++j)
            ASSERT_TRUE(clients.back().send(adopt));
    }
    std::size_t most = 0;
    for (int turn = 0; turn < 40; ++turn) {
        const std::size_t before = control.callers.size();
        (void)loop.wait_until(std::chrono::steady_clock::now());
        most = std::max(most, control.callers.size() - before);
    }
    EXPECT_EQ(most, 1U);
    for (int turn = 0; turn < 200; ++turn)
        (void)loop.wait_until(std::chrono::steady_clock::now());
    EXPECT_EQ(control.callers.size(), 100U);
    // A request that comes last waits for one of each client, not for all of them.
    const DaemonClient late(path);
    for (const DaemonClient& client : clients)
        for (int j = 0; j < 20; ++j)
            ASSERT_TRUE(client.send(adopt));
    EXPECT_EQ(error_of(late.ask(loop, status)), 0);
    EXPECT_LT(control.callers.size(), 100U + 3 * 20);
}

TEST_F(XpreemptdServer, GivesAUserWithManyClientsTheTurnsOfOne) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become another user";
    serve();
    const DaemonClient ours(path);
    EXPECT_EQ(error_of(ours.ask(loop, status)), 0);
    const test::Child crowd = in_child([&](int done) {
        if (::setresuid(65534, 65534, 65534) != 0)
            ::_exit(1);
        std::vector<DaemonClient> clients;
        for (int i = 0; i < 100; ++i) {
            clients.emplace_back(path);
            for (int j = 0; j < 8; ++j)
                (void)clients.back().send(adopt);
        }
        test::say(done, "sent");
        ::pause();
    });
    EXPECT_EQ(crowd.line(), "sent");
    for (int turn = 0; turn < 1000 && server->clients() < 101; ++turn)
        (void)loop.wait_until(std::chrono::steady_clock::now());
    ASSERT_EQ(server->clients(), 101U);
    const std::size_t before = control.callers.size();
    EXPECT_EQ(error_of(ours.ask(loop, status)), 0);
    EXPECT_LE(control.callers.size() - before, 2U);
}

std::chrono::nanoseconds cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

// Reads all pages of the list again and again, as eight clients.
[[noreturn]] void read_jobs(const std::filesystem::path& path, int say_to) {
    std::vector<DaemonClient> clients;
    for (int i = 0; i < 8; ++i)
        ::fcntl(clients.emplace_back(path).fd(), F_SETFL, 0); // waits for replies
    std::uint64_t from = 0;
    for (bool first = true;; first = false) {
        for (const DaemonClient& client : clients)
            if (!client.send(fmt::format(R"({{"do":"jobs","from":{}}})", from)))
                ::_exit(1);
        for (const DaemonClient& client : clients) {
            const Answer<JobPage> page = parse_jobs_reply(client.receive().value_or(""));
            if (!page)
                ::_exit(1);
            from = page->next.value_or(0);
        }
        if (first)
            test::say(say_to, "reads");
    }
}

// xpreemptd(8) promises a tenth of a CPU.
TEST_F(XpreemptdServer, GivesReadersOfThousandsOfJobsATenthOfACpu) {
    for (std::uint64_t id = 1; id <= 4096; ++id) {
        JobReport& job = control.listed.emplace_back();
        job.id = id;
        job.name = fmt::format("/system.slice/job-{}.service", id);
        job.pids = {1000};
        job.gpu_ids = {7, 8};
    }
    serve(Server::default_max_clients, Server::default_share);
    const test::Child readers = in_child([&](int say_to) { read_jobs(path, say_to); });
    const auto serve_for = [&](std::chrono::nanoseconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end)
            ASSERT_TRUE(loop.wait_until(end));
    };
    serve_for(std::chrono::milliseconds{200});
    const auto used = cpu_time();
    const auto began = std::chrono::steady_clock::now();
    serve_for(std::chrono::seconds{2});
    const auto share = 100 * (cpu_time() - used) / (std::chrono::steady_clock::now() - began);
    EXPECT_GE(share, 1);
    EXPECT_LE(share, 13) << "percent; the loop's own turns are in it";
    EXPECT_EQ(readers.line(), "reads");
}

TEST_F(XpreemptdServer, SeesTheCredentialsOfItsPeer) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become another user";
    serve();
    const test::Child child = in_child([&](int done) {
        if (::setresuid(1234, 1234, 1234) != 0)
            ::_exit(1);
        const DaemonClient client(path);
        test::say(done, client.send(adopt) ? "sent" : "failed");
        ::pause();
    });
    EXPECT_EQ(child.line(), "sent");
    for (int turn = 0; turn < 10; ++turn)
        (void)loop.wait_until(std::chrono::steady_clock::now());
    ASSERT_EQ(control.callers.size(), 1U);
    EXPECT_EQ(control.callers[0].pid, child.pid());
    EXPECT_EQ(control.callers[0].uid, 1234U);
}

TEST_F(XpreemptdServer, AdoptsNobodyInThePlaceOfAConnectorThatEnded) {
    serve();
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    const xpreempt::UniqueFd ours(pair[0]), theirs(pair[1]);
    pid_t connector = 0;
    {
        const test::Child child = in_child([&](int done) {
            const DaemonClient client(path);
            test::send_descriptor(theirs.get(), client.fd(), "x");
            test::say(done, "passed");
            ::pause();
        });
        EXPECT_EQ(child.line(), "passed");
        connector = child.pid();
        const DaemonClient passed(test::receive_descriptor(ours.get()));
        EXPECT_EQ(error_of(passed.ask(loop, adopt)), 0); // it still lives
    }
    const test::Child child = in_child([&](int done) {
        const DaemonClient client(path);
        test::send_descriptor(theirs.get(), client.fd(), "x");
        test::say(done, "passed");
        ::pause();
    });
    EXPECT_EQ(child.line(), "passed");
    const DaemonClient passed(test::receive_descriptor(ours.get()));
    child.end();
    if (!test::kernel_knows_peer_pidfd())
        GTEST_SKIP() << "this kernel has no SO_PEERPIDFD";
    EXPECT_EQ(error_of(passed.ask(loop, adopt)), ESRCH);
    EXPECT_EQ(error_of(passed.ask(loop, R"({"do":"set","pid":1,"weight":1})")), 0);
    ASSERT_EQ(control.callers.size(), 2U);
    EXPECT_EQ(control.callers[0].pid, connector);
    EXPECT_EQ(control.callers[1].pid, child.pid());
}

TEST_F(XpreemptdServer, ReleasesTheLoopWhenNoDescriptorIsLeft) {
#ifdef __SANITIZE_ADDRESS__ // built with UBSan, too
    GTEST_SKIP()
        << "UBSan looks at an object by a pipe, and takes it for none without a descriptor";
#endif
    serve();
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
    const DaemonClient first(path), second(path);
    // Only numbers below the limit count, so fill the gaps.
    std::vector<xpreempt::UniqueFd> fill;
    const rlimit few{static_cast<rlim_t>(second.fd()) + 20, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        fill.emplace_back(fd);
    EXPECT_EQ(error_of(first.answer(loop)), EMFILE);
    EXPECT_EQ(error_of(second.answer(loop)), EMFILE);
    EXPECT_EQ(server->clients(), 0U);
    fill.clear();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
    const DaemonClient third(path);
    EXPECT_EQ(error_of(third.ask(loop, status)), 0);
}

} // namespace
