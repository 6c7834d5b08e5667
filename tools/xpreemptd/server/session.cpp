// SPDX-License-Identifier: MIT
// Receives requests and sends replies, neither of which ever blocks.
#include "server/session.hpp"

#include "protocol/replies.hpp"
#include "server/dispatch.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

namespace xpreemptd {

namespace {

// Linux 6.5; the headers of older systems lack it.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

// The kernel doubles it. A client may leave two of the longest replies unread, or some sixty short
// ones, before it is disconnected; 1,000 of them cost the machine at most 140 MB.
constexpr int send_buffer_bytes = static_cast<int>(max_message_bytes) / 2 + 1024;

} // namespace

std::optional<Session> Session::of(xpreempt::UniqueFd socket, std::uint64_t connection) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
        bytes != sizeof peer ||
        ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes,
                     sizeof send_buffer_bytes) != 0)
        return std::nullopt;
    return Session(std::move(socket), {peer.pid, peer.uid, connection});
}

bool Session::serve(Control& control, std::span<char> buffer) {
    // With MSG_TRUNC the whole length is returned. Descriptors that came along are closed by the
    // kernel, for there is no room for them.
    const ssize_t length =
        ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR;
    if (length == 0)
        return false;
    const auto bytes = static_cast<std::size_t>(length);
    if (bytes > buffer.size())
        return send(refusal_reply({EMSGSIZE, fmt::format("the message has {} bytes, {} are allowed",
                                                         bytes, buffer.size())}));
    return send(reply(control, {buffer.data(), bytes}));
}

std::string Session::reply(Control& control, std::string_view message) const {
    const Answer<Request> request = parse_request(message);
    if (!request)
        return refusal_reply(request.error());
    const bool of_connector = std::holds_alternative<AdoptRequest>(*request) ||
                              std::holds_alternative<HintRequest>(*request);
    if (of_connector && !connector_lives())
        return refusal_reply({ESRCH, "the process that connected has ended, and the request "
                                     "concerns no other one: connect again"});
    return reply_to(control, caller_, *request);
}

// A connection outlives the process that made it in a child or where it was passed to. The pid may
// then be that of a stranger. Kernels before 6.5 can't detect that.
bool Session::connector_lives() const {
    int number = -1;
    socklen_t bytes = sizeof number;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERPIDFD, &number, &bytes) != 0)
        return errno == ENOPROTOOPT;
    const xpreempt::UniqueFd process(number);
    pollfd ended{process.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) == 0;
}

bool Session::send(std::string_view reply) const {
    return ::send(socket_.get(), reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(reply.size());
}

void Session::dismiss(const Refusal& refusal) const {
    (void)send(refusal_reply(refusal));
}

} // namespace xpreemptd
