// SPDX-License-Identifier: MIT
// Owners and modes of a path, from the root on.
#include "rules/plugin_trust.hpp"

#include "sched/plugin_library.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xpreemptd {

namespace {

using Path = std::filesystem::path;
using Checked = tl::expected<void, std::string>;

tl::unexpected<std::string> refuse(const Path& file, const std::string& why) {
    return tl::make_unexpected(fmt::format("{}: {}", file.string(), why));
}

Checked check_part(const Path& file, const Path& part, uid_t user) {
    struct stat entry{}, status{}; // of a symbolic link, and of its target
    if (::lstat(part.c_str(), &entry) != 0 || ::stat(part.c_str(), &status) != 0)
        return refuse(file,
                      fmt::format("{} cannot be read: {}", part.string(), std::strerror(errno)));
    for (const struct stat& of : {entry, status})
        if (of.st_uid != 0 && of.st_uid != user)
            return refuse(file,
                          fmt::format("{0} is user {1}'s, who could have the daemon run anything; "
                                      "`chown {2}root {0}` if you trust what is there",
                                      part.string(), of.st_uid, S_ISLNK(of.st_mode) ? "-h " : ""));
    const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)
        return refuse(file, fmt::format("users other than the owner of {0} may write to it, and so "
                                        "have the daemon run anything; `chmod go-w {0}` if you "
                                        "trust what is there",
                                        part.string()));
    return {};
}

Checked check_parts(const Path& file, const Path& path, uid_t user) {
    Path part;
    for (const Path& name : path) {
        part /= name;
        if (Checked checked = check_part(file, part, user); !checked)
            return checked;
    }
    return {};
}

// The path with its first symbolic link replaced by where it leads; the same path without links.
tl::expected<Path, std::errc> without_first_link(const Path& path) {
    Path before;
    for (auto name = path.begin(); name != path.end(); ++name) {
        std::error_code error;
        const Path part = before / *name;
        if (!std::filesystem::is_symlink(part, error)) {
            before = part;
            continue;
        }
        const Path target = std::filesystem::read_symlink(part, error);
        if (error)
            return tl::make_unexpected(static_cast<std::errc>(error.value()));
        Path next = before / target; // an absolute one replaces all
        while (++name != path.end())
            next /= *name;
        return next;
    }
    return before;
}

} // namespace

// Each directory that a symbolic link on the way leads through, too: root's link may lead to a
// user's, and that to a file of root's.
Checked check_trust(const Path& file, uid_t user) {
    constexpr int most_links = 40; // as the kernel follows
    Path path = file;
    for (int links = 0; links <= most_links; ++links) {
        if (Checked checked = check_parts(file, path, user); !checked)
            return checked;
        const auto next = without_first_link(path);
        if (!next)
            return refuse(file, std::make_error_code(next.error()).message());
        if (*next == path)
            return {};
        path = *next;
    }
    return refuse(file, std::strerror(ELOOP));
}

tl::expected<sched::Plugin, std::string> load_trusted_plugin(const Path& file) {
    if (const Checked checked = check_trust(file, ::geteuid()); !checked)
        return tl::make_unexpected(checked.error());
    return sched::load_plugin(file);
}

} // namespace xpreemptd
