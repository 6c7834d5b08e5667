// SPDX-License-Identifier: MIT
// The socket that the daemon listens at.
#pragma once

#include "base/unique_fd.hpp"
#include "rules/socket_file.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <utility>

namespace xpreemptd {

struct FileId {
    dev_t device;
    ino_t inode;
    bool operator==(const FileId&) const = default;
};

class ListeningSocket {
public:
    // Binds to the path and makes its directory. Replaces the file of a daemon that was killed. The
    // error is a sentence; "another xpreemptd runs (pid N)" if one does.
    [[nodiscard]] static tl::expected<ListeningSocket, std::string> open(const SocketFile& file);

    // Makes it anew if its file was removed or replaced, and returns whether it has: nobody could
    // connect to the old descriptor any more. An error leaves it without a descriptor, and the next
    // call tries again.
    [[nodiscard]] tl::expected<bool, std::string> restore();

    // Without a descriptor from now on, as after an error of restore().
    void close() { socket_ = xpreempt::UniqueFd(); }

    // Removes the file.
    ~ListeningSocket();
    ListeningSocket(ListeningSocket&& other) noexcept;
    ListeningSocket& operator=(ListeningSocket&&) = delete;
    ListeningSocket(const ListeningSocket&) = delete;
    ListeningSocket& operator=(const ListeningSocket&) = delete;

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] const std::filesystem::path& path() const { return file_.path; }

private:
    explicit ListeningSocket(SocketFile file) : file_(std::move(file)) {}

    [[nodiscard]] bool is_in_place() const;
    [[nodiscard]] tl::expected<void, std::string> make();
    [[nodiscard]] tl::expected<void, std::string> lock();
    [[nodiscard]] tl::expected<void, std::string> bind_to_path();

    SocketFile file_;
    xpreempt::UniqueFd lock_; // of a file beside the socket, as long as this daemon lives
    xpreempt::UniqueFd socket_;
    std::optional<FileId> id_, lock_id_; // of the files of the socket and of the lock
};

} // namespace xpreemptd
