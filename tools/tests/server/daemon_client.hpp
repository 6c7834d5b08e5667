// SPDX-License-Identifier: MIT
// A client of the daemon's socket that can misbehave, in the thread of the daemon's loop.
#pragma once

#include "base/unique_fd.hpp"
#include "protocol/requests.hpp"
#include "server/loop.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

namespace test {

class DaemonClient {
public:
    explicit DaemonClient(const std::filesystem::path& path)
        : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.native().copy(address.sun_path, sizeof address.sun_path - 1);
        connected_ =
            fd_.valid() &&
            ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    explicit DaemonClient(xpreempt::UniqueFd fd) : fd_(std::move(fd)) {}

    [[nodiscard]] bool connected() const { return connected_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    void close() { fd_ = xpreempt::UniqueFd(); }

    bool send(std::string_view message) const {
        return fd_.valid() && ::send(fd_.get(), message.data(), message.size(), MSG_NOSIGNAL) ==
                                  static_cast<ssize_t>(message.size());
    }
    // Nothing: no reply is there. Empty: disconnected.
    [[nodiscard]] std::optional<std::string> receive() const {
        std::string reply(xpreemptd::max_message_bytes + 1, '\0');
        const ssize_t length = ::recv(fd_.get(), reply.data(), reply.size(), 0);
        if (length < 0 && errno == EAGAIN)
            return std::nullopt;
        reply.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
        return reply;
    }
    // Lets the daemon work until the reply is there; empty without one after many turns.
    [[nodiscard]] std::string ask(xpreemptd::Loop& loop, std::string_view message) const {
        if (!send(message))
            return {};
        return answer(loop);
    }
    [[nodiscard]] std::string answer(xpreemptd::Loop& loop) const {
        for (int turn = 0; turn < 20000; ++turn) {
            if (const auto reply = receive())
                return *reply;
            (void)loop.wait_until(std::chrono::steady_clock::now());
        }
        return {};
    }

private:
    xpreempt::UniqueFd fd_;
    bool connected_ = true;
};

} // namespace test
