// SPDX-License-Identifier: MIT
// C++20 face of the C interface: owners instead of handles, expected values instead of errnos.
//
// Header only; needs tl::expected (libexpected-dev). What each call does is told in the C headers.
#pragma once

#include <xpreempt/xpreempt.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <tl/expected.hpp>
#include <utility>

namespace xpreempt {

template <typename T> using Expected = tl::expected<T, std::error_code>;

namespace detail {

inline tl::unexpected<std::error_code> failed(int answer) {
    return tl::make_unexpected(std::error_code(-answer, std::generic_category()));
}

inline Expected<void> as_expected(int answer) {
    if (answer != 0)
        return failed(answer);
    return {};
}

} // namespace detail

inline Expected<xp_probe_info> probe() {
    xp_probe_info info{};
    info.sz = sizeof info;
    if (const int answer = xp_probe(&info); answer != 0)
        return detail::failed(answer);
    return info;
}

inline Expected<xp_stream_info> query_stream(void* stream) {
    xp_stream_info info{};
    info.sz = sizeof info;
    if (const int answer = xp_stream_query(stream, &info); answer != 0)
        return detail::failed(answer);
    return info;
}

// Owner of an xqueue; its end resumes and finishes what was submitted.
class StreamXQueue {
public:
    static Expected<StreamXQueue> create(void* stream, const xp_xqueue_options* options = nullptr) {
        StreamXQueue made;
        if (const int answer = xp_xqueue_create(stream, options, &made.xqueue_); answer != 0)
            return detail::failed(answer);
        return made;
    }
    StreamXQueue(StreamXQueue&& other) noexcept
        : xqueue_(std::exchange(other.xqueue_, xp_xqueue_t{})) {}
    StreamXQueue& operator=(StreamXQueue&& other) noexcept {
        std::swap(xqueue_, other.xqueue_);
        return *this;
    }
    StreamXQueue(const StreamXQueue&) = delete;
    StreamXQueue& operator=(const StreamXQueue&) = delete;
    ~StreamXQueue() {
        if (xqueue_.handle != 0)
            xp_xqueue_destroy(xqueue_);
    }

    [[nodiscard]] xp_xqueue_t get() const { return xqueue_; }

    Expected<std::uint64_t> submit(xp_launch_fn launch, void* argument) {
        std::uint64_t ticket = 0;
        if (const int answer = xp_xqueue_submit(xqueue_, launch, argument, &ticket); answer != 0)
            return detail::failed(answer);
        return ticket;
    }
    Expected<std::uint64_t> submit(const xp_command& command) {
        std::uint64_t ticket = 0;
        if (const int answer = xp_xqueue_submit_command(xqueue_, &command, &ticket); answer != 0)
            return detail::failed(answer);
        return ticket;
    }
    Expected<void> wait(std::uint64_t ticket) {
        return detail::as_expected(xp_xqueue_wait(xqueue_, ticket));
    }
    // timed_out when it has not completed by then; 0 asks only.
    Expected<void> wait_for(std::uint64_t ticket, std::chrono::nanoseconds timeout) {
        return detail::as_expected(xp_xqueue_wait_for(
            xqueue_, ticket, static_cast<std::uint64_t>(std::max(timeout.count(), {}))));
    }
    Expected<void> wait_all() { return detail::as_expected(xp_xqueue_wait_all(xqueue_)); }

    // The level reached. A suspend lasts until as many resumes.
    Expected<xp_level> suspend(std::uint32_t flags = 0) {
        std::uint32_t level = 0;
        if (const int answer = xp_xqueue_suspend(xqueue_, flags, &level); answer != 0)
            return detail::failed(answer);
        return static_cast<xp_level>(level);
    }
    Expected<void> resume() { return detail::as_expected(xp_xqueue_resume(xqueue_)); }

private:
    StreamXQueue() = default;
    xp_xqueue_t xqueue_{};
};

// One suspend that ends with its scope.
class Suspended {
public:
    static Expected<Suspended> suspend(StreamXQueue& xqueue, std::uint32_t flags = 0) {
        if (const auto level = xqueue.suspend(flags); !level)
            return tl::make_unexpected(level.error());
        return Suspended(xqueue.get());
    }
    Suspended(Suspended&& other) noexcept : xqueue_(std::exchange(other.xqueue_, xp_xqueue_t{})) {}
    Suspended& operator=(Suspended&& other) noexcept {
        std::swap(xqueue_, other.xqueue_);
        return *this;
    }
    Suspended(const Suspended&) = delete;
    Suspended& operator=(const Suspended&) = delete;
    ~Suspended() {
        if (xqueue_.handle != 0)
            xp_xqueue_resume(xqueue_);
    }

private:
    explicit Suspended(xp_xqueue_t xqueue) : xqueue_(xqueue) {}
    xp_xqueue_t xqueue_;
};

} // namespace xpreempt
