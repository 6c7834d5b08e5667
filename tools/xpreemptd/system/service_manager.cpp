// SPDX-License-Identifier: MIT
// The socket and the times are in the environment.
#include "system/service_manager.hpp"

#include "base/unique_fd.hpp"

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace xpreemptd {

namespace {

std::optional<std::uint64_t> number_in(const char* variable) {
    const char* const text = std::getenv(variable);
    if (text == nullptr)
        return std::nullopt;
    std::uint64_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto [parsed, error] = std::from_chars(text, end, number);
    return error == std::errc{} && parsed == end ? std::optional(number) : std::nullopt;
}

} // namespace

int notify_service_manager(std::string_view state) {
    const char* const variable = std::getenv("NOTIFY_SOCKET");
    if (variable == nullptr)
        return 0;
    const std::string_view path = variable;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return EINVAL;
    path.copy(address.sun_path, path.size());
    if (path.front() == '@') // a name of the abstract namespace
        address.sun_path[0] = '\0';
    const xpreempt::UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.valid())
        return errno;
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    const ssize_t sent =
        ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address), size);
    return sent < 0 ? errno : 0;
}

std::chrono::microseconds watchdog_timeout() {
    const auto pid = number_in("WATCHDOG_PID");
    const bool ours =
        std::getenv("WATCHDOG_PID") == nullptr || pid == static_cast<std::uint64_t>(::getpid());
    return std::chrono::microseconds(ours ? number_in("WATCHDOG_USEC").value_or(0) : 0);
}

} // namespace xpreemptd
