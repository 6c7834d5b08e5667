// SPDX-License-Identifier: MIT
// Waits for its own end; the kernel undoes what it held, however that end comes.
#include "verbs/attached.hpp"

#include "output/output.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace cli {

Exit stay_attached(const Report& report) {
    if (!report.attached.what)
        return Exit::ok;
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    const int signals = ::signalfd(-1, &set, SFD_CLOEXEC);
    std::array<struct pollfd, 2> fds{{{signals, POLLIN, 0}, {report.attached.fd, POLLIN, 0}}};
    while (::poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
    }
    ::close(signals);
    if (fds[0].revents != 0)
        return Exit::ok;
    print_message("the process has ended, or has closed its control socket");
    return Exit::failed;
}

} // namespace cli
