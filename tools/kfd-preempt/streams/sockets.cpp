// SPDX-License-Identifier: MIT
// From a pid to its socket, through the eyes of that process: containers have files of their own.
#include "streams/sockets.hpp"

#include "control/directory.hpp"
#include "kfd/attribute.hpp"
#include "output/names.hpp"
#include "processes/error_messages.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace cli {

namespace {

using xpreempt::UniqueFd;

// The environment the process was started with, as far as this user may read it.
std::string runtime_dir_of(const Context& context, const Target& target) {
    constexpr std::string_view name = "XDG_RUNTIME_DIR=";
    const auto text = kfd::read_text(context.roots.proc / std::to_string(target.pid) / "environ",
                                     Op::read_proc, 1U << 20U);
    for (std::size_t at = 0; text && at < text->size();) {
        const std::string_view entry = text->c_str() + at;
        if (entry.starts_with(name))
            return std::string(entry.substr(name.size()));
        at += entry.size() + 1;
    }
    return {};
}

// As the process itself is numbered in its innermost pid namespace.
std::string socket_name_of(const Context& context, const Target& target) {
    const std::filesystem::path process = context.roots.proc / std::to_string(target.pid);
    std::error_code error;
    const std::string link = std::filesystem::read_symlink(process / "ns/pid", error).string();
    const Result<Task> task = task_of(context.roots, target.pid);
    const pid_t pid = task ? task->ns_pid : target.pid;
    return control::socket_name(pid, link.empty() ? "pid:[4026531836]" : link);
}

// errno of the attempt, or 0 with a connection to that very process.
int connect_in(const std::string& directory, const std::string& name, const Target& target,
               std::unique_ptr<control::Connection>& out) {
    const UniqueFd opened(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.valid())
        return errno;
    struct stat status{};
    if (::fstatat(opened.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (!S_ISSOCK(status.st_mode))
        return ENOTSOCK;
    auto connection = control::Connection::open(control::path_below(opened.get(), name));
    if (!connection)
        return connection.error().errno_value;
    if (connection->peer_pid() != target.pid)
        return ESRCH;
    out = std::make_unique<control::Connection>(std::move(*connection));
    return 0;
}

Failure socket_failure(const Target& target, int reason) {
    switch (reason) {
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
    case ESRCH:
        return {Exit::failed, ENOENT,
                fmt::format("{}: has no control socket, so nothing is known of its streams: start "
                            "it with XPREEMPT_CONTROL=1 (it must use libxpreempt), or let it call "
                            "xp_control_open()",
                            target.name())};
    case EACCES:
    case EPERM:
        return {Exit::permission, reason,
                fmt::format("{}: not allowed to use its control socket: run kfd-preempt as its "
                            "user, or as root (sudo)",
                            target.name())};
    case ETIMEDOUT:
        return {Exit::failed, reason,
                fmt::format("{}: its control socket did not answer in time: it is stopped, or "
                            "very busy; try again",
                            target.name())};
    default:
        return {Exit::failed, reason,
                fmt::format("{}: its control socket cannot be used: {} ({})", target.name(),
                            std::strerror(reason), errno_name(reason))};
    }
}

Failure answer_failure(const Target& target, const wire::Broken& broken) {
    if (broken.error == ETIMEDOUT || broken.error == EACCES || broken.error == EPERM)
        return socket_failure(target, broken.error);
    return {Exit::failed, broken.error,
            fmt::format("{}: invalid reply on its control socket: {}; use a kfd-preempt and a "
                        "libxpreempt of the same version",
                        target.name(), printable(broken.text))};
}

} // namespace

Outcome<std::unique_ptr<control::Connection>> connect_socket(const Context& context,
                                                             const Target& target) {
    if (!target.task)
        return tl::make_unexpected(
            Failure{Exit::failed, ESRCH,
                    fmt::format("pid {}: there is no such process (or /proc hides it from you)",
                                target.pid)});
    const std::string name = socket_name_of(context, target);
    const std::string root = (context.roots.proc / std::to_string(target.pid) / "root").string();
    int reason = ENOENT;
    for (const std::string& directory :
         control::directories_of(target.task->uid, runtime_dir_of(context, target))) {
        // Seen from within the process first: what it calls /tmp may be elsewhere here.
        for (const std::string& prefix : {root, std::string{}}) {
            std::unique_ptr<control::Connection> connection;
            const int failed = connect_in(prefix + directory, name, target, connection);
            if (failed == 0)
                return connection;
            if (failed != ENOENT && failed != ENOTDIR && failed != ECONNREFUSED)
                reason = failed;
        }
    }
    return tl::make_unexpected(socket_failure(target, reason));
}

std::vector<SocketView> ask_sockets(const Context& context, const std::vector<Target>& targets,
                                    std::chrono::milliseconds patience) {
    const auto deadline = control::Connection::Clock::now() + patience;
    std::vector<SocketView> views;
    std::vector<std::unique_ptr<control::Connection>> connections;
    std::vector<control::Connection*> asked;
    for (const Target& target : targets) {
        views.push_back({target, std::nullopt, std::nullopt});
        auto connected = connect_socket(context, target);
        if (!connected) {
            views.back().failure = connected.error();
            connections.push_back(nullptr);
            continue;
        }
        (*connected)->ask(wire::Kind::list);
        asked.push_back(connected->get());
        connections.push_back(std::move(*connected));
    }
    control::Connection::await(asked, deadline);
    for (std::size_t i = 0; i < views.size(); ++i) {
        const control::Connection* connection = connections[i].get();
        if (connection == nullptr)
            continue;
        if (const auto& failure = connection->failure(); failure)
            views[i].failure = answer_failure(views[i].target, *failure);
        else if (const wire::Done& done = connection->answer().done; done.error != 0)
            views[i].failure = Failure{
                exit_of(done.error), done.error,
                fmt::format("{}: {}", views[i].target.name(), printable(wire::text_of(done.text)))};
        else
            views[i].answer = connection->answer();
    }
    return views;
}

} // namespace cli
