// SPDX-License-Identifier: MIT
// The command's connection to a daemon that ends it.
#include "daemon/daemon.hpp"
#include "fixture_tree.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace {

class DaemonConnectionTest : public testing::Test {
protected:
    DaemonConnectionTest() : context(tree.context()) {
        context.daemon_socket = tree.root() / "daemon.sock";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        context.daemon_socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
        listener = xpreempt::UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
                0 ||
            ::listen(listener.get(), 1) != 0)
            ADD_FAILURE() << "cannot listen at " << context.daemon_socket;
    }
    // Sends the message to the client that connected first, and closes its connection.
    void refuse(const std::string& message) const {
        const xpreempt::UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (message.empty())
            return;
        EXPECT_EQ(::send(client.get(), message.data(), message.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(message.size()));
    }

    test::FixtureTree tree;
    cli::Context context;
    xpreempt::UniqueFd listener;
};

TEST_F(DaemonConnectionTest, request_after_a_refusal_reports_its_reason) {
    const auto daemon = cli::Daemon::connect(context);
    ASSERT_TRUE(daemon);
    refuse(xpreemptd::refusal_reply({EUSERS, "too many connections"}));
    const auto status = daemon->status();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().errno_value, EUSERS);
    EXPECT_EQ(status.error().message, "xpreemptd: too many connections");
}

TEST_F(DaemonConnectionTest, request_on_a_closed_connection_asks_for_another_try) {
    const auto daemon = cli::Daemon::connect(context);
    ASSERT_TRUE(daemon);
    refuse({});
    const auto status = daemon->status();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().errno_value, ECONNRESET);
    EXPECT_EQ(status.error().message, "xpreemptd: closed the connection; try again");
}

} // namespace
