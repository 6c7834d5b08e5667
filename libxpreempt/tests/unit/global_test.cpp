// SPDX-License-Identifier: MIT
// XP_POLICY_DAEMON on the fake ROCm, with a server in the place of xpreemptd: what the process
// reports about its streams and xqueues.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "base/unique_fd.hpp"
#include "fake/fake_rocm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
}

namespace {

using xpreempt::UniqueFd;

// Takes one connection, and rejects hints that contain one of `refused`.
class GlobalTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        path_ = std::filesystem::temp_directory_path() /
                ("xpreempt-global-" + std::to_string(getpid()));
        std::filesystem::remove(path_);
        setenv("XPREEMPTD_SOCKET", path_.c_str(), 1);
        listening_ = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.native().copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(0, bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address));
        ASSERT_EQ(0, listen(listening_.get(), 1));
        serving_ = std::thread([this] { serve(); });
        for (void*& stream : streams) {
            ASSERT_EQ(0, hipStreamCreate(&stream));
            ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        }
    }
    void TearDown() override {
        EXPECT_EQ(0, xp_sched_stop()) << xp_last_detail();
        serving_.join();
        std::filesystem::remove(path_);
        for (void* const stream : streams) // it lives on
            EXPECT_EQ(0, set(stream, 0, 0)) << xp_last_detail();
    }
    static int set(void* stream, std::uint32_t utilization, std::uint64_t deadline_us) {
        xp_sched_attributes attributes{};
        attributes.sz = sizeof attributes;
        attributes.utilization = utilization;
        attributes.deadline_us = deadline_us;
        return xp_stream_set_attributes(stream, &attributes);
    }
    // Those of kind "attributes", in their order.
    std::vector<std::string> hints() {
        const std::lock_guard lock(mutex_);
        return hints_;
    }

    void* streams[2]{};
    std::vector<std::string> refused;
    std::string error = "EPERM";

private:
    void serve() {
        const UniqueFd client(accept(listening_.get(), nullptr, nullptr));
        char message[4096];
        for (;;) {
            const ssize_t length = recv(client.get(), message, sizeof message, 0);
            if (length <= 0)
                return;
            const std::string text(message, static_cast<std::size_t>(length));
            const std::lock_guard lock(mutex_);
            const auto begin = text.find(R"("attributes")");
            if (begin != std::string::npos)
                hints_.push_back(text.substr(begin + 12));
            const bool is_refused = std::ranges::any_of(refused, [&](const std::string& part) {
                return text.find(part) != std::string::npos;
            });
            const std::string reply = is_refused ? R"({"schema":1,"ok":false,"error":")" + error +
                                                       R"(","text":"no rule"})"
                                                 : R"({"schema":1,"ok":true})";
            (void)send(client.get(), reply.data(), reply.size(), 0);
        }
    }

    std::filesystem::path path_;
    UniqueFd listening_;
    std::thread serving_;
    std::mutex mutex_;
    std::vector<std::string> hints_;
};

TEST_F(GlobalTest, each_attribute_is_reported_with_the_strongest_value_of_all_streams) {
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_DAEMON)) << xp_last_detail();
    EXPECT_TRUE(hints().empty()) << "none is set";
    EXPECT_EQ(0, set(streams[0], 30, 20'000)) << xp_last_detail();
    EXPECT_EQ(0, set(streams[1], 40, 30'000)) << xp_last_detail();
    EXPECT_EQ(0, set(streams[1], 40, 30'000)) << "it is not reported again";
    EXPECT_EQ(0, set(streams[0], 0, 0)) << xp_last_detail();
    EXPECT_EQ((std::vector<std::string>{R"(,"deadline_us":20000,"utilization":30})",
                                        R"(,"deadline_us":20000,"utilization":40})",
                                        R"(,"deadline_us":30000,"utilization":40})"}),
              hints());
}

TEST_F(GlobalTest, attributes_from_before_the_start_are_reported_at_it) {
    EXPECT_EQ(0, set(streams[0], XP_NO_UTILIZATION, 0)) << xp_last_detail();
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_DAEMON)) << xp_last_detail();
    EXPECT_EQ((std::vector<std::string>{R"(,"utilization":0})"}), hints());
}

TEST_F(GlobalTest, a_process_is_scheduled_without_attributes_that_no_rule_allows) {
    refused = {"deadline_us"};
    EXPECT_EQ(0, set(streams[0], 0, 20'000)) << xp_last_detail();
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_DAEMON)) << xp_last_detail();
    EXPECT_EQ(-EPERM, set(streams[0], 0, 10'000));
    EXPECT_EQ("xpreemptd: no rule", std::string(xp_last_detail()));
    xp_sched_attributes attributes{};
    attributes.sz = sizeof attributes;
    EXPECT_EQ(0, xp_stream_get_attributes(streams[0], &attributes));
    EXPECT_EQ(10'000U, attributes.deadline_us) << "the stream has it nevertheless";
    EXPECT_EQ(0, xp_stream_set_priority(streams[0], 5)) << "the priority counts";
}

TEST_F(GlobalTest, an_attribute_is_reported_beside_a_rejected_one_of_another_stream) {
    refused = {"deadline_us"};
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_DAEMON)) << xp_last_detail();
    EXPECT_EQ(-EPERM, set(streams[0], 0, 20'000));
    EXPECT_EQ(-EPERM, set(streams[1], 30, 0)) << "the answer is about all of them";
    EXPECT_EQ(0, xp_stream_set_priority(streams[1], 5)) << xp_last_detail();
    EXPECT_EQ((std::vector<std::string>{R"(,"deadline_us":20000})",
                                        R"(,"deadline_us":20000,"utilization":30})"}),
              hints());
}

TEST_F(GlobalTest, a_priority_is_set_beside_attributes_that_an_older_daemon_does_not_know) {
    refused = {R"("attributes")"};
    error = "EOPNOTSUPP";
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_DAEMON)) << xp_last_detail();
    EXPECT_EQ(-EOPNOTSUPP, set(streams[0], 30, 0));
    EXPECT_EQ(0, xp_stream_set_priority(streams[0], 5)) << xp_last_detail();
    EXPECT_EQ(1U, hints().size()) << "they are not sent again";
}

TEST_F(GlobalTest, attributes_that_the_daemon_did_not_take_are_sent_with_the_next_change) {
    refused = {R"("attributes")"};
    error = "EAGAIN";
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_DAEMON)) << xp_last_detail();
    EXPECT_EQ(-EAGAIN, set(streams[0], 30, 0));
    EXPECT_EQ(0, xp_stream_set_priority(streams[0], 5)) << "the answer is about the priority";
    EXPECT_EQ(2U, hints().size());
}

TEST_F(GlobalTest, attributes_are_set_beside_a_rejected_priority) {
    refused = {R"("high")", R"("priority":5)"};
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_DAEMON)) << xp_last_detail();
    EXPECT_EQ(-EPERM, xp_stream_set_priority(streams[0], 5));
    EXPECT_EQ(0, set(streams[0], 30, 0)) << xp_last_detail();
    EXPECT_EQ(-EPERM, xp_stream_set_priority(streams[0], 5)) << "the daemon is asked again";
}

} // namespace
