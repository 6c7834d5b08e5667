// SPDX-License-Identifier: MIT
// doctor beside a daemon that works, has no policy, refuses, or does not listen.
#include "doctor_fixture.hpp"
#include "xpreemptd/protocol/replies.hpp"
#include "xpreemptd/protocol/requests.hpp"

#include "base/unique_fd.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

namespace {

// Replies to one client with this status, without jobs; or refuses its first request.
class FakeDaemon {
public:
    FakeDaemon(const std::filesystem::path& path, xpreemptd::StatusReport status,
               std::optional<xpreemptd::Refusal> refusal = {})
        : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)),
          status_(std::move(status)), refusal_(std::move(refusal)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::filesystem::create_directories(path.parent_path());
        path.native().copy(address.sun_path, sizeof address.sun_path - 1);
        if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
                0 ||
            ::listen(listener_.get(), 1) != 0)
            ADD_FAILURE() << "cannot listen at " << path;
        thread_ = std::thread([this] { serve(); });
    }
    ~FakeDaemon() {
        ::shutdown(listener_.get(), SHUT_RDWR); // accept() returns without a client
        thread_.join();
    }
    FakeDaemon(const FakeDaemon&) = delete;
    FakeDaemon& operator=(const FakeDaemon&) = delete;

private:
    void serve() const {
        const xpreempt::UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const auto reply = [&](const std::string& text) {
            (void)::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
        };
        std::string message(xpreemptd::max_message_bytes, '\0');
        for (;;) {
            const ssize_t length = ::recv(client.get(), message.data(), message.size(), 0);
            if (length <= 0)
                return;
            // With a request unread, the end of the connection would come before the reply.
            if (refusal_)
                return reply(xpreemptd::refusal_reply(*refusal_));
            const std::string_view request(message.data(), static_cast<std::size_t>(length));
            reply(request == xpreemptd::text_of(xpreemptd::Request(xpreemptd::StatusRequest{}))
                      ? xpreemptd::status_reply(status_)
                      : xpreemptd::jobs_reply({}, 0));
        }
    }

    xpreempt::UniqueFd listener_;
    xpreemptd::StatusReport status_;
    std::optional<xpreemptd::Refusal> refusal_;
    std::thread thread_;
};

xpreemptd::StatusReport status_of(std::string policy, std::string ejected = {}) {
    xpreemptd::StatusReport status;
    status.policy = std::move(policy);
    status.ejected = std::move(ejected);
    return status;
}

class DoctorDaemonTest : public test::DoctorTest {
protected:
    cli::Report doctor_beside(const xpreemptd::StatusReport& status,
                              const std::optional<xpreemptd::Refusal>& refusal = {}) {
        const FakeDaemon daemon(context.daemon_socket, status, refusal);
        expect_working_driver();
        return doctor(context);
    }
};

TEST_F(DoctorDaemonTest, one_that_schedules_is_all_right) {
    const cli::Report report = doctor_beside(status_of("BAND"));
    expect_check(report, "xpreemptd", "ok",
                 "runs with policy BAND; stop it before you partition a GPU");
    EXPECT_EQ(report.json["verdict"], "ok");
}

TEST_F(DoctorDaemonTest, ejected_policy_is_back_after_a_reload) {
    const cli::Report report =
        doctor_beside(status_of("none", "HHPF held job 7 (/system.slice/a.service) for 10 s while "
                                        "nothing else had work on any GPU"));
    EXPECT_EQ(report.exit, cli::Exit::ok);
    expect_check(report, "xpreemptd", "warn", "HHPF held job 7");
    expect_check(report, "xpreemptd", "warn", "; stop it before you partition a GPU");
    expect_commands(report, "xpreemptd", {"systemctl reload xpreemptd"});
}

TEST_F(DoctorDaemonTest, one_without_a_policy_gets_that_of_its_rules_by_a_reload) {
    const cli::Report report = doctor_beside(status_of("none"));
    expect_check(report, "xpreemptd", "warn", "no policy is in force");
    expect_check(report, "xpreemptd", "warn", "; stop it before you partition a GPU");
    expect_commands(report, "xpreemptd", {"systemctl reload xpreemptd"});
}

TEST_F(DoctorDaemonTest, one_that_has_ended_is_started_again) {
    {
        const FakeDaemon ended(context.daemon_socket, {});
    }
    expect_working_driver();
    const cli::Report report = doctor(context);
    expect_check(report, "xpreemptd", "warn", "is not running");
    EXPECT_EQ(report.text.find("partition a GPU"), std::string::npos) << report.text;
    expect_commands(report, "xpreemptd", {"systemctl restart xpreemptd"});
}

TEST_F(DoctorDaemonTest, one_with_too_many_clients_is_not_restarted) {
    const cli::Report report =
        doctor_beside({}, xpreemptd::Refusal{EUSERS, "64 connections of uid 0: close some"});
    expect_check(report, "xpreemptd", "warn", "close some");
    expect_check(report, "xpreemptd", "warn", "; stop it before you partition a GPU");
    expect_commands(report, "xpreemptd", {"kfd-preempt doctor"});
}

TEST_F(DoctorDaemonTest, reply_that_cannot_be_read_is_mended_by_a_restart) {
    const cli::Report report = doctor_beside({}, xpreemptd::Refusal{EPROTO, "is another version"});
    expect_commands(report, "xpreemptd", {"systemctl restart xpreemptd"});
}

} // namespace
