// SPDX-License-Identifier: MIT
// A file whose readers see the old content or the new one, never a part.
#pragma once

#include <filesystem>
#include <string_view>
#include <sys/types.h>

namespace xpreemptd {

// Writes a file beside it and renames that one. 0 or an errno; then the old file stays. ENOTSUP: at
// the path is something else than a file, such as a device or a link.
[[nodiscard]] int replace_file(const std::filesystem::path& path, std::string_view text,
                               mode_t mode);

[[nodiscard]] bool file_exists(const std::filesystem::path& path);

} // namespace xpreemptd
