// SPDX-License-Identifier: MIT
// The marker is written before a plug-in decides, and removed when it does no more.
#include "rules/plugin_marker.hpp"

#include "base/unique_fd.hpp"
#include "kfd/attribute.hpp"

#include <climits>
#include <fcntl.h>
#include <unistd.h>

namespace xpreemptd {

std::filesystem::path PluginMarker::beside(const std::filesystem::path& socket) {
    return socket.parent_path() / "plug-in-in-force";
}

std::optional<std::string> PluginMarker::read(const std::filesystem::path& marker) {
    auto text = xpreempt::kfd::read_text(marker, xpreempt::Op::argument, PATH_MAX);
    return text ? std::optional(std::move(*text)) : std::nullopt;
}

bool PluginMarker::set(const std::filesystem::path& plugin) {
    ours_ = true;
    const xpreempt::UniqueFd file(
        ::open(marker_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    const std::string& path = plugin.native();
    return file.valid() &&
           ::write(file.get(), path.data(), path.size()) == static_cast<ssize_t>(path.size());
}

void PluginMarker::clear() {
    if (ours_)
        ::unlink(marker_.c_str());
    ours_ = false;
}

} // namespace xpreemptd
