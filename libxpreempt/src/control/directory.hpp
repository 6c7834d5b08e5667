// SPDX-License-Identifier: MIT
// The per-user directory of control sockets, and the name of a process' socket in it.
#pragma once

#include "base/error.hpp"
#include "base/unique_fd.hpp"

#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace xpreempt::control {

// Returns the socket's name: "1234.sock" in the kernel's first pid namespace. In any other, the
// name includes the namespace's inode number, because containers may share the directory but not
// their pids: "7@4026532301.sock".
std::string socket_name(pid_t pid, std::string_view namespace_link);
std::string own_socket_name();

// Where the directory may be for that user, best first: below $XDG_RUNTIME_DIR, below
// /run/user/UID, in /tmp.
std::vector<std::string> directories_of(uid_t uid, std::string_view xdg_runtime_dir);

// A path that names an entry of an open directory: no symbolic link on the way is followed, and
// the 108 bytes of sockaddr_un are enough.
std::string path_below(int directory, std::string_view name);

// Calls connect() or bind() with the address of a socket in the file system. ENAMETOOLONG if the
// path doesn't fit into one.
int at_path(int (*call)(int, const sockaddr*, socklen_t), int fd, const std::string& path);

// Opens the first of these that is, or can be made, a directory of the caller that no other user
// may enter.
Result<UniqueFd> open_own_directory(const std::vector<std::string>& candidates);

// Removes sockets without a listener: those of killed processes.
void sweep(int directory);

} // namespace xpreempt::control
