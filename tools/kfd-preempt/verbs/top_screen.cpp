// SPDX-License-Identifier: MIT
// Where top shows what it sees: a terminal that is left as it was found, or lines for scripts.
#include "output/output.hpp"
#include "verbs/top.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;

// Signals as a file descriptor: nothing of the screen is done in a handler.
class Signals {
public:
    Signals() {
        sigset_t set;
        sigemptyset(&set);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH})
            sigaddset(&set, number);
        ::sigprocmask(SIG_BLOCK, &set, nullptr);
        fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    ~Signals() { ::close(fd_); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    Signals(Signals&&) = delete;
    Signals& operator=(Signals&&) = delete;

    [[nodiscard]] int fd() const { return fd_; }
    // True: to end. SIGWINCH only wakes up.
    bool read() const {
        struct signalfd_siginfo info{};
        bool end = false;
        while (::read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
            end |= info.ssi_signo != SIGWINCH;
        return end;
    }

private:
    int fd_ = -1;
};

// The other screen, without cursor, keys as they come; all of it undone at the end.
class Screen {
public:
    Screen() {
        if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
            struct termios now = before_;
            now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
        }
        xpreemptd::write_output("\x1b[?1049h\x1b[?25l");
    }
    ~Screen() {
        xpreemptd::write_output("\x1b[?25h\x1b[?1049l");
        if (changed_)
            ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    Screen(Screen&&) = delete;
    Screen& operator=(Screen&&) = delete;

    // As write_output().
    static std::string show(const std::string& text) {
        struct winsize size{};
        if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
            size = {};
        std::string lines = fit(text, size.ws_col, size.ws_row > 0 ? size.ws_row - 1U : 0U);
        std::string screen = "\x1b[H";
        for (const char c : lines)
            screen += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
        return xpreemptd::write_output(screen + "\x1b[J");
    }

private:
    struct termios before_{};
    bool changed_ = false;
};

enum class Wake : std::uint8_t { time, now, end };

// keys: -1, or the terminal; its end is ours.
Wake wait(const Signals& signals, int keys, Clock::time_point until) {
    for (;;) {
        std::array<struct pollfd, 2> fds{{{signals.fd(), POLLIN, 0}, {keys, POLLIN, 0}}};
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        if (left <= 0)
            return Wake::time;
        if (::poll(fds.data(), fds.size(), static_cast<int>(left)) == 0)
            return Wake::time;
        if (fds[0].revents != 0)
            return signals.read() ? Wake::end : Wake::now;
        if (fds[1].revents == 0)
            continue;
        char key = 0;
        if (::read(keys, &key, 1) <= 0 || key == 'q' || key == 'Q' || key == 4)
            return Wake::end;
        if (key == ' ' || key == '\n')
            return Wake::now;
    }
}

// As write_output().
std::string show(const Report& report, const TopOptions& options) {
    if (options.json) {
        Json json = Json::object();
        json["schema"] = 1;
        json.update(report.json);
        json["exit"] = static_cast<int>(report.exit);
        return xpreemptd::write_output(json.dump(-1, ' ', false, Json::error_handler_t::replace) +
                                       "\n");
    }
    return xpreemptd::write_output(report.text + "\n");
}

Exit repeat(const Context& context, const TopOptions& options, bool screen) {
    TopReader reader(context, options.pids, options.container);
    const Signals signals;
    std::optional<Screen> drawn;
    const auto interval = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options.interval_s));
    for (std::uint64_t round = 1;; ++round) {
        const Report report = reader.read();
        if (report.exit != Exit::ok) {
            drawn.reset();
            return write_report(report, options.json);
        }
        if (screen && !drawn)
            drawn.emplace();
        const std::string lost = screen ? Screen::show(report.text) : show(report, options);
        if (!lost.empty()) {
            drawn.reset();
            print_message(lost);
            return Exit::failed;
        }
        if (round == options.count)
            return Exit::ok;
        if (wait(signals, screen ? STDIN_FILENO : -1, Clock::now() + interval) == Wake::end)
            return Exit::ok;
    }
}

} // namespace

Exit top(const Context& context, const TopOptions& options) {
    const bool screen = !options.batch && !options.json;
    if (screen && ::isatty(STDOUT_FILENO) == 0)
        return write_report(report_of({Exit::failed, ENOTTY,
                                       "standard output is no terminal: use top -b for a script, "
                                       "with -n COUNT or --once"}),
                            false);
    return repeat(context, options, screen);
}

} // namespace cli
