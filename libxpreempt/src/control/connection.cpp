// SPDX-License-Identifier: MIT
// Non-blocking conversations, several at once.
#include "control/connection.hpp"

#include "control/directory.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace xpreempt::control {

Result<Connection> Connection::open(const std::string& path) {
    Connection made(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
    struct ucred peer{};
    socklen_t bytes = sizeof peer;
    if (!made.fd_.valid() || at_path(::connect, made.fd_.get(), path) != 0 ||
        ::getsockopt(made.fd_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return fail(errno, Op::open_control);
    made.peer_pid_ = peer.pid;
    return made;
}

void Connection::ask(wire::Kind kind, const wire::Target* target) {
    reader_.emplace(++tag_);
    const auto bytes = wire::frame(
        kind, tag_, target != nullptr ? std::as_bytes(std::span(target, 1)) : wire::Bytes{});
    output_.insert(output_.end(), bytes.begin(), bytes.end());
    if (!failure_)
        go_on();
}

void Connection::go_on() {
    while (!output_.empty()) {
        const ssize_t sent =
            ::send(fd_.get(), output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        // The server rejected us and closed; read the reason it sent.
        if (sent < 0 && errno == EPIPE) {
            output_.clear();
            break;
        }
        if (sent < 0) {
            failure_ = wire::Broken{errno, std::strerror(errno)};
            return;
        }
        output_.erase(output_.begin(), output_.begin() + sent);
    }
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): recv() fills it
    std::array<std::byte, 16384> buffer;
    while (!ended()) {
        const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            const int reason = got == 0 ? ECONNRESET : errno;
            failure_ = wire::Broken{reason, "the program closed the connection"};
            return;
        }
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): ask() has set it
        failure_ = reader_->received({buffer.data(), static_cast<std::size_t>(got)});
    }
}

void Connection::await(std::span<Connection* const> connections, Clock::time_point deadline) {
    for (;;) {
        std::vector<struct pollfd> fds;
        std::vector<Connection*> open;
        for (Connection* connection : connections) {
            if (connection->ended())
                continue;
            const bool sends = !connection->output_.empty();
            fds.push_back(
                {connection->fd(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0});
            open.push_back(connection);
        }
        if (open.empty())
            return;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0) {
            for (Connection* connection : open)
                connection->failure_ = wire::Broken{ETIMEDOUT, "the program did not reply in time"};
            return;
        }
        if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) <= 0)
            continue;
        for (std::size_t i = 0; i < open.size(); ++i)
            if (fds[i].revents != 0)
                open[i]->go_on();
    }
}

} // namespace xpreempt::control
