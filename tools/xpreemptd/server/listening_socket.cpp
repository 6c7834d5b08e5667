// SPDX-License-Identifier: MIT
// Binds, and keeps two daemons from taking each other's socket.
#include "server/listening_socket.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace xpreemptd {

namespace {

namespace fs = std::filesystem;
using xpreempt::UniqueFd;

constexpr int kind = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;

tl::unexpected<std::string> error_of(const char* what, const fs::path& path, int error) {
    return tl::make_unexpected(
        fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

tl::unexpected<std::string> another_runs(pid_t pid, const fs::path& path) {
    // Another pid namespace's process has no number here.
    const std::string who = pid > 0 ? fmt::format(" (pid {})", pid) : "";
    return tl::make_unexpected(
        fmt::format("another xpreemptd runs{} and listens at {}", who, path.string()));
}

sockaddr_un address_of(const fs::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
}

// One call for connect() and bind(), whose cast it holds.
template <typename Call> int with_address(Call call, int fd, const fs::path& path) {
    const sockaddr_un address = address_of(path);
    return call(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// The pid of the process that listens; 0 if it has none here, -1 if there is none.
pid_t listener_at(const fs::path& path) {
    const UniqueFd probe(::socket(AF_UNIX, kind, 0));
    if (!probe.valid())
        return 0;
    if (with_address(::connect, probe.get(), path) != 0)
        return errno == ECONNREFUSED ? -1 : 0; // EAGAIN: its queue is full; EPROTOTYPE: not ours
    ucred peer{};
    socklen_t bytes = sizeof peer;
    return ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

std::optional<FileId> id_at(const fs::path& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? std::optional(FileId{status.st_dev, status.st_ino})
                                               : std::nullopt;
}

} // namespace

ListeningSocket::ListeningSocket(ListeningSocket&& other) noexcept
    : file_(std::move(other.file_)), lock_(std::move(other.lock_)),
      socket_(std::move(other.socket_)), id_(other.id_), lock_id_(other.lock_id_) {}

ListeningSocket::~ListeningSocket() {
    // The lock is held until after this: no other process' file has taken the name.
    if (is_in_place())
        ::unlink(file_.path.c_str());
}

bool ListeningSocket::is_in_place() const {
    return socket_.valid() && id_ && id_at(file_.path) == id_;
}

// Between seeing that a file is stale and replacing it, another daemon could have done so. Root's
// alone: a reader could lock it too. Never removed, or two daemons could lock two files.
tl::expected<void, std::string> ListeningSocket::lock() {
    const fs::path file = file_.path.string() + ".lock";
    if (lock_id_ && id_at(file) == lock_id_)
        return {}; // the lock of a process ends when it closes any descriptor of the file
    lock_id_.reset();
    lock_ = UniqueFd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock_.valid())
        return error_of("open", file, errno);
    struct flock wanted{};
    wanted.l_type = F_WRLCK;
    wanted.l_whence = SEEK_SET;
    if (::fcntl(lock_.get(), F_SETLK, &wanted) == 0) {
        lock_id_ = id_at(file);
        return {};
    }
    if (errno != EAGAIN && errno != EACCES)
        return error_of("lock", file, errno);
    const bool known = ::fcntl(lock_.get(), F_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
    return another_runs(known ? wanted.l_pid : 0, file_.path);
}

tl::expected<void, std::string> ListeningSocket::bind_to_path() {
    socket_ = UniqueFd(::socket(AF_UNIX, kind, 0));
    if (!socket_.valid())
        return error_of("make a socket for", file_.path, errno);
    int failed = with_address(::bind, socket_.get(), file_.path) == 0 ? 0 : errno;
    if (failed == EADDRINUSE) {
        // To connect to what is no socket is refused, as to a stale one.
        std::error_code error;
        if (fs::symlink_status(file_.path, error).type() != fs::file_type::socket)
            return tl::make_unexpected(
                fmt::format("{} is there and is no socket: remove it", file_.path.string()));
        if (const pid_t pid = listener_at(file_.path); pid >= 0)
            return another_runs(pid, file_.path);
        if (::unlink(file_.path.c_str()) != 0 && errno != ENOENT)
            return error_of("remove the stale socket", file_.path, errno);
        failed = with_address(::bind, socket_.get(), file_.path) == 0 ? 0 : errno;
    }
    if (failed != 0)
        return error_of("bind to", file_.path, failed);
    id_ = id_at(file_.path);
    // Each request is judged by its peer's credentials, so by default every user may ask. Before
    // listen(), so that no client is refused meanwhile. chown() first: it may change the mode.
    if (file_.group != SocketFile::own_group &&
        ::chown(file_.path.c_str(), static_cast<uid_t>(-1), file_.group) != 0)
        return error_of("change the group of", file_.path, errno);
    if (::chmod(file_.path.c_str(), file_.mode) != 0)
        return error_of("change the mode of", file_.path, errno);
    if (::listen(socket_.get(), SOMAXCONN) != 0)
        return error_of("listen at", file_.path, errno);
    return {};
}

tl::expected<void, std::string> ListeningSocket::make() {
    if (file_.path.empty() || file_.path.native().size() >= sizeof sockaddr_un::sun_path)
        return tl::make_unexpected(fmt::format("the path of the socket, '{}', must have 1 to {} "
                                               "bytes",
                                               file_.path.string(),
                                               sizeof sockaddr_un::sun_path - 1));
    const fs::path directory = file_.path.parent_path();
    // Once more the mode, for the umask may have taken rights away.
    if (!directory.empty() &&
        (::mkdir(directory.c_str(), 0755) != 0 || ::chmod(directory.c_str(), 0755) != 0) &&
        errno != EEXIST)
        return error_of("make the directory", directory, errno);
    if (auto locked = lock(); !locked)
        return locked;
    return bind_to_path();
}

tl::expected<bool, std::string> ListeningSocket::restore() {
    if (is_in_place())
        return false;
    auto made = make();
    if (!made)
        close();
    return made.map([] { return true; });
}

tl::expected<ListeningSocket, std::string> ListeningSocket::open(const SocketFile& file) {
    ListeningSocket listening(file);
    if (auto made = listening.make(); !made)
        return tl::make_unexpected(made.error());
    return listening;
}

} // namespace xpreemptd
