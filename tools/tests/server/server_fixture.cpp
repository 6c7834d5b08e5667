// SPDX-License-Identifier: MIT
// A daemon's server with a fake Control at a socket of its own, and child processes beside it.
#include "server_fixture.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace test {

namespace fs = std::filesystem;
using xpreempt::UniqueFd;

std::string Child::line() const {
    std::array<char, 512> text{};
    const ssize_t length = ::read(from_.get(), text.data(), text.size());
    return {text.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

void Child::end() const {
    if (ended_)
        return;
    ended_ = true;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

Child in_child(const std::function<void(int)>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        std::abort();
    UniqueFd from(ends[0]), to(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0)
        std::abort();
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        body(to.get());
        ::_exit(0);
    }
    return {pid, std::move(from)};
}

void say(int say_to, std::string_view text) {
    if (::write(say_to, text.data(), text.size()) < 0)
        ::_exit(1);
}

void send_descriptor(int socket, int fd, std::string_view message) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
    std::string text(message);
    iovec part{text.data(), text.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    EXPECT_GE(::sendmsg(socket, &header, MSG_NOSIGNAL), 0);
}

UniqueFd receive_descriptor(int socket) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    char byte = 0;
    iovec part{&byte, 1};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    int fd = -1;
    if (::recvmsg(socket, &header, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&header) != nullptr)
        std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof fd);
    UniqueFd received(fd);
    ::fcntl(received.get(), F_SETFL, O_NONBLOCK);
    return received;
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

bool kernel_knows_peer_pidfd() {
    constexpr int so_peerpidfd = 77;
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    const UniqueFd first(pair[0]), second(pair[1]);
    int fd = -1;
    socklen_t bytes = sizeof fd;
    const bool known = ::getsockopt(first.get(), SOL_SOCKET, so_peerpidfd, &fd, &bytes) == 0;
    const UniqueFd closed(fd);
    return known;
}

ServerFixture::ServerFixture() : loop(std::move(*xpreemptd::Loop::make())) {
    std::string name = "/tmp/xpreemptd-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
        std::abort();
    directory = name;
    ::chmod(name.c_str(), 0755);
    path = directory / "run/xpreemptd.sock";
}

ServerFixture::~ServerFixture() {
    server.reset();
    std::error_code error;
    fs::remove_all(directory, error);
}

void ServerFixture::serve(std::size_t max_clients, xpreemptd::Loop::Share share) {
    auto opened = xpreemptd::Server::open(loop, control, {path, mode, group}, max_clients, share);
    ASSERT_TRUE(opened) << opened.error();
    server = std::move(*opened);
}

} // namespace test
