// SPDX-License-Identifier: MIT
// `ENGINE container inspect NAME`, which these engines have in common; their templates differ.
#include "processes/container_engine.hpp"

#include "base/unique_fd.hpp"
#include "kfd/attribute.hpp"
#include "output/context.hpp"
#include "output/names.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;
using xpreempt::UniqueFd;

constexpr std::chrono::seconds patience{10}; // an engine's daemon may hang
constexpr std::size_t answer_bytes_max = 1U << 20U;

struct Answer {
    int errno_value = 0; // the program couldn't be run
    std::string text;    // stdout and stderr
};

// The engines print an array of records. Warnings and errors come around it. Empty if it isn't
// complete, or has no record.
std::string id_in(std::string_view text) {
    const std::size_t end = text.rfind(']');
    for (std::size_t begin = 0; end != std::string_view::npos && begin < end;
         begin = text.find('\n', begin) + 1) {
        const Json records = text[begin] == '['
                                 ? Json::parse(text.substr(begin, end - begin + 1), nullptr, false)
                                 : Json(nullptr);
        if (records.is_array() && !records.empty() && records[0].is_object() &&
            records[0].value("Id", Json(nullptr)).is_string())
            return records[0]["Id"].get<std::string>();
        if (text.find('\n', begin) == std::string_view::npos)
            break;
    }
    return {};
}

std::string last_line(std::string_view text) {
    text = kfd::trim(text);
    const std::size_t before = text.rfind('\n');
    return printable(before == std::string_view::npos ? text : text.substr(before + 1));
}

bool is_engine_name(std::string_view name) {
    // As the engines restrict them; above all, no option.
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !name.empty() && letter(name[0]) && std::ranges::all_of(name, [&](char c) {
        return letter(c) || c == '_' || c == '.' || c == '-';
    });
}

// Until the id is there, the engine has closed its output, or patience ends.
std::string read_answer(int fd) {
    const Clock::time_point deadline = Clock::now() + patience;
    std::string text;
    std::array<char, 4096> piece{};
    while (text.size() < answer_bytes_max && id_in(text).empty()) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd wait{fd, POLLIN, 0};
        if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0)
            return fmt::format("no answer within {} s", patience.count());
        const ssize_t got = ::read(fd, piece.data(), piece.size());
        if (got <= 0)
            break;
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
}

Answer run(const char* engine, const std::string& name) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return {errno, ""};
    const UniqueFd output(ends[0]);
    UniqueFd input(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDERR_FILENO);
    std::array<std::string, 4> words = {engine, "container", "inspect", name};
    std::array<char*, 5> arguments{};
    std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, engine, &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return {failed, ""};
    input = UniqueFd();
    Answer answer{0, read_answer(output.get())};
    ::kill(child, SIGKILL); // it has said all it had to say, or hangs
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return answer;
}

} // namespace

Outcome<std::string> ask_engines(const std::string& name) {
    const auto unknown = [&](const std::string& why) {
        return tl::make_unexpected(
            Failure{Exit::failed, ENOENT,
                    fmt::format("there is no container '{}': {}", printable(name), why)});
    };
    if (!is_engine_name(name))
        return unknown("give its id, or the name that its engine shows");
    std::string answers;
    for (const char* engine : {"docker", "podman", "nerdctl"}) {
        const Answer answer = run(engine, name);
        if (answer.errno_value == ENOENT)
            continue;
        if (std::string id = id_in(answer.text); !id.empty())
            return id;
        answers += fmt::format("{}{} says: {}", answers.empty() ? "" : "; ", engine,
                               answer.errno_value != 0 ? std::strerror(answer.errno_value)
                                                       : last_line(answer.text));
    }
    if (answers.empty())
        return unknown("no process is in a container of that id or LXC name, and there is no "
                       "docker, podman or nerdctl to ask for a name: give the id");
    return unknown(answers + "; give the id of a container of another user or engine");
}

} // namespace cli
