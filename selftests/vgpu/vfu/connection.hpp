// SPDX-License-Identifier: MIT
// The socket: one client, whole messages with their descriptors, replies.
#pragma once

#include "model/base/result.hpp"
#include "vfu/protocol.hpp"
#include "vfu/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vgpu::vfu {

struct Message {
    Header header;
    std::vector<std::byte> body;
    std::vector<UniqueFd> fds;
};

// Listens on a UNIX socket and removes it again, so that a second server can follow.
class Listener {
public:
    static Result<Listener> listen(const std::string& path);
    ~Listener();
    Listener(Listener&& other) noexcept = default;
    Listener& operator=(Listener&& other) = delete;
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    Result<UniqueFd> accept();

private:
    Listener() = default;

    UniqueFd fd_;
    std::string path_; // empty after a move
};

class Connection {
public:
    explicit Connection(UniqueFd fd) : fd_(std::move(fd)) {}

    // Returns the PID of the process that connected.
    Result<pid_t> peer() const;
    // Waits for input for that long. False after the time.
    Result<bool> wait(std::chrono::nanoseconds time);
    // Nothing when the client closed the connection between two messages.
    Result<std::optional<Message>> receive();
    Result<Nothing> reply(const Header& request, std::span<const std::byte> body, int fd = -1);
    Result<Nothing> reply_error(const Header& request, int errno_value);

private:
    Result<Nothing> send(const Header& header, std::span<const std::byte> body, int fd);

    UniqueFd fd_;
};

} // namespace vgpu::vfu
