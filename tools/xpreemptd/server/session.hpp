// SPDX-License-Identifier: MIT
// One client of the daemon's socket.
#pragma once

#include "base/unique_fd.hpp"
#include "protocol/control.hpp"
#include "protocol/requests.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace xpreemptd {

class Session {
public:
    // socket: connected and non-blocking. Returns nothing if the peer is unknown.
    [[nodiscard]] static std::optional<Session> of(xpreempt::UniqueFd socket,
                                                   std::uint64_t connection);

    // Takes one request if there is one, and replies. False: the client is gone, or reads no
    // replies; disconnect it. buffer: max_message_bytes.
    [[nodiscard]] bool serve(Control& control, std::span<char> buffer);
    // Sends the reason if that doesn't block; the caller disconnects the client.
    void dismiss(const Refusal& refusal) const;

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] const Caller& caller() const { return caller_; }

private:
    Session(xpreempt::UniqueFd socket, const Caller& caller)
        : socket_(std::move(socket)), caller_(caller) {}

    [[nodiscard]] std::string reply(Control& control, std::string_view message) const;
    [[nodiscard]] bool connector_lives() const;
    [[nodiscard]] bool send(std::string_view reply) const;

    xpreempt::UniqueFd socket_;
    Caller caller_;
};

} // namespace xpreemptd
