// SPDX-License-Identifier: MIT
#include "spawn.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace verify {

namespace {

std::vector<char*> pointers_to(Words& words) {
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

// In the new process, which has nothing of this one's but its open files. Returns if it fails.
void become(char** arguments, char** environment, const Streams& streams, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(0); // it has ended before that
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    const int in = streams.in >= 0 ? streams.in : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (::dup2(in, STDIN_FILENO) < 0 || ::dup2(streams.out, STDOUT_FILENO) < 0 ||
        ::dup2(streams.err, STDERR_FILENO) < 0)
        return;
    ::execvpe(arguments[0], arguments, environment);
}

} // namespace

int spawn(Words words, const Streams& streams, const Words* environment, pid_t& pid) {
    Words lines = environment == nullptr ? Words{} : *environment;
    std::vector<char*> arguments = pointers_to(words), settings = pointers_to(lines);
    std::array<int, 2> failure{}; // the new process writes why it is none
    if (::pipe2(failure.data(), O_CLOEXEC) != 0)
        return errno;
    const pid_t parent = ::getpid();
    pid = ::fork();
    int error = pid < 0 ? errno : 0;
    if (pid == 0) {
        become(arguments.data(), environment == nullptr ? environ : settings.data(), streams,
               parent);
        error = errno;
        ::_exit(::write(failure[1], &error, sizeof error) < 0 ? 126 : 127);
    }
    ::close(failure[1]);
    while (pid > 0 && ::read(failure[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    ::close(failure[0]);
    if (error != 0 && pid > 0)
        while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
        }
    return error;
}

} // namespace verify
