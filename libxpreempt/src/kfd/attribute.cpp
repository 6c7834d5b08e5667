// SPDX-License-Identifier: MIT
// Reading of small kernel files: sysfs attributes, /proc/PID/status, lists of names.
#include "kfd/attribute.hpp"

#include "base/unique_fd.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>

namespace xpreempt::kfd {

Result<std::string> read_text(const std::filesystem::path& path, Op op, std::size_t max_bytes) {
    // O_NONBLOCK: opening a fifo must not wait for a writer.
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd.valid())
        return fail(errno, op);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0)
        return fail(errno, op);
    if (!S_ISREG(info.st_mode))
        return fail(EINVAL, op);

    // Grows with the file: most are a line, and the largest allowed may be 64 MiB.
    constexpr std::size_t first_bytes = 4096;
    std::string text(std::min(max_bytes, first_bytes), '\0');
    std::size_t used = 0;
    while (used < max_bytes) {
        if (used == text.size())
            text.resize(std::min(max_bytes, 2 * used));
        const ssize_t got = ::read(fd.get(), text.data() + used, text.size() - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(errno, op);
        if (got == 0)
            break;
        used += static_cast<std::size_t>(got);
    }
    text.resize(used);
    return text;
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// The rest of the first line that begins with the name and the separator.
static std::optional<std::string_view> value_behind(std::string_view text, std::string_view name,
                                                    char separator) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == separator)
            return line.substr(name.size() + 1);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::nullopt;
}

std::optional<std::string> field_of(std::string_view text, std::string_view name) {
    const auto value = value_behind(text, name, ':');
    return value ? std::optional<std::string>(trim(*value)) : std::nullopt;
}

std::optional<std::uint64_t> property_of(std::string_view text, std::string_view name) {
    const auto value = value_behind(text, name, ' ');
    return value ? parse_unsigned<std::uint64_t>(*value) : std::nullopt;
}

std::vector<std::string> entries_of(const std::filesystem::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator it(directory, error);
    for (const std::filesystem::directory_iterator end; !error && it != end; it.increment(error))
        names.push_back(it->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace xpreempt::kfd
