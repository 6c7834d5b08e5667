// SPDX-License-Identifier: MIT
// Accepts clients and decides which has to leave.
#include "server/server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <tuple>

namespace xpreemptd {

using xpreempt::UniqueFd;

namespace {

bool add_to(const UniqueFd& epoll, int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// The kernel puts a descriptor that stays ready at the end of its list: they take turns. -1: none.
int next_of(int epoll) {
    epoll_event event{};
    return ::epoll_wait(epoll, &event, 1, 0) == 1 ? event.data.fd : -1;
}

} // namespace

Server::Server(Loop& loop, Control& control, ListeningSocket listening, UniqueFd ready,
               std::size_t max_clients)
    : loop_(loop), control_(control), listening_(std::move(listening)), ready_(std::move(ready)),
      max_clients_(max_clients), buffer_(max_message_bytes) {
    reserve();
}

tl::expected<std::unique_ptr<Server>, std::string> Server::open(Loop& loop, Control& control,
                                                                const SocketFile& file,
                                                                std::size_t max_clients,
                                                                Loop::Share share) {
    auto listening = ListeningSocket::open(file);
    if (!listening)
        return tl::make_unexpected(listening.error());
    UniqueFd ready(::epoll_create1(EPOLL_CLOEXEC));
    if (ready.valid()) {
        std::unique_ptr<Server> server(
            new Server(loop, control, std::move(*listening), std::move(ready), max_clients));
        if (add_to(server->ready_, server->listening_.fd()) &&
            loop.watch(server->ready_.get(), [raw = server.get()] { raw->serve_one(); }, share))
            return server;
    }
    return tl::make_unexpected(
        fmt::format("cannot wait for clients at {}: {}", file.path.string(), std::strerror(errno)));
}

Server::~Server() {
    loop_.forget(ready_.get());
}

tl::expected<bool, std::string> Server::keep_listening() {
    auto restored = listening_.restore();
    if (restored.value_or(false) && !add_to(ready_, listening_.fd())) {
        const int error = errno;
        listening_.close(); // or the next call would take the socket for one that is waited for
        return tl::make_unexpected(fmt::format("cannot wait for clients at {}: {}",
                                               listening_.path().string(), std::strerror(error)));
    }
    return restored;
}

bool Server::watch(uid_t user, int fd) {
    User& of = users_[user];
    if (!of.ready.valid()) {
        of.ready = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
        if (!of.ready.valid() || !add_to(ready_, of.ready.get())) {
            users_.erase(user);
            return false;
        }
    }
    if (add_to(of.ready, fd)) {
        ++of.clients;
        return true;
    }
    if (of.clients == 0)
        users_.erase(user);
    return false;
}

void Server::serve_one() {
    const int ready = next_of(ready_.get());
    if (ready < 0)
        return;
    if (ready == listening_.fd())
        return accept_one();
    const auto client = clients_.find(next_of(ready)); // of one user
    if (client == clients_.end())
        return;
    client->second.last_use = ++uses_;
    // Closing takes it out of the epoll: no other process has its descriptor.
    if (!client->second.session.serve(control_, buffer_))
        disconnect(client);
}

void Server::disconnect(Clients::iterator client) {
    const Caller caller = client->second.session.caller();
    clients_.erase(client);
    if (const auto user = users_.find(caller.uid); --user->second.clients == 0)
        users_.erase(user);
    control_.forget(caller.connection);
}

void Server::accept_one() {
    UniqueFd socket(::accept4(listening_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid())
        return admit(std::move(socket));
    if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
        return; // the client has left already
    if (clients_.empty())
        refuse_one();
    else
        make_room(); // and accepts in the next turn
}

// A connection that isn't accepted would keep the loop awake.
void Server::refuse_one() {
    reserved_ = UniqueFd();
    UniqueFd socket(::accept4(listening_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid())
        if (const auto session = Session::of(std::move(socket), 0))
            session->dismiss({EMFILE, "xpreemptd has no free descriptor: raise LimitNOFILE= of "
                                      "xpreemptd.service"});
    reserve();
}

void Server::reserve() {
    if (!reserved_.valid())
        reserved_ = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void Server::admit(UniqueFd socket) {
    reserve();
    auto session = Session::of(std::move(socket), ++connections_);
    if (!session)
        return;
    if (clients_.size() >= max_clients_)
        make_room();
    const int fd = session->fd();
    if (watch(session->caller().uid, fd))
        clients_.emplace(fd, Client{std::move(*session), ++uses_});
}

void Server::make_room() {
    std::map<uid_t, std::size_t> owned;
    for (const auto& [fd, client] : clients_)
        ++owned[client.session.caller().uid];
    const auto rank = [&](const Client& client) {
        const uid_t uid = client.session.caller().uid;
        return std::tuple(uid == 0, max_clients_ - owned[uid], client.last_use);
    };
    const auto leaves = std::ranges::min_element(
        clients_, {}, [&](const auto& client) { return rank(client.second); });
    if (leaves == clients_.end())
        return;
    leaves->second.session.dismiss(
        {EUSERS, fmt::format("disconnected: xpreemptd serves {} clients at once, and of uid {}, "
                             "which has the most, this one was idle longest",
                             max_clients_, leaves->second.session.caller().uid)});
    disconnect(leaves);
}

} // namespace xpreemptd
