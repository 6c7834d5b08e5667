// SPDX-License-Identifier: MIT
// The list of descriptors that the child closes.
#include "control/fork_safe_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace xpreempt::control {

namespace {

// Never destroyed and of fixed size: used between fork and exec.
struct Registry {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::array<int, 256> fds{};
    Registry() {
        fds.fill(-1);
        pthread_atfork([] { pthread_mutex_lock(&registry().mutex); },
                       [] { pthread_mutex_unlock(&registry().mutex); },
                       [] {
                           for (int& fd : registry().fds)
                               if (fd >= 0)
                                   ::close(std::exchange(fd, -1));
                           pthread_mutex_unlock(&registry().mutex);
                       });
    }
    static Registry& registry() {
        alignas(Registry) static unsigned char place[sizeof(Registry)];
        static auto* const made = new (place) Registry;
        return *made;
    }
};

class Locked {
public:
    Locked() : registry_(Registry::registry()) { pthread_mutex_lock(&registry_.mutex); }
    ~Locked() { pthread_mutex_unlock(&registry_.mutex); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

    bool replace(int before, int after) {
        const auto found = std::ranges::find(registry_.fds, before);
        if (found == registry_.fds.end())
            return false;
        *found = after;
        return true;
    }

private:
    Registry& registry_;
};

} // namespace

template <typename Make> ForkSafeFd ForkSafeFd::make(Make make_fd) {
    ForkSafeFd made;
    Locked locked;
    const int fd = make_fd();
    if (fd >= 0 && !locked.replace(-1, fd)) {
        ::close(fd);
        errno = EMFILE;
        return made;
    }
    made.fd_ = fd;
    return made;
}

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

ForkSafeFd::ForkSafeFd(ForkSafeFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

ForkSafeFd& ForkSafeFd::operator=(ForkSafeFd&& other) noexcept {
    if (this != &other) {
        reset();
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

void ForkSafeFd::reset() {
    if (fd_ < 0)
        return;
    Locked locked;
    // In a child it is closed and forgotten already.
    if (locked.replace(fd_, -1))
        ::close(fd_);
    fd_ = -1;
}

} // namespace xpreempt::control
