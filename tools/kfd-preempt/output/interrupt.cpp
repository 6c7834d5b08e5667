// SPDX-License-Identifier: MIT
// The signals by which a person ends a verb that runs for a while.
#include "output/interrupt.hpp"

#include <csignal>
#include <ctime>

namespace cli {

bool told_to_end(std::chrono::nanoseconds patience) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const timespec timeout{seconds.count(), static_cast<long>((patience - seconds).count())};
    return ::sigtimedwait(&set, nullptr, &timeout) > 0;
}

} // namespace cli
