// SPDX-License-Identifier: MIT
// A process that keeps itself locked in the driver: each call about it waits for 100 ms, so no verb
// makes one for each of its queues. The script fails for a call that it does not expect.
#include "fixture_tree.hpp"
#include "scripted_driver.hpp"
#include "verbs/top.hpp"
#include "verbs/verbs.hpp"

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>

namespace {

// Process 7 is locked and has three queues, on a driver that can move memory; 8 has one.
class LockedProcessTest : public testing::Test {
protected:
    LockedProcessTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.make_directory("run");
        tree.write("sys/fs/cgroup/cgroup.controllers", "");
        tree.write("sys/fs/cgroup/job/cgroup.controllers", "");
        tree.write("sys/fs/cgroup/job/cgroup.procs", "7\n8\n");
        for (const pid_t pid : {7, 8}) {
            tree.add_process(pid, "demo", 1234);
            tree.add_kfd_process(pid);
        }
        for (const unsigned id : {0U, 1U, 2U})
            tree.add_queue(7, id);
        tree.add_queue(8, 0);
        test::attach(context, script);
        script->expect_query(0, 0, test::Script::all_caps | KFD_PREEMPT_CAP_YIELD_MEMORY);
    }
    void expect_states() {
        script->expect_status(7, 0, -EBUSY);
        script->expect_status(8, 0, 0, KFD_PREEMPT_STATE_RUNNING);
    }
    static std::size_t count(const std::string& text, const std::string& part) {
        std::size_t found = 0;
        for (std::size_t at = text.find(part); at != std::string::npos;
             at = text.find(part, at + 1))
            ++found;
        return found;
    }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(LockedProcessTest, list_asks_once_and_shows_no_state) {
    expect_states();
    const cli::Report report = cli::list(context, {});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(count(report.text, "compute  4 KiB  ?        ?"), 3U) << report.text;
    EXPECT_EQ(count(report.text, "RUNNING"), 1U);
    for (const cli::Json& queue : report.json["processes"][0]["queues"]) {
        EXPECT_TRUE(queue["state"].is_null());
        EXPECT_EQ(queue["errno"], "EBUSY");
    }
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("is locked"), std::string::npos) << report.messages[0];
}

TEST_F(LockedProcessTest, top_asks_once_in_each_update) {
    cli::TopReader reader(context, {});
    for (int update = 0; update < 2; ++update) {
        expect_states();
        const cli::Report report = reader.read();
        EXPECT_NE(report.text.find("2 processes, 4 queues, 0 held"), std::string::npos)
            << report.text;
        for (const cli::Json& queue : report.json["processes"][0]["queues"])
            EXPECT_TRUE(queue["state"].is_null());
        EXPECT_EQ(report.json["processes"][1]["queues"][0]["state"], "RUNNING");
    }
}

TEST_F(LockedProcessTest, status_asks_once_and_reports_each_queue) {
    script->expect_status(7, 0, -EBUSY);
    const cli::Report report = cli::status(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    ASSERT_EQ(report.messages.size(), 3U);
    for (const std::string& message : report.messages)
        EXPECT_NE(message.find("its state cannot be read now"), std::string::npos) << message;
    for (const cli::Json& queue : report.json["queues"])
        EXPECT_EQ(queue["errno"], "EBUSY");
}

// A queue that is being destroyed is busy for a moment, so freeze tries the first one some times.
TEST_F(LockedProcessTest, freeze_tries_one_queue_and_fails_for_all) {
    for (int tries = 0; tries < 5; ++tries)
        script->expect_status(7, 0, -EBUSY);
    script->expect_status_uid(8, 0, 80, KFD_PREEMPT_STATE_RUNNING, 0);
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    const auto of_7 = std::ranges::count_if(report.messages, [](const std::string& message) {
        return message.find("of pid 7 (demo): busy") != std::string::npos;
    });
    EXPECT_EQ(of_7, 3) << report.text;
    EXPECT_EQ(report.json["frozen"], false);
}

} // namespace
