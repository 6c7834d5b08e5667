// SPDX-License-Identifier: MIT
// Accepts, authorizes and serves peers, none of which is trusted to be quick or right.
#include "control/server.hpp"

#include "base/start_thread.hpp"
#include "control/directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace xpreempt::control {

namespace {

// The uid that the kernel reports for uids that aren't mapped in our user namespace.
constexpr uid_t overflow_uid = 65534;

std::optional<Owner> peer_of(int fd) {
    struct ucred peer{};
    socklen_t bytes = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return std::nullopt;
    return Owner{0, static_cast<std::uint32_t>(peer.pid), peer.uid};
}

bool is_welcome(const Owner& peer) {
    return peer.uid == 0 || (peer.uid == ::geteuid() && peer.uid != overflow_uid);
}

// Sends the error to a rejected peer. The frame is small enough that the send never blocks.
void turn_away(int fd, int error, std::string_view text) {
    const auto bytes = wire::done_frame(0, error, text);
    (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace

Result<std::unique_ptr<Server>> Server::open(Host& host, const Limits& limits,
                                             const std::vector<std::string>& directories) {
    auto directory = TRY(open_own_directory(directories));
    sweep(directory.get());
    std::unique_ptr<Server> server(new Server(host, limits));
    TRY(server->listen_in(std::move(directory)));
    auto started = start_thread("xpreempt-ctl", [raw = server.get()] { raw->run(); });
    if (!started)
        return fail(started.error().errno_value, Op::open_control);
    server->thread_ = std::move(*started);
    return server;
}

Result<void> Server::listen_in(UniqueFd directory) {
    listening_ = ForkSafeFd::socket();
    wake_ = ForkSafeFd::event();
    if (!listening_.valid() || !wake_.valid())
        return fail(errno, Op::open_control);
    // It gets its name when it listens already: a socket that refuses is one of a dead process.
    const std::string name = own_socket_name();
    const std::string early = "." + name;
    ::unlinkat(directory.get(), early.c_str(), 0); // of an earlier process of that pid
    // Before bind(): the file takes the socket's mode, less the umask.
    if (::fchmod(listening_.get(), S_IRUSR | S_IWUSR) != 0 ||
        at_path(::bind, listening_.get(), path_below(directory.get(), early)) != 0 ||
        ::listen(listening_.get(), 16) != 0 ||
        ::renameat(directory.get(), early.c_str(), directory.get(), name.c_str()) != 0) {
        const int reason = errno;
        ::unlinkat(directory.get(), early.c_str(), 0);
        return fail(reason, Op::open_control);
    }
    directory_ = std::move(directory);
    name_ = name;
    return {};
}

Server::~Server() {
    if (::getpid() != pid_) {
        // The thread and what it held are the parent's.
        if (thread_.joinable())
            thread_.detach();
        for (Client& client : clients_)
            (void)client.session.release();
        return;
    }
    ask_to_end();
    if (thread_.joinable())
        thread_.join();
    clients_.clear();
    book_.release_all();
}

void Server::ask_to_end() {
    if (!name_.empty())
        ::unlinkat(directory_.get(), name_.c_str(), 0);
    name_.clear();
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

bool Server::end_within(std::chrono::milliseconds patience) {
    ask_to_end();
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return ended_; });
}

void Server::run() {
    // Out of memory ends the socket, not its host.
    try {
        while (wait()) {
        }
    } catch (...) {
        clients_.clear();
        book_.release_all();
        listening_.reset();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
}

std::chrono::milliseconds Server::patience(const Client& client) const {
    const bool owes = client.session->in_frame() || !client.session->to_send().empty();
    return owes ? limits_.frame : limits_.idle;
}

int Server::poll_timeout(Clock::time_point now) const {
    using std::chrono::milliseconds;
    std::optional<Clock::time_point> first;
    const auto at = [&](Clock::time_point when) { first = first ? std::min(*first, when) : when; };
    for (const Client& client : clients_)
        if (client.session->in_frame() || !client.session->to_send().empty() ||
            !client.session->holds())
            at(client.last + patience(client));
    if (!may_accept_)
        at(now + limits_.retry);
    if (!first)
        return -1;
    return static_cast<int>(
        std::max(std::chrono::ceil<milliseconds>(*first - now), milliseconds(0)).count());
}

bool Server::wait() {
    std::vector<struct pollfd> fds;
    fds.push_back({wake_.get(), POLLIN, 0});
    fds.push_back({may_accept_ ? listening_.get() : -1, POLLIN, 0});
    for (const Client& client : clients_) {
        const bool sends = !client.session->to_send().empty();
        fds.push_back({client.fd.get(), static_cast<short>(sends ? POLLOUT : POLLIN), 0});
    }
    const int ready = ::poll(fds.data(), fds.size(), poll_timeout(Clock::now()));
    if (fds[0].revents != 0)
        return false;
    const auto now = Clock::now();
    may_accept_ = may_accept_ || ready == 0;
    auto polled = fds.begin() + 2;
    std::erase_if(clients_,
                  [&](Client& client) { return !serve(client, (polled++)->revents, now); });
    if (fds[1].revents != 0)
        accept_all();
    return true;
}

void Server::accept_all() {
    for (;;) {
        ForkSafeFd fd = ForkSafeFd::accept(listening_.get());
        if (!fd.valid()) {
            // Out of descriptors, which are the host's to free: look again later, don't spin.
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                may_accept_ = false;
            return;
        }
        admit(std::move(fd), Clock::now());
    }
}

void Server::admit(ForkSafeFd fd, Clock::time_point now) {
    auto peer = peer_of(fd.get());
    if (!peer || !is_welcome(*peer))
        return turn_away(fd.get(), EPERM,
                         "this program serves its own user and root, not uid " +
                             std::to_string(peer ? peer->uid : overflow_uid));
    if (clients_.size() >= limits_.clients)
        return turn_away(fd.get(), EBUSY,
                         std::to_string(clients_.size()) + " programs are connected already");
    peer->connection = ++connections_;
    clients_.push_back({std::move(fd), std::make_unique<Session>(host_, book_, *peer), now});
} // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the client has it

// False: the connection is over.
bool Server::serve(Client& client, short events, Clock::time_point now) {
    Session& session = *client.session;
    if (const wire::Bytes out = session.to_send(); !out.empty()) {
        const ssize_t sent =
            ::send(client.fd.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (sent > 0) {
            session.sent(static_cast<std::size_t>(sent));
            client.last = now;
        }
    } else if (events != 0) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): recv() fills it
        std::array<std::byte, wire::max_request_bytes> buffer;
        const ssize_t got = ::recv(client.fd.get(), buffer.data(), session.wants(), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got > 0) {
            // A trickle doesn't buy time: a frame is due as a whole.
            if (!session.in_frame())
                client.last = now;
            session.received({buffer.data(), static_cast<std::size_t>(got)});
            if (!session.to_send().empty())
                client.last = now;
        }
    }
    if (session.over())
        return false;
    const bool waits = !session.in_frame() && session.to_send().empty() && session.holds();
    return waits || now - client.last < patience(client);
}

} // namespace xpreempt::control
