// SPDX-License-Identifier: MIT
// The list of descriptors that the child closes.
#include "control/fork_safe_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace xpreempt::control {

namespace {

// Never destroyed and of fixed size: used between fork and exec.
struct Registry {
    std::mutex mutex;
    std::array<int, 256> fds{};
    Registry() {
        fds.fill(-1);
        pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                       [] {
                           for (int& fd : registry().fds)
                               if (fd >= 0)
                                   ::close(std::exchange(fd, -1));
                           registry().mutex.unlock();
                       });
    }
    static Registry& registry() {
        alignas(Registry) static unsigned char place[sizeof(Registry)];
        static auto* const made = new (place) Registry;
        return *made;
    }
};

// Returns false if `before` is not in the list.
bool replace(int before, int after) {
    auto& fds = Registry::registry().fds;
    const auto found = std::ranges::find(fds, before);
    if (found == fds.end())
        return false;
    *found = after;
    return true;
}

template <typename Make> ForkSafeFd make(Make make_fd) {
    const std::lock_guard lock(Registry::registry().mutex);
    const int fd = make_fd();
    if (fd < 0 || replace(-1, fd))
        return ForkSafeFd(fd);
    ::close(fd);
    errno = EMFILE;
    return {};
}

} // namespace

ForkSafeFd ForkSafeFd::socket() {
    return make([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

ForkSafeFd ForkSafeFd::packets() {
    return make([] { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

ForkSafeFd ForkSafeFd::accept(int listening) {
    return make(
        [=] { return ::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
}

ForkSafeFd ForkSafeFd::event() {
    return make([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
}

void close_fork_safe(int fd) {
    const std::lock_guard lock(Registry::registry().mutex);
    // In a child it is closed and forgotten already.
    if (replace(fd, -1))
        ::close(fd);
}

} // namespace xpreempt::control
