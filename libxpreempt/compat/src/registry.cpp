// SPDX-License-Identifier: MIT
// Keeps used commands bounded, and translates errors.
#include "registry.hpp"

#include <cerrno>

namespace xpreempt::compat {

namespace {

constexpr std::size_t max_used = 65536;

bool is_pending(const Command& command) {
    if (command.launched.load())
        return false;
    const std::uint64_t ticket = command.ticket.load();
    return ticket == 0 || ticket > command.queue->dropped_until.load();
}

} // namespace

Registry& Registry::instance() {
    // Never destroyed: other libraries' destructors may come here.
    static auto* const registry = new Registry;
    return *registry;
}

void Registry::keep_used(std::uint64_t command) {
    const std::lock_guard lock(used_mutex_);
    used_.push_back(command);
    while (used_.size() > max_used) {
        const auto oldest = commands.find(used_.front());
        if (oldest && is_pending(**oldest))
            return; // and so are the younger ones of its queue; the xqueue bounds their number
        if (oldest)
            (void)commands.remove(used_.front());
        used_.pop_front();
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
