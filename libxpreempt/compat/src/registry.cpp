// SPDX-License-Identifier: MIT
// Keeps used commands bounded, and translates errors.
#include "registry.hpp"

#include <cerrno>
#include <pthread.h>

namespace xpreempt::compat {

namespace {

constexpr std::size_t max_used = 65536;

bool is_pending(const Command& command) {
    if (command.launched.load())
        return false;
    const std::uint64_t ticket = command.ticket.load();
    return ticket == 0 || ticket > command.queue->dropped_until.load();
}

// Never destroyed: other libraries' destructors may come here. A child of a fork makes its own:
// that of the parent may have been locked by another thread.
constinit std::atomic<Registry*> registry{nullptr};
const int watches_forks = pthread_atfork(nullptr, nullptr, [] { registry.store(nullptr); });

} // namespace

Registry& Registry::instance() {
    Registry* known = registry.load();
    if (known != nullptr)
        return *known;
    auto made = std::make_unique<Registry>();
    return registry.compare_exchange_strong(known, made.get()) ? *made.release() : *known;
}

void Registry::keep_used(std::uint64_t command) {
    const std::lock_guard lock(used_mutex_);
    used_.push_back(command);
    // Two for each new one, so that the pending ones of a suspended XQueue, which stay, are passed.
    for (int i = 0; i < 2 && used_.size() > max_used; ++i) {
        const std::uint64_t handle = used_.front();
        used_.pop_front();
        const auto oldest = commands.find(handle);
        if (oldest && is_pending(**oldest))
            used_.push_back(handle);
        else if (oldest)
            (void)commands.remove(handle);
    }
}

XResult result_of(int answer) {
    switch (-answer) {
    case 0: return kXSchedSuccess;
    case EINVAL: return kXSchedErrorInvalidValue;
    case EBADF:
    case ECANCELED: return kXSchedErrorNotFound;
    case EALREADY:
    case EAGAIN:
    case EBUSY:
    case EDEADLK: return kXSchedErrorNotAllowed;
    case EPERM: return kXSchedErrorNotAllowed; // a priority, by xpreemptd
    case ECONNREFUSED:                         // no xpreemptd
    case EACCES:
    case ETIMEDOUT:
    case ENOENT: // no HIP runtime, or no xpreemptd
    case ENOSYS: // no hook
    case EOPNOTSUPP: return kXSchedErrorNotSupported;
    case ENOMEM: return kXSchedErrorUnknown;
    default: return kXSchedErrorHardware;
    }
}

} // namespace xpreempt::compat
