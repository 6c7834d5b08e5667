// SPDX-License-Identifier: MIT
// Finds the control sockets of processes and asks them, many at once and none for long.
#pragma once

#include "control/connection.hpp"
#include "output/outcome.hpp"
#include "processes/target.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace cli {

namespace control = xpreempt::control;
namespace wire = xpreempt::control::wire;

// One process' answer to `list`, or why there is none. ENOENT: it has no socket.
struct SocketView {
    Target target;
    std::optional<control::Answer> answer;
    std::optional<Failure> failure;
};

// Asks all targets. One that doesn't answer in time gets a failure and doesn't delay the others.
std::vector<SocketView> ask_sockets(const Context& context, const std::vector<Target>& targets,
                                    std::chrono::milliseconds patience);

// Returns a connection to this very process: the kernel reports the pid of the peer.
Outcome<std::unique_ptr<control::Connection>> connect_socket(const Context& context,
                                                             const Target& target);

constexpr std::chrono::milliseconds socket_patience{1000};  // to look
constexpr std::chrono::milliseconds switch_patience{30000}; // to stop something

} // namespace cli
