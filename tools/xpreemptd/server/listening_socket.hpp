// SPDX-License-Identifier: MIT
// The socket that the daemon listens at.
#pragma once

#include "base/unique_fd.hpp"
#include "rules/socket_file.hpp"

#include <filesystem>
#include <string>
#include <tl/expected.hpp>

namespace xpreemptd {

class ListeningSocket {
public:
    // Binds to the path and makes its directory. Replaces the file of a daemon that was killed. The
    // error is a sentence; "another xpreemptd runs (pid N)" if one does.
    [[nodiscard]] static tl::expected<ListeningSocket, std::string> open(const SocketFile& file);

    // Removes the file.
    ~ListeningSocket();
    ListeningSocket(ListeningSocket&& other) noexcept;
    ListeningSocket& operator=(ListeningSocket&&) = delete;
    ListeningSocket(const ListeningSocket&) = delete;
    ListeningSocket& operator=(const ListeningSocket&) = delete;

    [[nodiscard]] int fd() const { return socket_.get(); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    ListeningSocket() = default;

    [[nodiscard]] tl::expected<void, std::string> lock();
    [[nodiscard]] tl::expected<void, std::string> bind_to_path(const SocketFile& file);

    std::filesystem::path path_;
    xpreempt::UniqueFd lock_; // of a file beside the socket, as long as this daemon lives
    xpreempt::UniqueFd socket_;
    bool remove_ = false;
};

} // namespace xpreemptd
