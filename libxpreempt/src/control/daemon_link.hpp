// SPDX-License-Identifier: MIT
// Connection of a program to xpreemptd, for hints about its own job.
#pragma once

#include "control/fork_safe_fd.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <unistd.h>
#include <utility>
#include <vector>

namespace xpreempt::control {

// Requests are those of tools/xpreemptd/protocol/requests.hpp. Thread-safe; starts no thread.
class DaemonLink {
public:
    // Moved only: tl::expected ends the process if a copy of its error finds no memory.
    struct Failure {
        Failure(int errno_value, std::string what, bool of_the_daemon = false)
            : error(errno_value), text(std::move(what)), is_reply(of_the_daemon) {}
        Failure(Failure&&) = default;
        Failure& operator=(Failure&&) = default;

        int error; // a positive errno
        std::string text;
        bool is_reply; // of the daemon; else the connection failed
    };
    using Answer = tl::expected<void, Failure>;

    // A daemon that takes longer to reply is taken for hung: where a hint costs more than it
    // brings, and where a setting counts for all that follows.
    static constexpr std::chrono::milliseconds patience{100}, patience_of_settings{2000};
    // Between two attempts to reach a daemon that isn't there, and one that hangs. Calls in
    // between fail at once with the same error.
    static constexpr std::chrono::milliseconds retry_after{100}, retry_after_hang{1000};

    explicit DaemonLink(std::string path, std::chrono::milliseconds patience_of_each = patience)
        : path_(std::move(path)), patience_(patience_of_each) {}
    // The process that made it. A child has another job, perhaps, and needs a link of its own.
    [[nodiscard]] pid_t owner() const { return owner_; }

    // deadline: 0 is none.
    Answer begin(std::chrono::microseconds deadline);
    Answer end();
    Answer announce(std::chrono::microseconds within);
    // Nothing: that of the job's attributes again. Kept, and sent again when the daemon was
    // restarted or didn't reply; not kept if the daemon refuses it.
    Answer set_band(std::optional<std::string> band);
    Answer set_priority(std::optional<std::int32_t> priority);
    // The other attributes, by their keys in the protocol. Those that are missing are the job's
    // own. EPERM: the daemon rejects some of them and has taken the others; so they are kept.
    using Numbers = std::vector<std::pair<std::string, std::uint64_t>>;
    Answer set_attributes(Numbers attributes);

private:
    using Clock = std::chrono::steady_clock;

    Answer ask(std::string_view message);
    Answer connect();
    Answer connect_and_repeat();
    // Nothing: the daemon has closed the connection.
    std::optional<Answer> exchange(std::string_view message);
    [[nodiscard]] tl::unexpected<Failure> fail_as_before() const;
    tl::unexpected<Failure> fail_for(std::chrono::milliseconds pause, int error, std::string text);

    const std::string path_;
    const std::chrono::milliseconds patience_;
    const pid_t owner_ = ::getpid();
    std::mutex mutex_;
    ForkSafeFd socket_;
    Clock::time_point next_attempt_{};
    Clock::time_point give_up_at_{}; // this call
    Failure last_{0, {}};
    std::optional<std::string> band_;
    std::optional<std::int32_t> priority_;
    std::optional<Numbers> attributes_; // nothing: none were ever sent
};

// XPREEMPTD_SOCKET, but not for a program that runs with more rights than its caller; else
// /run/xpreempt/xpreemptd.sock.
std::string daemon_socket_from_environment();

} // namespace xpreempt::control
