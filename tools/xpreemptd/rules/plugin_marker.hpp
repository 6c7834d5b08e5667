// SPDX-License-Identifier: MIT
// A file that is there while a plug-in is loaded at a start and while it decides, so that the next
// daemon leaves it out if it crashes this one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace xpreemptd {

class PluginMarker {
public:
    // Beside the socket, in a directory that lasts as long as the machine is up.
    [[nodiscard]] static std::filesystem::path beside(const std::filesystem::path& socket);
    // The plug-in that was loading or in force when a daemon was killed or crashed; nothing without
    // a marker.
    [[nodiscard]] static std::optional<std::string> read(const std::filesystem::path& marker);

    explicit PluginMarker(std::filesystem::path marker) : marker_(std::move(marker)) {}
    PluginMarker(const PluginMarker&) = delete;
    PluginMarker& operator=(const PluginMarker&) = delete;
    PluginMarker(PluginMarker&&) = delete;
    PluginMarker& operator=(PluginMarker&&) = delete;
    ~PluginMarker() { clear(); }

    // A marker of an earlier daemon is ours from now on: it goes when we end.
    void take_over() { ours_ = true; }
    // Before the first decision. False: it can't be written.
    bool set(const std::filesystem::path& plugin);
    void clear(); // if it is ours

private:
    std::filesystem::path marker_;
    bool ours_ = false;
};

} // namespace xpreemptd
