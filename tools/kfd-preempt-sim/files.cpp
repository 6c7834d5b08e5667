// SPDX-License-Identifier: MIT
// Files by stdio, for its errno.
#include "files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>

namespace sim {

namespace {

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

tl::unexpected<std::string> fail(const std::filesystem::path& file, std::string_view what,
                                 int error) {
    return tl::make_unexpected(
        fmt::format("{}: {}: {}", file.string(), what, std::strerror(error)));
}

} // namespace

Answer<std::string> read_file(const std::filesystem::path& file, std::size_t most_bytes) {
    const File opened(std::fopen(file.c_str(), "re"));
    if (!opened)
        return fail(file, "cannot be read", errno);
    std::string text;
    std::array<char, 65536> block{};
    while (std::feof(opened.get()) == 0 && std::ferror(opened.get()) == 0) {
        text.append(block.data(), std::fread(block.data(), 1, block.size(), opened.get()));
        if (text.size() > most_bytes)
            return fail(file, "cannot be read", EFBIG);
    }
    if (std::ferror(opened.get()) != 0)
        return fail(file, "cannot be read", errno);
    return text;
}

Answer<void> write_file(const std::filesystem::path& file, std::string_view text) {
    File opened(std::fopen(file.c_str(), "we"));
    if (!opened)
        return fail(file, "not written", errno);
    const bool whole = std::fwrite(text.data(), 1, text.size(), opened.get()) == text.size();
    if (!whole || std::fclose(opened.release()) != 0)
        return fail(file, "not written", errno);
    return {};
}

} // namespace sim
