// SPDX-License-Identifier: MIT
// Asks xpreemptd, and says what its refusals mean.
#include "daemon/daemon.hpp"

#include "output/names.hpp"
#include "processes/error_messages.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

namespace cli {

namespace {

constexpr timeval patience{10, 0};

tl::unexpected<Failure> failed(int error, const std::string& text) {
    return tl::make_unexpected(Failure{exit_of(error), error, "xpreemptd: " + printable(text)});
}

Failure connect_failure(const std::filesystem::path& path, int error) {
    const std::string where = printable(path.string());
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
        return {Exit::failed, error,
                fmt::format("xpreemptd is not running (nothing listens at {}): `systemctl start "
                            "xpreemptd`; if it runs in a container, mount {} there and here",
                            where, printable(path.parent_path().string()))};
    case EACCES:
    case EPERM:
        return {Exit::permission, error,
                fmt::format("{}: not allowed to connect: check the permissions of the socket and "
                            "of its directory",
                            where)};
    case EAGAIN:
        return {Exit::failed, error,
                fmt::format("xpreemptd is busy, no connection to {}; try again", where)};
    default:
        return {Exit::failed, error,
                fmt::format("cannot connect to {}: {} ({}); does xpreemptd listen there?", where,
                            std::strerror(error), errno_name(error))};
    }
}

template <typename T> Outcome<T> outcome_of(xpreemptd::Answer<T> answer) {
    if (!answer)
        return failed(answer.error().error, answer.error().text);
    if constexpr (std::is_void_v<T>)
        return {};
    else
        return std::move(*answer);
}

} // namespace

std::filesystem::path daemon_socket_from_environment() {
    const char* value = ::secure_getenv("XPREEMPTD_SOCKET");
    return value != nullptr && *value != '\0' ? value : "/run/xpreempt/xpreemptd.sock";
}

Outcome<Daemon> Daemon::connect(const Context& context) {
    const std::filesystem::path& path = context.daemon_socket;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.native().size() >= sizeof address.sun_path)
        return tl::make_unexpected(connect_failure(path, ENAMETOOLONG));
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    xpreempt::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket.valid() ||
        ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return tl::make_unexpected(connect_failure(path, errno));
    return Daemon(std::move(socket));
}

Outcome<std::string> Daemon::ask(const xpreemptd::Request& request) const {
    const std::string message = xpreemptd::text_of(request);
    // Disconnected before the request: the reason may be there to read.
    const bool sent = ::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) >= 0;
    if (!sent && errno != EPIPE)
        return failed(errno, fmt::format("cannot send the request: {}", std::strerror(errno)));
    std::string reply(xpreemptd::max_message_bytes, '\0');
    const ssize_t length = ::recv(socket_.get(), reply.data(), reply.size(), 0);
    if (length < 0 && errno == EAGAIN)
        return failed(ETIMEDOUT, fmt::format("no reply within {} s; try again", patience.tv_sec));
    if (length <= 0)
        return failed(ECONNRESET, "closed the connection; try again");
    reply.resize(static_cast<std::size_t>(length));
    return reply;
}

Outcome<void> Daemon::send(const xpreemptd::Request& request) const {
    const Outcome<std::string> reply = ask(request);
    if (!reply)
        return tl::make_unexpected(reply.error());
    return outcome_of(xpreemptd::parse_done(*reply));
}

Outcome<void> Daemon::adopt(const AttributeChange& change) const {
    return send(xpreemptd::AdoptRequest{change});
}

Outcome<void> Daemon::set(const xpreemptd::JobSelector& job, const AttributeChange& change) const {
    return send(xpreemptd::SetRequest{job, change});
}

Outcome<void> Daemon::focus(std::optional<pid_t> pid) const {
    return send(xpreemptd::FocusRequest{pid});
}

Outcome<void> Daemon::set_policy(const std::string& name) const {
    return send(xpreemptd::PolicyRequest{name});
}

Outcome<xpreemptd::StatusReport> Daemon::status() const {
    const Outcome<std::string> reply = ask(xpreemptd::StatusRequest{});
    if (!reply)
        return tl::make_unexpected(reply.error());
    return outcome_of(xpreemptd::parse_status_reply(*reply));
}

Outcome<xpreemptd::TracePage> Daemon::trace(std::optional<std::uint64_t> from) const {
    const Outcome<std::string> reply = ask(xpreemptd::TraceRequest{from});
    if (!reply)
        return tl::make_unexpected(reply.error());
    return outcome_of(xpreemptd::parse_trace_reply(*reply));
}

Outcome<std::vector<xpreemptd::ListedJob>> Daemon::jobs() const {
    std::vector<xpreemptd::ListedJob> jobs;
    for (std::optional<std::uint64_t> from = 0; from;) {
        const Outcome<std::string> reply = ask(xpreemptd::JobsRequest{*from});
        if (!reply)
            return tl::make_unexpected(reply.error());
        auto page = outcome_of(xpreemptd::parse_jobs_reply(*reply));
        if (!page)
            return tl::make_unexpected(page.error());
        jobs.insert(jobs.end(), page->jobs.begin(), page->jobs.end());
        if (page->next && *page->next <= *from)
            return failed(
                EPROTO,
                "repeats a page of its jobs: use a daemon and a command of the same version");
        from = page->next;
    }
    return jobs;
}

} // namespace cli
