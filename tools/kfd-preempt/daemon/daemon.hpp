// SPDX-License-Identifier: MIT
// The connection to xpreemptd.
#pragma once

#include "base/unique_fd.hpp"
#include "output/context.hpp"
#include "output/outcome.hpp"
#include "output/report.hpp"
#include "xpreemptd/protocol/replies.hpp"
#include "xpreemptd/protocol/requests.hpp"

#include <string>
#include <vector>

namespace cli {

// Values of the options that set attributes.
using xpreemptd::AttributeChange;

class Daemon {
public:
    // The failure names the fix if no daemon runs.
    static Outcome<Daemon> connect(const Context& context);

    [[nodiscard]] Outcome<void> adopt(const AttributeChange& change) const;
    [[nodiscard]] Outcome<void> set(const xpreemptd::JobSelector& job,
                                    const AttributeChange& change) const;
    [[nodiscard]] Outcome<void> focus(std::optional<pid_t> pid) const;
    [[nodiscard]] Outcome<void> set_policy(const std::string& name) const;
    [[nodiscard]] Outcome<xpreemptd::StatusReport> status() const;
    [[nodiscard]] Outcome<xpreemptd::TracePage> trace(std::optional<std::uint64_t> from) const;
    // All pages.
    [[nodiscard]] Outcome<std::vector<xpreemptd::ListedJob>> jobs() const;

private:
    explicit Daemon(xpreempt::UniqueFd socket) : socket_(std::move(socket)) {}
    [[nodiscard]] Outcome<std::string> ask(const xpreemptd::Request& request) const;
    [[nodiscard]] Outcome<void> send(const xpreemptd::Request& request) const;

    xpreempt::UniqueFd socket_;
};

// /run/xpreempt/xpreemptd.sock, or XPREEMPTD_SOCKET, but not for a program that runs with more
// rights than its caller.
std::filesystem::path daemon_socket_from_environment();

} // namespace cli
