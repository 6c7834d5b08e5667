// SPDX-License-Identifier: MIT
// status of a process whose control socket is missing or cannot be used.
#include "fixture_tree.hpp"
#include "scripted_driver.hpp"
#include "verbs/verbs.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace {

class StatusTest : public testing::Test {
protected:
    StatusTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.add_process(7, "demo", ::geteuid());
        tree.add_kfd_process(7);
        tree.add_queue(7, 0);
        test::attach(context, script);
        script->expect_query(0);
        script->expect_status(7, 0, 0, KFD_PREEMPT_STATE_RUNNING);
    }
    const std::string runtime = "/kfd-preempt-test-runtime";

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(StatusTest, process_without_a_control_socket_is_no_failure) {
    const cli::Report report = cli::status(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_TRUE(report.messages.empty());
    EXPECT_TRUE(report.json["control"].is_null());
}

TEST_F(StatusTest, control_socket_that_cannot_be_used_is_reported) {
    tree.write("proc/7/environ", "XDG_RUNTIME_DIR=" + runtime);
    tree.write("proc/7/root" + runtime + "/kfd-preempt/7.sock", "a file");
    const cli::Report report = cli::status(context, {7, {}});
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("its control socket cannot be used"), std::string::npos)
        << report.messages[0];
    EXPECT_NE(report.messages[0].find("ENOTSOCK"), std::string::npos);
    EXPECT_TRUE(report.json["control"].is_null());
}

} // namespace
