// SPDX-License-Identifier: MIT
// Messages of the daemon to systemd, and the settings that it reads from there.
#include "system/service_manager.hpp"

#include "base/unique_fd.hpp"
#include "unit/kfd_tree.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using std::chrono::microseconds;
using xpreemptd::notify_service_manager;
using xpreemptd::watchdog_timeout;

class ServiceManager : public testing::Test {
protected:
    ServiceManager() { clear(); }
    ~ServiceManager() override { clear(); }
    // Binds to the name; '@' begins one without a file.
    void listen_at(const std::string& name) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        name.copy(address.sun_path, sizeof address.sun_path - 1);
        if (name.front() == '@')
            address.sun_path[0] = '\0';
        socket_ = xpreempt::UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        ASSERT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
        ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    }
    [[nodiscard]] std::string received() const {
        std::array<char, 100> text{};
        const ssize_t size = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
        return size < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(size));
    }
    [[nodiscard]] std::string file() const { return (tree_.root() / "notify").string(); }

private:
    static void clear() {
        for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
            ::unsetenv(name);
    }
    test::KfdTree tree_;
    xpreempt::UniqueFd socket_;
};

TEST_F(ServiceManager, gets_a_state_at_a_file) {
    listen_at(file());
    EXPECT_EQ(notify_service_manager("READY=1"), 0);
    EXPECT_EQ(received(), "READY=1");
    EXPECT_EQ(notify_service_manager("WATCHDOG=1"), 0);
    EXPECT_EQ(received(), "WATCHDOG=1");
    EXPECT_EQ(received(), "nothing");
}

TEST_F(ServiceManager, gets_a_state_at_a_name_without_a_file) {
    listen_at(fmt::format("@xpreemptd-test-{}", ::getpid()));
    EXPECT_EQ(notify_service_manager("STOPPING=1"), 0);
    EXPECT_EQ(received(), "STOPPING=1");
}

// As a systemd does that has frozen after a crash.
TEST_F(ServiceManager, that_reads_no_states_is_not_waited_for) {
    listen_at(file());
    ::alarm(60); // a call that waits ends this program
    int error = 0;
    for (int sent = 0; sent < 100'000 && error == 0; ++sent)
        error = notify_service_manager("WATCHDOG=1");
    ::alarm(0);
    EXPECT_EQ(error, EAGAIN);
}

TEST_F(ServiceManager, may_be_missing_or_gone) {
    EXPECT_EQ(notify_service_manager("READY=1"), 0);
    ::setenv("NOTIFY_SOCKET", file().c_str(), 1);
    EXPECT_EQ(notify_service_manager("READY=1"), ENOENT);
    ::setenv("NOTIFY_SOCKET", "", 1);
    EXPECT_EQ(notify_service_manager("READY=1"), EINVAL);
    ::setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
    EXPECT_EQ(notify_service_manager("READY=1"), EINVAL);
}

TEST_F(ServiceManager, asks_this_process_for_signs_of_life_or_another_one) {
    EXPECT_EQ(watchdog_timeout(), microseconds{0});
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    EXPECT_EQ(watchdog_timeout(), microseconds{30'000'000});
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    EXPECT_EQ(watchdog_timeout(), microseconds{30'000'000});
    for (const char* other : {"1", "", "x"}) {
        ::setenv("WATCHDOG_PID", other, 1);
        EXPECT_EQ(watchdog_timeout(), microseconds{0}) << other;
    }
    ::unsetenv("WATCHDOG_PID");
    for (const char* wrong : {"", "-1", "1s", "x", "99999999999999999999999"}) {
        ::setenv("WATCHDOG_USEC", wrong, 1);
        EXPECT_EQ(watchdog_timeout(), microseconds{0}) << wrong;
    }
}

} // namespace
