// SPDX-License-Identifier: MIT
#include "interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace verify {

namespace {
volatile std::sig_atomic_t came = 0;
} // namespace

void catch_interrupts() {
    struct sigaction action{};
    action.sa_handler = [](int) { came = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before{};
        // A signal that nohup(1) or a shell ignores stays ignored.
        if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            ::sigaction(signal, &action, nullptr);
    }
}

bool interrupted() {
    return came != 0;
}

} // namespace verify
