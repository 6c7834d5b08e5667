// SPDX-License-Identifier: MIT
// A program's connection to the control socket of another process.
#pragma once

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "control/answer.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>

namespace xpreempt::control {

// The peer may answer wrongly, late or never; it can't make the caller wait beyond a deadline.
class Connection {
public:
    using Clock = std::chrono::steady_clock;

    // ECONNREFUSED: a socket that a dead process left. EAGAIN: the peer takes no connections now.
    static Result<Connection> open(const std::string& path);

    // The listener, as reported by the kernel in the caller's pid namespace. 0: not visible there.
    [[nodiscard]] pid_t peer_pid() const { return peer_pid_; }
    [[nodiscard]] int fd() const { return fd_.get(); }

    // Begins a request. The one before must have ended.
    void ask(wire::Kind kind, const wire::Target* target = nullptr);

    // The result of the request. failure() returns nullopt while it is in progress and if it
    // succeeded; then answer() is complete.
    [[nodiscard]] bool ended() const { return failure_ || (reader_ && reader_->complete()); }
    [[nodiscard]] const std::optional<wire::Broken>& failure() const { return failure_; }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the caller has seen ended()
    [[nodiscard]] const Answer& answer() const { return reader_->answer(); }

    // Runs all requests concurrently until each has ended. Those that haven't by the deadline fail
    // with ETIMEDOUT.
    static void await(std::span<Connection* const> connections, Clock::time_point deadline);

private:
    explicit Connection(UniqueFd fd) : fd_(std::move(fd)) {}
    void go_on();

    UniqueFd fd_;
    pid_t peer_pid_ = 0;
    std::uint32_t tag_ = 0;
    std::vector<std::byte> output_;
    std::optional<AnswerReader> reader_;
    std::optional<wire::Broken> failure_;
};

} // namespace xpreempt::control
