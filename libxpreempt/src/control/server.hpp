// SPDX-License-Identifier: MIT
// The control socket and its thread.
#pragma once

#include "base/unique_fd.hpp"
#include "control/fork_safe_fd.hpp"
#include "control/session.hpp"

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace xpreempt::control {

struct Limits {
    std::size_t clients = 16;
    std::chrono::milliseconds frame{5000}; // to send a frame, or to take an answer
    std::chrono::milliseconds idle{60000}; // without a request, for who holds nothing
    std::chrono::milliseconds retry{1000}; // to accept, without a free descriptor
};

// One thread, which touches nothing of its host but through Host. A peer is served when the kernel
// says that it has our uid, or is root.
class Server {
public:
    // host must outlive it. directories: as directories_of() gives them.
    static Result<std::unique_ptr<Server>> open(Host& host, const Limits& limits,
                                                const std::vector<std::string>& directories);
    // Undoes every hold, also permanent ones: no client could undo them later. In a forked
    // child it does nothing.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Asks the thread to end. False: it is still in a call into its host, and must not be
    // destroyed; the socket has no name any more.
    bool end_within(std::chrono::milliseconds patience);

private:
    using Clock = std::chrono::steady_clock;
    struct Client {
        ForkSafeFd fd;
        std::unique_ptr<Session> session;
        Clock::time_point last; // bytes came, or went
    };

    Server(Host& host, const Limits& limits) : host_(host), limits_(limits), book_(host) {}

    Result<void> listen_in(UniqueFd directory);
    void run();
    void ask_to_end();
    bool wait(); // false: it is to end
    void accept_all();
    void admit(ForkSafeFd fd, Clock::time_point now);
    bool serve(Client& client, short events, Clock::time_point now);
    [[nodiscard]] std::chrono::milliseconds patience(const Client& client) const;
    [[nodiscard]] int poll_timeout(Clock::time_point now) const;

    Host& host_;
    const Limits limits_;
    const pid_t pid_ = ::getpid();
    UniqueFd directory_;
    std::string name_;
    ForkSafeFd listening_, wake_;
    HoldBook book_;
    std::list<Client> clients_;
    std::uint64_t connections_ = 0;
    bool may_accept_ = true;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ended_ = false; // under mutex_: the thread has
    std::thread thread_;
};

} // namespace xpreempt::control
