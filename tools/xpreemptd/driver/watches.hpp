// SPDX-License-Identifier: MIT
// Several files of PREEMPT_WATCH as one: the driver bounds the processes of each.
#pragma once

#include "base/unique_fd.hpp"
#include "kfd/watch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <sys/types.h>
#include <vector>

namespace xpreemptd {

namespace kfd = xpreempt::kfd;

class Watches {
public:
    using Open = std::function<xpreempt::Result<kfd::Watch>()>;
    static constexpr std::size_t most = 16;

    // Opens the first one. ENOTTY: this driver has no watch.
    static xpreempt::Result<Watches> make(Open open);

    [[nodiscard]] int fd() const { return epoll_.get(); } // for poll()
    // As those of kfd::Watch. An id names the watch, too.
    xpreempt::Result<std::uint32_t> add(pid_t pid, std::uint64_t cookie, std::uint32_t flags);
    void remove(std::uint32_t id);
    void answer(std::uint32_t id, std::uint32_t flags) const;
    // Changes the order of the entries.
    xpreempt::Result<void> arm(std::span<kfd_preempt_watch_arm_entry> entries) const;
    xpreempt::Result<std::size_t> read(std::span<kfd_preempt_watch_event> events);

private:
    struct One {
        kfd::Watch watch;
        std::size_t processes = 0;
    };

    Watches(Open open, xpreempt::UniqueFd epoll)
        : open_(std::move(open)), epoll_(std::move(epoll)) {}
    xpreempt::Result<void> open_another();
    [[nodiscard]] const One* of(std::uint32_t id) const;

    Open open_;
    xpreempt::UniqueFd epoll_;
    std::vector<One> all_;
    std::size_t next_ = 0; // to read
};

} // namespace xpreemptd
