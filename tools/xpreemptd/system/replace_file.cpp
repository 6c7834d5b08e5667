// SPDX-License-Identifier: MIT
// mkstemp, write, rename.
#include "system/replace_file.hpp"

#include "base/unique_fd.hpp"
#include "system/write_all.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace xpreemptd {

int replace_file(const std::filesystem::path& path, std::string_view text, mode_t mode) {
    // Root could rename over /dev/null, and over the link that /dev/stdout is.
    struct stat there{};
    if (::lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
        return ENOTSUP;
    // Its end isn't that of the file: readers of *.prom don't see it.
    std::string next = path.string() + ".XXXXXX";
    const xpreempt::UniqueFd fd(::mkostemp(next.data(), O_CLOEXEC));
    if (!fd.valid())
        return errno;
    int failed = ::fchmod(fd.get(), mode) != 0 ? errno : write_all(fd.get(), text);
    if (failed == 0 && ::rename(next.c_str(), path.c_str()) != 0)
        failed = errno;
    if (failed != 0)
        ::unlink(next.c_str());
    return failed;
}

bool file_exists(const std::filesystem::path& path) {
    return ::access(path.c_str(), F_OK) == 0;
}

} // namespace xpreemptd
