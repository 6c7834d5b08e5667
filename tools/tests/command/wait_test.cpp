// SPDX-License-Identifier: MIT
// wait: for a process that is named, and for the next new one.
#include "fixture_tree.hpp"
#include "verbs/wait.hpp"

#include <gtest/gtest.h>

namespace {

class WaitTest : public testing::Test {
protected:
    WaitTest() : context(tree.context()) {
        tree.add_process(7, "old");
        tree.add_kfd_process(7);
        tree.add_queue(7, 0);
        tree.add_process(8, "later");
        tree.add_kfd_process(8);
    }
    static std::string text_of(const std::optional<cli::Report>& report) {
        return report ? report->text : "waits";
    }

    test::FixtureTree tree;
    cli::Context context;
};

TEST_F(WaitTest, a_process_with_a_compute_queue_is_not_waited_for) {
    const cli::Report report = cli::wait(context, {7, "", std::nullopt});
    EXPECT_EQ(report.text, "7\n");
    EXPECT_EQ(report.json["comm"], "old");
    EXPECT_EQ(report.json["compute_queues"], 1);
}

TEST_F(WaitTest, an_sdma_queue_is_not_enough) {
    cli::Waiting waiting(context, {8, "", std::nullopt});
    EXPECT_EQ(text_of(waiting.scan()), "waits");
    tree.add_queue(8, 0, 1);
    EXPECT_EQ(text_of(waiting.scan()), "waits");
    tree.add_queue(8, 1);
    EXPECT_EQ(text_of(waiting.scan()), "8\n");
}

TEST_F(WaitTest, a_process_that_ends_ends_the_wait) {
    cli::Waiting waiting(context, {8, "", std::nullopt});
    EXPECT_EQ(text_of(waiting.scan()), "waits");
    std::filesystem::remove_all(tree.root() / "proc/8");
    std::filesystem::remove_all(tree.root() / "sys/class/kfd/kfd/proc/8");
    const auto report = waiting.scan();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->exit, cli::Exit::failed);
    EXPECT_NE(report->messages[0].find("pid 8: there is no such process"), std::string::npos);
}

TEST_F(WaitTest, the_next_new_process_is_one_without_a_compute_queue_so_far) {
    cli::Waiting waiting(context, {std::nullopt, "", std::nullopt});
    EXPECT_EQ(text_of(waiting.scan()), "waits");
    tree.add_queue(8, 0);
    EXPECT_EQ(text_of(waiting.scan()), "8\n");
}

TEST_F(WaitTest, a_pid_that_comes_again_is_new) {
    cli::Waiting waiting(context, {std::nullopt, "", std::nullopt});
    std::filesystem::remove_all(tree.root() / "sys/class/kfd/kfd/proc/7");
    EXPECT_EQ(text_of(waiting.scan()), "waits");
    tree.add_kfd_process(7);
    tree.add_queue(7, 0);
    EXPECT_EQ(text_of(waiting.scan()), "7\n");
}

TEST_F(WaitTest, of_a_container_only_its_processes_count) {
    const std::string id(64, 'c');
    cli::Waiting waiting(context, {std::nullopt, id.substr(0, 12), std::nullopt});
    tree.add_queue(8, 0);
    EXPECT_EQ(text_of(waiting.scan()), "waits") << "there is no such container yet";
    tree.add_process(9, "inside");
    tree.write("proc/9/cgroup", "0::/docker/" + id + "\n");
    tree.add_kfd_process(9);
    tree.add_queue(9, 0);
    EXPECT_EQ(text_of(waiting.scan()), "9\n");
}

TEST_F(WaitTest, a_timeout_is_a_failure) {
    const cli::Report report = cli::wait(context, {std::nullopt, "", 0.01});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_EQ(report.json["error"]["errno"], "ETIMEDOUT");
}

TEST_F(WaitTest, without_kfd_it_ends_at_once) {
    std::filesystem::remove_all(tree.root() / "sys/class");
    EXPECT_EQ(cli::wait(context, {std::nullopt, "", std::nullopt}).exit, cli::Exit::unsupported);
}

} // namespace
