// SPDX-License-Identifier: MIT
// Owners of the socket file: a daemon that runs, one that was killed, none.
#include "daemon_client.hpp"
#include "server_fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using namespace xpreemptd;
using test::DaemonClient;
using test::in_child;

class XpreemptdListening : public test::ServerFixture {
protected:
    // Opens the socket in a process of its own, which keeps it open, and returns the answer.
    [[nodiscard]] test::Child opener() const {
        return in_child([this](int say_to) {
            const auto opened = ListeningSocket::open({path, mode, group});
            test::say(say_to, opened ? "opened" : opened.error());
            ::pause();
        });
    }
    [[nodiscard]] static mode_t mode_of(const fs::path& file) {
        struct stat status{};
        return ::lstat(file.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
    }
};

TEST_F(XpreemptdListening, AnyUserMayConnectWhateverTheUmask) {
    const mode_t old = ::umask(0077);
    serve();
    ::umask(old);
    EXPECT_EQ(mode_of(path), 0666U);
    EXPECT_EQ(mode_of(path.parent_path()), 0755U);
    EXPECT_EQ(mode_of(path.string() + ".lock"), 0600U);
    server.reset();
    EXPECT_FALSE(fs::exists(path));
    serve();
    EXPECT_TRUE(DaemonClient(path).connected());
}

TEST_F(XpreemptdListening, RulesMayKeepUsersOut) {
    mode = 0660;
    group = ::getegid();
    serve();
    EXPECT_EQ(mode_of(path), 0660U);
    EXPECT_TRUE(DaemonClient(path).connected());
    server.reset();
    // Root may give it any group; others can't, and the daemon does not start for everyone then.
    group = 4242;
    if (::geteuid() != 0) {
        EXPECT_NE(opener().line().find("cannot change the group of"), std::string::npos);
        return;
    }
    serve();
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_gid, 4242U);
    EXPECT_EQ(mode_of(path), 0660U);
}

TEST_F(XpreemptdListening, ASecondDaemonNamesTheFirst) {
    serve();
    const std::string text = opener().line();
    EXPECT_EQ(text, fmt::format("another xpreemptd runs (pid {}) and listens at {}", ::getpid(),
                                path.string()));
    EXPECT_TRUE(DaemonClient(path).connected());
    EXPECT_EQ(fs::exists(path), true);
}

TEST_F(XpreemptdListening, ADaemonWhoseLockIsLostIsStillNotReplaced) {
    serve();
    fs::remove(path.string() + ".lock");
    EXPECT_NE(opener().line().find(fmt::format("another xpreemptd runs (pid {})", ::getpid())),
              std::string::npos);
    EXPECT_TRUE(DaemonClient(path).connected());
}

TEST_F(XpreemptdListening, ADaemonThatIsAboutToListenIsNotOvertaken) {
    const test::Child starting = in_child([this](int say_to) {
        fs::create_directory(path.parent_path());
        const int file = ::open((path.string() + ".lock").c_str(), O_RDWR | O_CREAT, 0600);
        struct flock lock{};
        lock.l_type = F_WRLCK;
        test::say(say_to, ::fcntl(file, F_SETLK, &lock) == 0 ? "locked" : "refused");
        ::pause();
    });
    ASSERT_EQ(starting.line(), "locked");
    EXPECT_NE(opener().line().find(fmt::format("another xpreemptd runs (pid {})", starting.pid())),
              std::string::npos);
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(XpreemptdListening, TheFileOfAKilledDaemonIsReplaced) {
    for (int i = 0; i < 3; ++i) {
        const test::Child killed = opener();
        EXPECT_EQ(killed.line(), "opened");
        killed.end();
        EXPECT_TRUE(fs::exists(path));
        EXPECT_FALSE(DaemonClient(path).connected());
    }
    serve();
    EXPECT_TRUE(DaemonClient(path).connected());
}

TEST_F(XpreemptdListening, OneOfManyThatStartAtOnceWins) {
    for (int round = 0; round < 5; ++round) {
        const test::Child stale = opener();
        EXPECT_EQ(stale.line(), "opened");
        stale.end();
        std::vector<std::unique_ptr<test::Child>> children;
        for (int i = 0; i < 8; ++i)
            children.emplace_back(new test::Child(opener()));
        int opened = 0;
        for (const auto& child : children)
            opened += child->line() == "opened" ? 1 : 0;
        EXPECT_EQ(opened, 1);
        EXPECT_TRUE(DaemonClient(path).connected());
    }
}

TEST_F(XpreemptdListening, WhatIsNoSocketIsLeftAlone) {
    fs::create_directory(path.parent_path());
    std::ofstream(path) << "precious";
    EXPECT_NE(opener().line().find("is there and is no socket: remove it"), std::string::npos);
    EXPECT_EQ(fs::file_size(path), 8U);
    fs::remove(path);
    fs::create_symlink(directory / "elsewhere", path);
    EXPECT_NE(opener().line().find("is no socket"), std::string::npos);
    EXPECT_TRUE(fs::is_symlink(path));
    fs::remove(path);
    fs::remove(path.string() + ".lock");
    fs::create_symlink(directory / "elsewhere", path.string() + ".lock");
    EXPECT_NE(opener().line().find("cannot open"), std::string::npos);
    EXPECT_FALSE(fs::exists(directory / "elsewhere"));
}

TEST_F(XpreemptdListening, ARemovedSocketIsMadeAgainAndTheClientsStay) {
    serve();
    const DaemonClient before(path);
    (void)loop.wait_until(std::chrono::steady_clock::now());
    EXPECT_EQ(server->keep_listening(), false);
    std::size_t clients = 1;
    for (const fs::path& removed : {path, path.parent_path()}) {
        fs::remove_all(removed);
        EXPECT_FALSE(DaemonClient(path).connected());
        EXPECT_EQ(server->keep_listening(), true);
        EXPECT_EQ(server->keep_listening(), false);
        EXPECT_EQ(mode_of(path), 0666U);
        const DaemonClient after(path);
        (void)after.ask(loop, "{}");
        EXPECT_EQ(server->clients(), ++clients);
        EXPECT_NE(opener().line().find("another xpreemptd runs"), std::string::npos);
        (void)before.ask(loop, "{}");
        --clients;
    }
    EXPECT_NE(before.ask(loop, "{}"), "");
}

TEST_F(XpreemptdListening, WhatTookThePlaceOfTheSocketIsLeftAloneUntilItGoes) {
    serve();
    fs::remove(path);
    std::ofstream(path) << "precious";
    for (int call = 0; call < 2; ++call) {
        const auto restored = server->keep_listening();
        ASSERT_FALSE(restored);
        EXPECT_NE(restored.error().find("is there and is no socket: remove it"), std::string::npos);
    }
    EXPECT_EQ(fs::file_size(path), 8U);
    fs::remove(path);
    EXPECT_EQ(server->keep_listening(), true);
    EXPECT_TRUE(DaemonClient(path).connected());
    fs::remove(path);
    std::ofstream(path) << "precious";
    server.reset();
    EXPECT_TRUE(fs::exists(path));
}

TEST_F(XpreemptdListening, APathThatCannotBeSaysWhy) {
    path = directory / std::string(120, 'x');
    EXPECT_NE(opener().line().find("must have 1 to 107 bytes"), std::string::npos);
    path = "";
    EXPECT_NE(opener().line().find("must have 1 to 107 bytes"), std::string::npos);
    path = directory / "a/b/c.sock";
    EXPECT_NE(opener().line().find("cannot make the directory"), std::string::npos);
    EXPECT_NE(opener().line().find("No such file"), std::string::npos);
}

} // namespace
