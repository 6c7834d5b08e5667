// SPDX-License-Identifier: MIT
// The socket: one client, whole messages with their descriptors, replies.
#include "vfu/connection.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace vgpu::vfu {
namespace {

Error system_error(const std::string& what) {
    const int number = errno;
    return {number, fmt::format("{}: {}", what, std::strerror(number))};
}

void take_descriptors(msghdr& message, std::vector<UniqueFd>& fds) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            fds.emplace_back(fd);
        }
    }
}

} // namespace

Result<Listener> Listener::listen(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return Error{ENAMETOOLONG,
                     fmt::format("socket path '{}': want 1 to {} characters, use a shorter one",
                                 path, sizeof address.sun_path - 1)};
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    Listener listener;
    listener.fd_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listener.fd_)
        return system_error("socket");
    if (::bind(listener.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0) {
        if (errno == EADDRINUSE)
            return Error{errno, fmt::format("socket {} exists: another server runs there, or "
                                            "left it behind; remove it or choose another path",
                                            path)};
        return system_error("socket " + path);
    }
    listener.path_ = path;
    if (::listen(listener.fd_.get(), 1) != 0)
        return system_error("socket " + path);
    return listener;
}

Listener::~Listener() {
    if (fd_ && !path_.empty())
        ::unlink(path_.c_str());
}

Result<UniqueFd> Listener::accept() {
    for (;;) {
        UniqueFd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (client)
            return client;
        if (errno != EINTR)
            return system_error("accept on " + path_);
    }
}

Result<pid_t> Connection::peer() const {
    ucred credentials{};
    socklen_t bytes = sizeof credentials;
    if (::getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
        return system_error("credentials of the client");
    return credentials.pid;
}

Result<bool> Connection::wait(std::chrono::nanoseconds time) {
    pollfd entry{fd_.get(), POLLIN, 0};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec bound{.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
    const int ready = ::ppoll(&entry, 1, &bound, nullptr);
    if (ready < 0)
        return errno == EINTR ? Result<bool>(false) : Result<bool>(system_error("ppoll"));
    return ready > 0;
}

Result<std::optional<Message>> Connection::receive() {
    Message message;
    std::array<std::byte, sizeof(Header)> raw{};
    std::size_t filled = 0;
    while (filled < raw.size()) {
        iovec part{raw.data() + filled, raw.size() - filled};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_message_fds)> control{};
        msghdr request{};
        request.msg_iov = &part;
        request.msg_iovlen = 1;
        request.msg_control = control.data();
        request.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(fd_.get(), &request, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error("receive");
        take_descriptors(request, message.fds);
        if (got == 0 && filled == 0)
            return std::optional<Message>();
        if (got == 0)
            return Error{EPROTO, "the client closed the connection inside a header"};
        filled += static_cast<std::size_t>(got);
    }
    auto header = parse_header(raw);
    if (!header)
        return header.error();
    message.header = *header;
    message.body.resize(message.header.size - sizeof(Header));
    for (filled = 0; filled < message.body.size();) {
        const ssize_t got =
            ::recv(fd_.get(), message.body.data() + filled, message.body.size() - filled, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error("receive");
        if (got == 0)
            return Error{EPROTO, "the client closed the connection inside a message"};
        filled += static_cast<std::size_t>(got);
    }
    return std::optional<Message>(std::move(message));
}

Result<Nothing> Connection::reply(const Header& request, std::span<const std::byte> body, int fd) {
    Header header = request;
    header.size = static_cast<std::uint32_t>(sizeof header + body.size());
    header.flags = flag_reply;
    header.error = 0;
    return send(header, body, fd);
}

Result<Nothing> Connection::reply_error(const Header& request, int errno_value) {
    Header header = request;
    header.size = sizeof header;
    header.flags = flag_reply | flag_error;
    header.error = static_cast<std::uint32_t>(errno_value);
    return send(header, {}, -1);
}

Result<Nothing> Connection::send(const Header& header, std::span<const std::byte> body, int fd) {
    const auto* raw = reinterpret_cast<const std::byte*>(&header);
    std::vector<std::byte> bytes(raw, raw + sizeof header);
    bytes.insert(bytes.end(), body.begin(), body.end());
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        iovec part{bytes.data() + sent, bytes.size() - sent};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        if (fd >= 0 && sent == 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(sizeof fd);
            std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
        }
        const ssize_t written = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && (errno == EPIPE || errno == ECONNRESET))
            return Error{errno, "QEMU closed the connection before it had its answer: it was "
                                "killed, or the machine is so busy that it waited longer than "
                                "the device's x-msg-timeout (5000 ms unless set)"};
        if (written < 0)
            return system_error("send");
        sent += static_cast<std::size_t>(written);
    }
    return Nothing{};
}

} // namespace vgpu::vfu
