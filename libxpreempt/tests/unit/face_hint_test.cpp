// SPDX-License-Identifier: MIT
// Hint and HintedRequest of the C++ face against a socket that takes hints as xpreemptd does.
#include "unit/face_fixture.hpp"

#include <chrono>
#include <filesystem>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

using namespace std::chrono_literals;
using test::errc_of;
using test::must;
using xpreempt::Hint;
using xpreempt::HintedRequest;
using Hints = std::vector<std::string>;

static_assert(std::is_nothrow_move_constructible_v<Hint> && !std::is_copy_constructible_v<Hint>);
static_assert(std::is_nothrow_move_constructible_v<HintedRequest> &&
              !std::is_copy_constructible_v<HintedRequest>);

constexpr const char* taken = R"({"schema":1,"ok":true})";

// Takes one connection after the other, and gives each message the same answer.
class HintTest : public testing::Test {
protected:
    HintTest() {
        std::string name = (fs::temp_directory_path() / "xpreempt-hint-XXXXXX").string();
        EXPECT_NE(nullptr, mkdtemp(name.data()));
        directory_ = name;
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path().copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(0, bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address));
        EXPECT_EQ(0, listen(listening_, 8));
        thread_ = std::thread([this] { serve(); });
    }
    ~HintTest() override {
        shutdown(listening_, SHUT_RDWR);
        thread_.join();
        close(listening_);
        fs::remove_all(directory_);
    }

    [[nodiscard]] std::string path() const { return (directory_ / "socket").string(); }
    void answer(std::string with) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(with);
    }
    // The hints since the last call, as they came.
    Hints hints() {
        const std::lock_guard lock(mutex_);
        return std::exchange(hints_, {});
    }

private:
    void serve() {
        for (;;) {
            const int peer = accept(listening_, nullptr, nullptr);
            if (peer < 0)
                return;
            char message[1024];
            for (ssize_t bytes = 0; (bytes = recv(peer, message, sizeof message, 0)) > 0;) {
                const std::lock_guard lock(mutex_);
                hints_.emplace_back(message, static_cast<std::size_t>(bytes));
                (void)!send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
            }
            close(peer);
        }
    }

    fs::path directory_;
    int listening_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    std::mutex mutex_;
    std::string answer_ = taken;
    Hints hints_;
    std::thread thread_;
};

TEST_F(HintTest, each_call_sends_its_arguments) {
    const Hint hint = must(Hint::open(path()));
    must(hint.begin(20ms));
    must(hint.begin());
    must(hint.soon(500us));
    must(hint.end());
    must(hint.set_band(XP_BAND_HIGH));
    must(hint.set_band(XP_BAND_DEFAULT));
    must(hint.set_priority(-255));
    must(hint.set_priority(XP_HINT_DEFAULT_PRIORITY));
    EXPECT_EQ(
        hints(),
        (Hints{R"({"do":"hint","is":"begin","deadline_us":20000})", R"({"do":"hint","is":"begin"})",
               R"({"do":"hint","is":"soon","us":500})", R"({"do":"hint","is":"end"})",
               R"({"do":"hint","is":"band","band":"high"})", R"({"do":"hint","is":"band"})",
               R"({"do":"hint","is":"priority","priority":-255})",
               R"({"do":"hint","is":"priority"})"}));
}

TEST_F(HintTest, the_environment_names_the_socket) {
    setenv("XPREEMPTD_SOCKET", path().c_str(), 1);
    const Hint hint = must(Hint::open());
    unsetenv("XPREEMPTD_SOCKET");
    must(hint.end());
    EXPECT_EQ(1U, hints().size());
}

TEST_F(HintTest, a_request_lasts_for_its_scope) {
    const Hint hint = must(Hint::open(path()));
    {
        const HintedRequest request = must(HintedRequest::begin(hint, 7us));
        EXPECT_EQ(hints(), Hints{R"({"do":"hint","is":"begin","deadline_us":7})"});
    }
    EXPECT_EQ(hints(), Hints{R"({"do":"hint","is":"end"})"});
    {
        HintedRequest first = must(HintedRequest::begin(hint));
        const HintedRequest moved = std::move(first);
        EXPECT_EQ(hints(), Hints{R"({"do":"hint","is":"begin"})"});
    }
    EXPECT_EQ(hints(), Hints{R"({"do":"hint","is":"end"})"});
}

TEST_F(HintTest, a_request_ends_once) {
    const Hint hint = must(Hint::open(path()));
    {
        HintedRequest request = must(HintedRequest::begin(hint));
        must(request.end());
        EXPECT_EQ(2U, hints().size());
    }
    EXPECT_EQ(Hints{}, hints());
}

TEST_F(HintTest, a_request_that_was_refused_does_not_end) {
    const Hint hint = must(Hint::open(path()));
    answer(R"({"schema":1,"ok":false,"error":"ESRCH","text":"no queues"})");
    EXPECT_EQ(std::errc::no_such_process, errc_of(HintedRequest::begin(hint, 1ms)));
    EXPECT_EQ(1U, hints().size());
}

TEST_F(HintTest, values_out_of_range_are_errors_and_not_sent) {
    const Hint hint = must(Hint::open(path()));
    for (const auto within : {-1us, 0us, 100001us, 4294967296us + 1us})
        EXPECT_EQ(std::errc::invalid_argument, errc_of(hint.soon(within))) << within.count();
    EXPECT_EQ(std::errc::invalid_argument, errc_of(hint.begin(-1us)));
    EXPECT_EQ(std::errc::invalid_argument, errc_of(hint.begin(3600000001us)));
    EXPECT_EQ(std::errc::invalid_argument, errc_of(HintedRequest::begin(hint, -1us)));
    EXPECT_EQ(Hints{}, hints());
}

TEST_F(HintTest, a_closed_hint_is_an_error) {
    Hint hint = must(Hint::open(path()));
    Hint moved = std::move(hint);
    must(moved.close());
    EXPECT_EQ(0U, moved.get().handle);
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(moved.begin()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(moved.close()));
    EXPECT_EQ(std::errc::bad_file_descriptor, errc_of(HintedRequest::begin(moved)));
}

} // namespace
