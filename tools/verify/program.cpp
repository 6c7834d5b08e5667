// SPDX-License-Identifier: MIT
// Starts programs without a shell. Their output goes into a memfd, so that no pipe can fill up.
#include "program.hpp"

#include "kfd-preempt/output/names.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace verify {

namespace {

tl::unexpected<std::string> failure(const std::string& what, int error) {
    return tl::make_unexpected(
        fmt::format("{}: {} ({})", what, std::strerror(error), cli::errno_name(error)));
}

} // namespace

tl::expected<std::unique_ptr<Program>, std::string> Program::start(const Words& words,
                                                                   const Words* environment) {
    std::unique_ptr<Program> program(new Program);
    program->output_ = ::memfd_create("output", MFD_CLOEXEC);
    if (program->output_ < 0)
        return failure("no room for the output of a program", errno);
    const Streams streams{-1, program->output_, program->output_};
    if (const int failed = spawn(words, streams, environment, program->pid_); failed != 0) {
        program->pid_ = -1;
        return failure("cannot start " + words[0], failed);
    }
    return program;
}

Program::~Program() {
    if (pid_ > 0 && !status_) {
        ::kill(pid_, SIGKILL);
        wait();
    }
    if (output_ >= 0)
        ::close(output_);
}

bool Program::ended() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
        status_ = status;
    return status_.has_value();
}

void Program::wait() {
    int status = 0;
    while (!status_) {
        if (::waitpid(pid_, &status, 0) == pid_)
            status_ = status;
        else if (errno != EINTR)
            status_ = W_EXITCODE(127, 0); // how it ended is unknown, which is no success
    }
}

std::optional<std::chrono::nanoseconds> Program::wait_for(std::chrono::seconds patience) {
    sigset_t child{}, before{};
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, &before);
    const auto deadline = begin_ + patience;
    auto now = std::chrono::steady_clock::now();
    while (!ended() && now < deadline) {
        const std::chrono::nanoseconds left = deadline - now;
        const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
        const timespec limit{seconds.count(), (left - seconds).count()};
        ::sigtimedwait(&child, nullptr, &limit); // of another child: looks again
        now = std::chrono::steady_clock::now();
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return status_ ? std::optional(now - begin_) : std::nullopt;
}

std::string Program::end() const {
    const int status = status_.value_or(0);
    if (WIFSIGNALED(status))
        return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return fmt::format("exit status {}", WEXITSTATUS(status));
}

std::string Program::output() const {
    std::string text;
    std::array<char, 4096> part{};
    ssize_t got = 0;
    while ((got = ::pread(output_, part.data(), part.size(), static_cast<off_t>(text.size()))) > 0)
        text.append(part.data(), static_cast<std::size_t>(got));
    return text;
}

std::string command_name() {
    const char* started = std::getenv("KFD_PREEMPT_COMMAND");
    return started != nullptr ? started : "kfd-preempt";
}

bool succeeds(const Words& words) {
    const auto program = Program::start(words);
    if (!program)
        return false;
    (*program)->wait();
    return (*program)->succeeded();
}

} // namespace verify
