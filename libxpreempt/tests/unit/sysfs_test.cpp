// SPDX-License-Identifier: MIT
// Queues of a process from a tree like KFD's.
#include "kfd/sysfs.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;
using xpreempt::kfd::process_queues;

class Sysfs : public ::testing::Test {
protected:
    Sysfs() {
        std::string name = (fs::temp_directory_path() / "xpreempt-sysfs.XXXXXX").string();
        root_ = mkdtemp(name.data());
    }
    ~Sysfs() override { fs::remove_all(root_); }

    void add(const std::string& id, const std::string& gpuid, const std::string& type,
             const std::string& size) {
        const fs::path directory = root_ / "proc/42/queues" / id;
        fs::create_directories(directory);
        std::ofstream(directory / "gpuid") << gpuid;
        std::ofstream(directory / "type") << type;
        std::ofstream(directory / "size") << size;
    }

    fs::path root_;
};

TEST_F(Sysfs, queues_come_in_the_order_of_their_ids) {
    add("10", "7\n", "0\n", "1048576\n");
    add("2", "7\n", "1\n", "4096");
    const auto queues = process_queues(root_, 42);
    ASSERT_TRUE(queues);
    ASSERT_EQ(2U, queues->size());
    EXPECT_EQ(2U, (*queues)[0].kfd_queue_id);
    EXPECT_EQ(1U, (*queues)[0].type);
    EXPECT_EQ(10U, (*queues)[1].kfd_queue_id);
    EXPECT_EQ(7U, (*queues)[1].gpu_id);
    EXPECT_EQ(1048576U, (*queues)[1].ring_bytes);
}

TEST_F(Sysfs, what_makes_no_sense_is_left_out) {
    add("1", "7\n", "0\n", "4096\n");
    add("x", "7\n", "0\n", "4096\n");
    add("3", "7 8\n", "0\n", "4096\n");
    add("4", "", "0\n", "4096\n");
    add("5", "7\n", "-1\n", "4096\n");
    add("6", "99999999999\n", "0\n", "4096\n");
    add("7", "7\n", "0\n", "4k\n");
    const auto queues = process_queues(root_, 42);
    ASSERT_TRUE(queues);
    ASSERT_EQ(1U, queues->size());
    EXPECT_EQ(1U, (*queues)[0].kfd_queue_id);
}

TEST_F(Sysfs, a_process_without_kfd_is_ESRCH) {
    const auto queues = process_queues(root_, 43);
    ASSERT_FALSE(queues);
    EXPECT_EQ(ESRCH, queues.error().errno_value);
    EXPECT_EQ(43U, queues.error().id);
}

} // namespace
