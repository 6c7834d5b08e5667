// SPDX-License-Identifier: MIT
// replace_file() replaces regular files, and leaves everything else alone.
#include "system/replace_file.hpp"

#include "unit/kfd_tree.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>

namespace {

class ReplaceFile : public testing::Test {
protected:
    [[nodiscard]] std::filesystem::path path(const char* name) const { return tree_.root() / name; }
    [[nodiscard]] std::string text_of(const char* name) const {
        std::ifstream file(path(name));
        std::string text;
        std::getline(file, text);
        return text;
    }
    [[nodiscard]] int replace(const char* name, const char* text = "new") const {
        return xpreemptd::replace_file(path(name), text, 0644);
    }
    [[nodiscard]] std::ptrdiff_t entries() const {
        return std::distance(std::filesystem::directory_iterator(tree_.root()), {});
    }

private:
    test::KfdTree tree_;
};

TEST_F(ReplaceFile, writes_a_file_and_replaces_it) {
    EXPECT_EQ(replace("file", "old"), 0);
    EXPECT_EQ(text_of("file"), "old");
    EXPECT_EQ(replace("file"), 0);
    EXPECT_EQ(text_of("file"), "new");
}

// As root it could take the place of /dev/null, for the whole machine.
TEST_F(ReplaceFile, takes_the_place_of_nothing_else) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    std::ofstream(path("target")) << "old";
    std::filesystem::create_symlink("target", path("link"));
    std::filesystem::create_symlink("absent", path("dangling"));
    std::filesystem::create_directory(path("directory"));
    const auto before = entries();
    for (const char* name : {"pipe", "link", "dangling", "directory"})
        EXPECT_EQ(replace(name), ENOTSUP) << name;
    EXPECT_EQ(std::filesystem::status(path("pipe")).type(), std::filesystem::file_type::fifo);
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_EQ(text_of("target"), "old");
    EXPECT_FALSE(std::filesystem::exists(path("absent")));
    EXPECT_EQ(entries(), before);
}

} // namespace
