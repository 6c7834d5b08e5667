// SPDX-License-Identifier: MIT
// Serves the clients of the daemon's socket (the protocol: requests.hpp).
#pragma once

#include "protocol/control.hpp"
#include "server/listening_socket.hpp"
#include "server/loop.hpp"
#include "server/session.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace xpreemptd {

// To the loop it is one descriptor, an epoll of all users, each of which is an epoll of its
// clients, and each call serves one request of one client: whatever the clients send, at most one
// request delays the next event of the GPU. Users take turns, however many clients each has, and
// all of them together get no more than a share of a CPU.
class Server {
public:
    // Beyond these a new client replaces one of the user with the most clients, the one that was
    // idle longest. A user with subordinate uids (subuid(5)) counts as many users, and so may
    // disconnect clients of other users; a disconnected client may connect again. Clients of root
    // are replaced only if all are root's.
    static constexpr std::size_t default_max_clients = 1000;
    static constexpr Loop::Share default_share{10, std::chrono::milliseconds{5}};

    // loop and control must outlive the server. The error is a sentence.
    [[nodiscard]] static tl::expected<std::unique_ptr<Server>, std::string>
    open(Loop& loop, Control& control, const SocketFile& file,
         std::size_t max_clients = default_max_clients, Loop::Share share = default_share);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    Server(Server&&) = delete;
    Server& operator=(Server&&) = delete;

    // To be called now and then: as ListeningSocket::restore(). Clients that are connected stay.
    [[nodiscard]] tl::expected<bool, std::string> keep_listening();

    [[nodiscard]] const std::filesystem::path& path() const { return listening_.path(); }
    [[nodiscard]] std::size_t clients() const { return clients_.size(); }

private:
    struct Client {
        Session session;
        std::uint64_t last_use; // by the count of uses of all clients
    };
    using Clients = std::map<int, Client>;
    struct User {
        xpreempt::UniqueFd ready; // an epoll
        std::size_t clients = 0;
    };

    Server(Loop& loop, Control& control, ListeningSocket listening, xpreempt::UniqueFd ready,
           std::size_t max_clients);

    [[nodiscard]] bool watch(uid_t user, int fd);
    void serve_one();
    void accept_one();
    void refuse_one();
    void admit(xpreempt::UniqueFd socket);
    void make_room();
    void disconnect(Clients::iterator client);
    void reserve();

    Loop& loop_;
    Control& control_;
    ListeningSocket listening_;
    xpreempt::UniqueFd ready_;    // the epoll
    xpreempt::UniqueFd reserved_; // given up to accept, and refuse, when no descriptor is left
    std::size_t max_clients_;
    Clients clients_;
    std::map<uid_t, User> users_; // those that have clients
    std::uint64_t connections_ = 0;
    std::uint64_t uses_ = 0;
    std::vector<char> buffer_;
};

} // namespace xpreemptd
