// SPDX-License-Identifier: MIT
// The control socket itself, in a directory of the test's own: peers that are slow, many, foreign,
// or die.
#include "control/connection.hpp"
#include "control/directory.hpp"
#include "control/server.hpp"
#include "fake_control_host.hpp"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace {

namespace control = xpreempt::control;
namespace wire = xpreempt::control::wire;
namespace fs = std::filesystem;
using control::Connection;
using wire::Object;
using Clock = std::chrono::steady_clock;

// Only for conditions that the other thread brings about; a test never depends on how soon.
template <typename Condition> bool eventually(Condition condition) {
    for (int i = 0; i < 20000; ++i) {
        if (condition())
            return true;
        ::usleep(1000);
    }
    return false;
}

int stream_socket() {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), "socket");
    return fd;
}

class ServerTest : public testing::Test {
protected:
    ServerTest() {
        std::string name = (fs::temp_directory_path() / "xpreempt-control-XXXXXX").string();
        base = ::mkdtemp(name.data());
        directory = base / "kfd-preempt";
    }
    ~ServerTest() override {
        server.reset();
        fs::remove_all(base);
    }
    void open(const control::Limits& limits = {}) {
        auto opened = control::Server::open(host, limits, {directory});
        ASSERT_TRUE(opened) << std::strerror(opened.error().errno_value);
        server = std::move(*opened);
    }
    [[nodiscard]] std::string path() const { return directory / control::own_socket_name(); }
    [[nodiscard]] Connection connect() const {
        auto connection = Connection::open(path());
        EXPECT_TRUE(connection);
        return std::move(*connection);
    }
    static void wait(Connection& connection) {
        Connection* const one[] = {&connection};
        Connection::await(one, Clock::now() + std::chrono::seconds(60));
    }
    static int ask(Connection& connection, wire::Kind kind, std::string_view name = {},
                   std::uint32_t flags = 0) {
        const auto wanted = test::target(Object::stream, name, flags);
        connection.ask(kind, kind == wire::Kind::list ? nullptr : &wanted);
        wait(connection);
        if (connection.failure())
            return -connection.failure()->error;
        return connection.answer().done.error;
    }
    std::uint32_t holds() { return host.holds(Object::stream, 0x1000); }
    static int raw(const std::string& path) {
        const int fd = stream_socket();
        struct sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(0, ::connect(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address));
        return fd;
    }

    fs::path base, directory;
    test::FakeControlHost host;
    std::unique_ptr<control::Server> server;
};

TEST_F(ServerTest, its_file_is_its_owners_alone) {
    ::umask(0);
    open();
    struct stat status{};
    ASSERT_EQ(0, ::lstat(path().c_str(), &status));
    EXPECT_EQ(static_cast<mode_t>(S_IFSOCK | 0600), status.st_mode);
    ASSERT_EQ(0, ::lstat(directory.c_str(), &status));
    EXPECT_EQ(static_cast<mode_t>(S_IFDIR | 0700), status.st_mode);
    EXPECT_EQ(::getpid(), connect().peer_pid());
    server.reset();
    EXPECT_TRUE(fs::is_empty(directory));
}

TEST_F(ServerTest, several_clients_at_once_and_one_that_dies) {
    open();
    Connection one = connect();
    Connection other = connect();
    EXPECT_EQ(0, ask(one, wire::Kind::suspend, "low"));
    EXPECT_EQ(0, ask(other, wire::Kind::suspend, "low"));
    EXPECT_EQ(2U, holds());
    const std::string socket = path(); // with the pid of this process
    const pid_t child = ::fork();
    if (child == 0) {
        auto third = Connection::open(socket);
        if (!third || ask(*third, wire::Kind::suspend, "low") != 0)
            ::_exit(1);
        for (;;)
            ::pause();
    }
    EXPECT_TRUE(eventually([this] { return holds() == 3; }));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(eventually([this] { return holds() == 2; }));
    EXPECT_EQ(0, ask(one, wire::Kind::resume, "low"));
    EXPECT_EQ(1U, holds());
    {
        const Connection closing = std::move(other);
    }
    EXPECT_TRUE(eventually([this] { return holds() == 0; }));
}

TEST_F(ServerTest, the_end_of_the_server_undoes_every_hold) {
    open();
    Connection one = connect();
    EXPECT_EQ(0, ask(one, wire::Kind::suspend, "low"));
    EXPECT_EQ(0, ask(one, wire::Kind::suspend, "high", wire::keep));
    server.reset();
    EXPECT_EQ(0U, holds());
    EXPECT_EQ(0U, host.holds(Object::stream, 0x1001));
    EXPECT_EQ(-ECONNRESET, ask(one, wire::Kind::list));
}

TEST_F(ServerTest, half_a_frame_is_given_up_and_stops_nobody) {
    control::Limits limits;
    limits.frame = std::chrono::milliseconds(50);
    open(limits);
    const int half = raw(path());
    ASSERT_EQ(3, ::send(half, "\x10\0\0", 3, 0));
    Connection one = connect();
    EXPECT_EQ(0, ask(one, wire::Kind::list));
    char byte = 0;
    EXPECT_EQ(0, ::recv(half, &byte, 1, 0)); // closed
    ::close(half);
    EXPECT_EQ(0, ask(one, wire::Kind::list));
}

TEST_F(ServerTest, who_does_not_read_is_given_up_and_stops_nobody) {
    control::Limits limits;
    limits.frame = std::chrono::milliseconds(50);
    host.num_streams = 4096; // more than a socket's buffers take
    open(limits);
    const int deaf = raw(path());
    const auto bytes = wire::frame(wire::Kind::list, 1, {});
    ASSERT_EQ(static_cast<ssize_t>(bytes.size()), ::send(deaf, bytes.data(), bytes.size(), 0));
    Connection one = connect();
    EXPECT_EQ(0, ask(one, wire::Kind::list));
    EXPECT_EQ(4096U, one.answer().streams.size());
    struct pollfd hung{deaf, POLLRDHUP, 0};
    EXPECT_EQ(1, ::poll(&hung, 1, 60000));
    ::close(deaf);
}

TEST_F(ServerTest, an_idle_client_goes_unless_it_holds) {
    control::Limits limits;
    limits.idle = std::chrono::milliseconds(50);
    open(limits);
    Connection holder = connect();
    EXPECT_EQ(0, ask(holder, wire::Kind::suspend, "low"));
    const int idle = raw(path());
    char byte = 0;
    EXPECT_EQ(0, ::recv(idle, &byte, 1, 0));
    ::close(idle);
    EXPECT_EQ(1U, holds());
    EXPECT_EQ(0, ask(holder, wire::Kind::resume, "low"));
}

TEST_F(ServerTest, garbage_is_answered_and_ends_the_connection) {
    open();
    const int fd = raw(path());
    const char garbage[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ASSERT_LT(0, ::send(fd, garbage, sizeof garbage, 0));
    std::vector<std::byte> answer(4096);
    ASSERT_LT(0, ::recv(fd, answer.data(), answer.size(), 0));
    const auto frame = wire::parse_frame(answer, answer.size());
    ASSERT_TRUE(std::holds_alternative<wire::Frame>(frame));
    EXPECT_EQ(EPROTO, wire::parse<wire::Done>(std::get<wire::Frame>(frame).payload)->error);
    ::close(fd);
    Connection one = connect();
    EXPECT_EQ(0, ask(one, wire::Kind::list));
}

TEST_F(ServerTest, too_many_clients_are_told_so) {
    control::Limits limits;
    limits.clients = 2;
    open(limits);
    Connection one = connect(), two = connect();
    EXPECT_EQ(0, ask(one, wire::Kind::list));
    EXPECT_EQ(0, ask(two, wire::Kind::list));
    Connection three = connect();
    EXPECT_EQ(EBUSY, ask(three, wire::Kind::list));
    EXPECT_EQ("2 programs are connected already", wire::text_of(three.answer().done.text));
    {
        const Connection closing = std::move(two);
    }
    EXPECT_TRUE(eventually([this] {
        Connection again = connect();
        return ask(again, wire::Kind::list) == 0;
    }));
}

TEST_F(ServerTest, another_user_is_refused) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become another user";
    open();
    // Directory and file would keep the peer out; this is about what the socket itself thinks.
    ASSERT_EQ(0, ::chmod(base.c_str(), 0711));
    ASSERT_EQ(0, ::chmod(directory.c_str(), 0711));
    ASSERT_EQ(0, ::chmod(path().c_str(), 0666));
    const std::string socket = path();
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setgid(4242) != 0 || ::setuid(4242) != 0)
            ::_exit(2);
        auto connection = Connection::open(socket);
        if (!connection)
            ::_exit(3);
        const int answer = ask(*connection, wire::Kind::suspend, "low");
        ::_exit(answer == EPERM || answer == -ECONNRESET ? 0 : 4);
    }
    int status = 0;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, status) << WEXITSTATUS(status);
    EXPECT_EQ(0U, holds());
}

TEST_F(ServerTest, a_forked_child_has_no_socket) {
    open();
    Connection one = connect();
    EXPECT_EQ(0, ask(one, wire::Kind::suspend, "low"));
    const pid_t child = ::fork();
    if (child == 0) {
        int sockets = 0;
        for (int fd = 0; fd < 256; ++fd) {
            struct stat status{};
            if (::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && fd != one.fd())
                ++sockets;
        }
        server.reset(); // as at exit: must neither wait for the thread nor remove the file
        ::_exit(sockets);
    }
    int status = 0;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ(0, ask(one, wire::Kind::list));
    EXPECT_EQ(1U, holds());
    EXPECT_TRUE(fs::exists(path()));
}

TEST_F(ServerTest, sockets_of_dead_processes_are_swept_and_others_are_not) {
    fs::create_directory(directory);
    fs::permissions(directory, fs::perms::owner_all);
    const auto leave = [this](const std::string& name, bool listens) {
        const int fd = stream_socket();
        struct sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string where = directory / name;
        std::strncpy(address.sun_path, where.c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(0, ::bind(fd, reinterpret_cast<struct sockaddr*>(&address), sizeof address));
        EXPECT_TRUE(!listens || ::listen(fd, 1) == 0);
        return fd;
    };
    const int live = leave("1.sock", true);
    ::close(leave("2.sock", true));
    fs::create_symlink("1.sock", directory / "3.sock");
    open();
    EXPECT_TRUE(fs::exists(directory / "1.sock"));
    EXPECT_FALSE(fs::exists(directory / "2.sock"));
    EXPECT_TRUE(fs::is_symlink(directory / "3.sock"));
    ::close(live);
}

TEST_F(ServerTest, a_directory_that_is_not_ours_is_not_used) {
    const auto refused = [this](const fs::path& path) {
        const auto opened = control::Server::open(host, {}, {path});
        return opened ? 0 : opened.error().errno_value;
    };
    fs::create_directory(base / "open");
    ::chmod((base / "open").c_str(), 0755);
    EXPECT_EQ(EPERM, refused(base / "open"));
    fs::create_directory(base / "real");
    ::chmod((base / "real").c_str(), 0700);
    fs::create_symlink(base / "real", base / "link");
    EXPECT_EQ(ENOTDIR, refused(base / "link"));
    EXPECT_EQ(ENOENT, refused(base / "nothing" / "below"));
    // Anybody may replace what is in it.
    fs::create_directory(base / "public");
    ::chmod((base / "public").c_str(), 0777);
    EXPECT_EQ(EPERM, refused(base / "public" / "kfd-preempt"));
    if (::geteuid() == 0) {
        ASSERT_EQ(0, ::chown((base / "real").c_str(), 4242, 4242));
        EXPECT_EQ(EPERM, refused(base / "real"));
    }
    // The next candidate is tried.
    auto opened = control::Server::open(host, {}, {base / "open", directory});
    EXPECT_TRUE(opened);
}

TEST(DirectoryTest, candidates_and_names) {
    EXPECT_EQ((std::vector<std::string>{"/x/kfd-preempt", "/run/user/7/kfd-preempt",
                                        "/tmp/kfd-preempt-7"}),
              control::directories_of(7, "/x"));
    EXPECT_EQ(2U, control::directories_of(7, "relative").size());
    EXPECT_EQ("7.sock", control::socket_name(7, "pid:[4026531836]"));
    EXPECT_EQ("7@4026532301.sock", control::socket_name(7, "pid:[4026532301]"));
}

TEST(ConnectionTest, who_never_answers_fails_alone) {
    std::string name = (fs::temp_directory_path() / "xpreempt-control-XXXXXX").string();
    const fs::path base = ::mkdtemp(name.data());
    const int silent = stream_socket();
    struct sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (base / "silent").c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(0, ::bind(silent, reinterpret_cast<struct sockaddr*>(&address), sizeof address));
    ASSERT_EQ(0, ::listen(silent, 1));
    test::FakeControlHost host;
    auto server = control::Server::open(host, {}, {base / "d"});
    ASSERT_TRUE(server);
    auto one = Connection::open(base / "silent");
    auto two = Connection::open(base / "d" / control::own_socket_name());
    ASSERT_TRUE(one && two);
    one->ask(wire::Kind::list);
    two->ask(wire::Kind::list);
    Connection* const both[] = {&*one, &*two};
    Connection::await(both, Clock::now() + std::chrono::milliseconds(300));
    ASSERT_TRUE(one->failure());
    EXPECT_EQ(ETIMEDOUT, one->failure()->error);
    ASSERT_FALSE(two->failure()) << two->failure()->text;
    EXPECT_EQ(2U, two->answer().streams.size());
    ::close(silent);
    EXPECT_EQ(ECONNREFUSED, Connection::open(base / "silent").error().errno_value);
    server->reset();
    fs::remove_all(base);
}

} // namespace
