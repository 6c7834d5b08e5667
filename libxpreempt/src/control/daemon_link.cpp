// SPDX-License-Identifier: MIT
// One request at a time, each with a bounded wait for its reply.
#include "control/daemon_link.hpp"

#include "base/error.hpp"
#include "control/daemon_errors.hpp"
#include "control/directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

namespace xpreempt::control {

namespace {

using Failure = DaemonLink::Failure;
using Answer = DaemonLink::Answer;

constexpr std::size_t reply_bytes = 65536;

// The string behind KEY in the object of a reply. In a string of JSON each quotation mark has a
// backslash, so "KEY": can't be part of one.
std::string string_of(std::string_view reply, std::string_view key) {
    const std::string wanted = '"' + std::string(key) + "\":\"";
    const std::size_t begin = reply.find(wanted);
    std::string text;
    if (begin == std::string_view::npos)
        return text;
    for (std::size_t i = begin + wanted.size(); i < reply.size() && reply[i] != '"'; ++i) {
        if (reply[i] == '\\' && i + 1 < reply.size())
            ++i;
        text += reply[i];
    }
    return text;
}

Answer answer_of(std::string_view reply) {
    if (reply.find("\"ok\":true") != std::string_view::npos)
        return {};
    const std::string name = string_of(reply, "error");
    if (const int error = daemon_error_named(name); error != EPROTO)
        return tl::make_unexpected(Failure{error, "xpreemptd: " + string_of(reply, "text"), true});
    return tl::make_unexpected(
        Failure{EPROTO,
                name.empty() ? "xpreemptd sent a reply that this library does not "
                               "understand: use a daemon and a library of the same version"
                             : "xpreemptd: " + name + ": " + string_of(reply, "text"),
                true});
}

std::string hint(std::string_view kind, const std::string& rest = {}) {
    return R"({"do":"hint","is":")" + std::string(kind) + '"' + rest + '}';
}

std::string band_hint(const std::optional<std::string>& band) {
    return hint("band", band ? R"(,"band":")" + *band + '"' : "");
}

std::string priority_hint(std::optional<std::int32_t> priority) {
    return hint("priority", priority ? R"(,"priority":)" + std::to_string(*priority) : "");
}

std::string attributes_hint(const DaemonLink::Numbers& attributes) {
    std::string members;
    for (const auto& [key, number] : attributes)
        members += ",\"" + key + "\":" + std::to_string(number);
    return hint("attributes", members);
}

// A daemon that didn't reply may not have heard it: the next connection says it again.
bool is_kept(const Answer& answer) {
    return answer || answer.error().error == ETIMEDOUT;
}

int wait_readable(int fd, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        pollfd readable{fd, POLLIN, 0};
        const int ready =
            ::poll(&readable, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
        if (ready >= 0 || errno != EINTR)
            return ready;
    }
}

} // namespace

tl::unexpected<Failure> DaemonLink::fail_as_before() const {
    return tl::make_unexpected(Failure{last_.error, last_.text});
}

tl::unexpected<Failure> DaemonLink::fail_for(std::chrono::milliseconds pause, int error,
                                             std::string text) {
    socket_.reset();
    next_attempt_ = Clock::now() + pause;
    last_ = {error, std::move(text)};
    return fail_as_before();
}

Answer DaemonLink::connect() {
    constexpr std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
    if (path_.empty() || path_.size() > most)
        return fail_for(retry_after, ENAMETOOLONG,
                        "the path of xpreemptd's socket, '" + path_ + "', must have 1 to " +
                            std::to_string(most) + " bytes");
    ForkSafeFd socket = ForkSafeFd::packets();
    if (socket.valid() && at_path(::connect, socket.get(), path_) == 0) {
        socket_ = std::move(socket);
        return {};
    }
    const int error = errno;
    const bool absent = error == ENOENT || error == ENOTDIR || error == ECONNREFUSED;
    return fail_for(retry_after, error == ENOTDIR ? ENOENT : error,
                    absent
                        ? "xpreemptd is not running: nothing listens at " + path_
                        : "cannot connect to xpreemptd at " + path_ + ": " + std::strerror(error));
}

std::optional<Answer> DaemonLink::exchange(std::string_view message) {
    if (::send(socket_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (errno == EPIPE || errno == ECONNRESET)
            return std::nullopt;
        return fail_for(retry_after, errno,
                        "cannot send to xpreemptd at " + path_ + ": " + std::strerror(errno));
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up_at_ - Clock::now());
    if (wait_readable(socket_.get(), std::max(left, std::chrono::milliseconds{0})) != 1)
        return fail_for(retry_after_hang, ETIMEDOUT,
                        "xpreemptd did not reply within " + std::to_string(patience_.count()) +
                            " ms");
    std::string reply(reply_bytes, '\0');
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): MSG_DONTWAIT
    const ssize_t length = ::recv(socket_.get(), reply.data(), reply.size(), MSG_DONTWAIT);
    if (length == 0 || (length < 0 && errno == ECONNRESET))
        return std::nullopt;
    if (length < 0)
        return fail_for(retry_after, errno,
                        "cannot read from xpreemptd at " + path_ + ": " + std::strerror(errno));
    return answer_of({reply.data(), static_cast<std::size_t>(length)});
}

// A new daemon doesn't know what was said to the one before.
Answer DaemonLink::connect_and_repeat() {
    TRY(connect());
    if (band_)
        (void)exchange(band_hint(band_));
    if (priority_ && socket_.valid())
        (void)exchange(priority_hint(priority_));
    if (attributes_ && socket_.valid())
        (void)exchange(attributes_hint(*attributes_));
    if (!socket_.valid()) // it hangs
        return fail_as_before();
    return {};
}

Answer DaemonLink::ask(std::string_view message) try {
    if (!socket_.valid() && Clock::now() < next_attempt_)
        return fail_as_before();
    give_up_at_ = Clock::now() + patience_; // includes the repeated hints
    for (const bool again : {false, true}) {
        if (again)
            socket_.reset();
        if (!socket_.valid())
            TRY(connect_and_repeat());
        if (socket_.valid())
            if (auto answer = exchange(message))
                return std::move(*answer);
    }
    return fail_for(retry_after, ECONNRESET, "xpreemptd closes each connection at once");
} catch (const std::bad_alloc&) {
    socket_.reset(); // a reply that was not read is not that of the next request
    throw;
}

Answer DaemonLink::begin(std::chrono::microseconds deadline) {
    const std::lock_guard lock(mutex_);
    const std::string us = std::to_string(deadline.count());
    return ask(hint("begin", deadline.count() != 0 ? R"(,"deadline_us":)" + us : ""));
}

Answer DaemonLink::end() {
    const std::lock_guard lock(mutex_);
    return ask(hint("end"));
}

Answer DaemonLink::announce(std::chrono::microseconds within) {
    const std::lock_guard lock(mutex_);
    return ask(hint("soon", R"(,"us":)" + std::to_string(within.count())));
}

Answer DaemonLink::set_band(std::optional<std::string> band) {
    const std::lock_guard lock(mutex_);
    auto answer = ask(band_hint(band));
    if (is_kept(answer))
        band_ = std::move(band);
    return answer;
}

Answer DaemonLink::set_priority(std::optional<std::int32_t> priority) {
    const std::lock_guard lock(mutex_);
    auto answer = ask(priority_hint(priority));
    if (is_kept(answer))
        priority_ = priority;
    return answer;
}

Answer DaemonLink::set_attributes(Numbers attributes) {
    const std::lock_guard lock(mutex_);
    auto answer = ask(attributes_hint(attributes));
    if (is_kept(answer) || (answer.error().is_reply && answer.error().error == EPERM))
        attributes_ = std::move(attributes);
    return answer;
}

std::string daemon_socket_from_environment() {
    const char* value = ::secure_getenv("XPREEMPTD_SOCKET");
    return value != nullptr && *value != '\0' ? value : "/run/xpreempt/xpreemptd.sock";
}

} // namespace xpreempt::control
