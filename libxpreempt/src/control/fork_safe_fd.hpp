// SPDX-License-Identifier: MIT
// File descriptors that a forked child doesn't keep: the socket of a process is its own.
#pragma once

namespace xpreempt::control {

// As UniqueFd, and closed in every child at once: else a child would keep connections open that
// nobody answers. Made by functions that a fork can't get between of.
class ForkSafeFd {
public:
    ForkSafeFd() = default;
    ForkSafeFd(ForkSafeFd&& other) noexcept;
    ForkSafeFd& operator=(ForkSafeFd&& other) noexcept;
    ForkSafeFd(const ForkSafeFd&) = delete;
    ForkSafeFd& operator=(const ForkSafeFd&) = delete;
    ~ForkSafeFd() { reset(); }

    // Invalid on failure, with errno set. All are O_CLOEXEC and O_NONBLOCK.
    static ForkSafeFd socket();
    static ForkSafeFd packets(); // a socket that keeps messages apart
    static ForkSafeFd accept(int listening);
    static ForkSafeFd event();

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }
    void reset();

private:
    template <typename Make> static ForkSafeFd make(Make make_fd);

    int fd_ = -1;
};

} // namespace xpreempt::control
