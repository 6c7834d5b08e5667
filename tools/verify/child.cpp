// SPDX-License-Identifier: MIT
// Questions and answers are lines on two pipes.
#include "child.hpp"

#include "queues.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/kfd_ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace verify {

namespace {

constexpr std::uint32_t workgroups = 8;
constexpr const char* unsupported = "unsupported";

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
};

// Before the first queue.
bool turn_xnack_on(int fd) {
    kfd_ioctl_set_xnack_mode_args args{};
    args.xnack_enabled = 1;
    return kfd_ioctl(fd, AMDKFD_IOC_SET_XNACK_MODE, &args) == 0 && args.xnack_enabled == 1;
}

} // namespace

tl::expected<std::unique_ptr<Child>, std::string> Child::start(std::uint32_t gpu_id,
                                                               const std::string& mode, Words by) {
    std::error_code error; // nothing is executed then
    by.push_back(std::filesystem::read_symlink("/proc/self/exe", error).string());
    by.insert(by.end(), {mode, std::to_string(gpu_id)});
    return start(by);
}

tl::expected<std::unique_ptr<Child>, std::string> Child::start(const Words& words) {
    Pipe to, from;
    if (!to.open() || !from.open())
        return tl::make_unexpected(text_of(-errno));
    std::unique_ptr<Child> child(new Child);
    const int failed =
        spawn(words, {to.ends[0], from.ends[1], STDERR_FILENO}, nullptr, child->pid_);
    ::close(to.ends[0]);
    ::close(from.ends[1]);
    child->to_ = ::fdopen(to.ends[1], "w");
    child->from_ = ::fdopen(from.ends[0], "r");
    if (failed != 0) {
        child->pid_ = -1;
        return tl::make_unexpected("cannot start a child process: " + text_of(-failed));
    }
    const std::string answer = child->read_line();
    if (!answer.starts_with(ready))
        return tl::make_unexpected(answer.empty() ? "the child process ended" : answer);
    child->first_line_ = answer.substr(std::string_view(ready).size());
    return child;
}

std::uint32_t Child::queue_id() const {
    return static_cast<std::uint32_t>(std::stoul(first_line_));
}

Child::~Child() {
    if (to_ != nullptr)
        std::fclose(to_);
    if (from_ != nullptr)
        std::fclose(from_);
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL); // has ended, or was given up
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

std::string Child::read_line() {
    std::string text;
    for (int c = 0; (c = std::fgetc(from_)) != '\n';) {
        if (c == EOF && std::ferror(from_) != 0 && errno == EINTR)
            std::clearerr(from_);
        else if (c == EOF)
            break;
        else
            text.push_back(static_cast<char>(c));
    }
    // tools/queues prints comments about wrong results.
    return text.starts_with("#") ? read_line() : text;
}

std::string Child::ask(const std::string& question) {
    fmt::print(to_, "{}\n", question);
    if (std::fflush(to_) != 0)
        return {};
    return read_line();
}

int run_child(std::uint32_t gpu_id, bool xnack) {
    ::setvbuf(stdout, nullptr, _IOLBF, 0);
    auto gpu = Gpu::open(gpu_id);
    if (gpu && xnack && !turn_xnack_on((*gpu)->fd())) {
        fmt::print("{}\n", unsupported);
        return 1;
    }
    auto queue = gpu ? BusyQueue::create(**gpu, workgroups) : tl::make_unexpected(gpu.error());
    if (!queue) {
        fmt::print("{}\n", queue.error());
        return 1;
    }
    fmt::print("{}{}\n", Child::ready, (*queue)->id());
    std::array<char, 64> line{};
    while (std::fgets(line.data(), static_cast<int>(line.size()), stdin) != nullptr) {
        const std::string question(line.data());
        if (question == "still\n")
            fmt::print("{}\n", (*queue)->stands_still() ? "yes" : "no");
        else if (question == "moves\n")
            fmt::print("{}\n", (*queue)->moves() ? "yes" : "no");
        else if (question == "end\n")
            fmt::print("{}\n", (*queue)->ends_right() ? "right" : "wrong");
    }
    return 0;
}

} // namespace verify
