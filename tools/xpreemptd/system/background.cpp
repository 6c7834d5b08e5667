// SPDX-License-Identifier: MIT
// A detached thread: main() may return while it is blocked.
#include "system/background.hpp"

#include <csignal>
#include <sched.h>
#include <system_error>
#include <thread>
#include <utility>

namespace xpreemptd {

xpreempt::Result<void> run_in_background(std::function<void()> call) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    try {
        std::thread([call = std::move(call)] {
            const sched_param none{};
            ::sched_setscheduler(0, SCHED_OTHER, &none);
            call();
        }).detach();
    } catch (const std::system_error& failed) {
        error = failed.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error == 0 ? xpreempt::Result<void>() : xpreempt::fail(error, xpreempt::Op::wait);
}

} // namespace xpreemptd
