// SPDX-License-Identifier: MIT
// The C library's functions for files, which pass through the hook.
#include "hook/table.hpp"
#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace xpreempt::hook;

// Creates a queue with the descriptor. Returns true if the hook has noted the queue.
bool is_seen(int fd) {
    xpreempt::kfd::CreateQueueArgs args{};
    EXPECT_EQ(0, ioctl(fd, _IOWR('K', xpreempt::kfd::nr_create_queue, args), &args));
    std::vector<QueueRecord> records(512);
    records.resize(xpreempt_hook_table()->queues(records.data(), 512));
    return std::ranges::any_of(records, [&](const QueueRecord& record) {
        return record.kfd_queue_id == args.queue_id && record.fd == fd;
    });
}

class FilesTest : public ::testing::Test {
protected:
    FilesTest()
        : kfd_(open("/dev/kfd", O_RDWR | O_CLOEXEC)),
          plain_(open("/dev/zero", O_RDWR | O_CLOEXEC)) {}
    ~FilesTest() override {
        close(kfd_);
        close(plain_);
    }
    int kfd_, plain_;
};

TEST_F(FilesTest, a_descriptor_that_becomes_one_of_kfd_is_seen) {
    ASSERT_EQ(plain_, dup2(kfd_, plain_));
    EXPECT_TRUE(is_seen(plain_));
}

TEST_F(FilesTest, a_descriptor_that_dup3_makes_is_seen_and_has_its_flag) {
    ASSERT_EQ(plain_, dup3(kfd_, plain_, O_CLOEXEC));
    EXPECT_TRUE(is_seen(plain_));
    EXPECT_EQ(FD_CLOEXEC, fcntl(plain_, F_GETFD));
    const int other = dup(STDIN_FILENO);
    ASSERT_EQ(other, dup3(kfd_, other, 0));
    EXPECT_EQ(0, fcntl(other, F_GETFD));
    close(other);
}

// The queue of a descriptor that is replaced has none any more.
TEST_F(FilesTest, a_descriptor_that_is_replaced_is_forgotten) {
    for (const bool by_dup3 : {false, true}) {
        const int copy = dup(kfd_);
        ASSERT_TRUE(is_seen(copy));
        ASSERT_EQ(copy, by_dup3 ? dup3(plain_, copy, O_CLOEXEC) : dup2(plain_, copy));
        std::vector<QueueRecord> records(512);
        records.resize(xpreempt_hook_table()->queues(records.data(), 512));
        EXPECT_TRUE(std::ranges::none_of(
            records, [&](const QueueRecord& record) { return record.fd == copy; }));
        close(copy);
    }
}

TEST_F(FilesTest, the_mode_of_a_new_file_passes_through) {
    char directory[] = "/tmp/files_test_XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(directory));
    const int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
    const auto path = [&](const char* name) { return std::string(directory) + "/" + name; };
    const int files[] = {open(path("a").c_str(), flags, 0600),
                         open64(path("b").c_str(), flags, 0600), openat(at, "c", flags, 0600),
                         openat64(at, "d", flags, 0600)};
    for (const int file : files) {
        struct stat status{};
        ASSERT_EQ(0, fstat(file, &status));
        EXPECT_EQ(0600U, status.st_mode & 0777U);
        close(file);
    }
    for (const char* name : {"a", "b", "c", "d"})
        EXPECT_EQ(0, unlink(path(name).c_str()));
    close(at);
    EXPECT_EQ(0, rmdir(directory));
}

} // namespace
