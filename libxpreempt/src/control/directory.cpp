// SPDX-License-Identifier: MIT
// Finds, makes and checks the directory; what it doesn't own it doesn't use.
#include "control/directory.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace xpreempt::control {

namespace {

// PROC_PID_INIT_INO of include/linux/proc_ns.h: the first pid namespace has a fixed number.
constexpr std::string_view first_pid_namespace = "pid:[4026531836]";

constexpr mode_t others = S_IRWXG | S_IRWXO;

// A parent is believed when only its owner (or, with the sticky bit, only the owner of an entry)
// can replace what is in it.
bool is_safe_parent(const struct stat& status) {
    const bool own = status.st_uid == geteuid() || status.st_uid == 0;
    const bool closed = (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return own && (closed || (status.st_mode & S_ISVTX) != 0);
}

Result<UniqueFd> open_or_make(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = path.substr(0, slash);
    const std::string name = path.substr(slash + 1);
    const UniqueFd above(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status{};
    if (!above.valid() || ::fstat(above.get(), &status) != 0)
        return fail(errno, Op::open_control);
    if (!is_safe_parent(status))
        return fail(EPERM, Op::open_control);
    if (::mkdirat(above.get(), name.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        return fail(errno, Op::open_control);
    UniqueFd directory(
        ::openat(above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory.valid() || ::fstat(directory.get(), &status) != 0)
        return fail(errno, Op::open_control);
    if (status.st_uid != geteuid() || (status.st_mode & others) != 0)
        return fail(EPERM, Op::open_control);
    return directory;
}

// A socket exists only when a process listens, because it gets its name after that.
bool nobody_listens(int directory, const std::string& name) {
    struct stat status{};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISSOCK(status.st_mode))
        return false;
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return probe.valid() && at_path(::connect, probe.get(), path_below(directory, name)) != 0 &&
           errno == ECONNREFUSED;
}

} // namespace

std::string socket_name(pid_t pid, std::string_view namespace_link) {
    std::string name = std::to_string(pid);
    const std::size_t bracket = namespace_link.find('[');
    if (namespace_link != first_pid_namespace && bracket != std::string_view::npos)
        name += "@" + std::string(namespace_link.substr(bracket + 1,
                                                        namespace_link.find(']') - bracket - 1));
    return name + ".sock";
}

std::string own_socket_name() {
    std::error_code error;
    const auto link = std::filesystem::read_symlink("/proc/self/ns/pid", error);
    return socket_name(::getpid(), link.empty() ? first_pid_namespace : link.native());
}

std::vector<std::string> directories_of(uid_t uid, std::string_view xdg_runtime_dir) {
    std::vector<std::string> paths;
    if (xdg_runtime_dir.starts_with('/'))
        paths.push_back(std::string(xdg_runtime_dir) + "/kfd-preempt");
    const std::string number = std::to_string(uid);
    paths.push_back("/run/user/" + number + "/kfd-preempt");
    paths.push_back("/tmp/kfd-preempt-" + number);
    return paths;
}

std::string path_below(int directory, std::string_view name) {
    return "/proc/self/fd/" + std::to_string(directory) + "/" + std::string(name);
}

int at_path(int (*call)(int, const sockaddr*, socklen_t), int fd, const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    path.copy(address.sun_path, path.size());
    return call(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

Result<UniqueFd> open_own_directory(const std::vector<std::string>& candidates) {
    Result<UniqueFd> directory = fail(ENOENT, Op::open_control);
    for (auto path = candidates.begin(); !directory && path != candidates.end(); ++path)
        directory = open_or_make(*path);
    return directory;
}

void sweep(int directory) {
    std::error_code error;
    std::filesystem::directory_iterator entry(path_below(directory, "."), error);
    for (const std::filesystem::directory_iterator end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (name.ends_with(".sock") && nobody_listens(directory, name))
            ::unlinkat(directory, name.c_str(), 0);
    }
}

} // namespace xpreempt::control
