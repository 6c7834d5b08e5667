// SPDX-License-Identifier: MIT
// Each errno of the ABI has a sentence of its own that names the thing; exit codes are stable.
#include "fixture_tree.hpp"
#include "processes/error_messages.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <map>
#include <sys/stat.h>

namespace {

constexpr int abi_errnos[] = {EALREADY,   EBADF,  EBUSY,  E2BIG,  EFAULT, EINVAL,
                              EIO,        ENODEV, ENOENT, ENOMEM, ENOSPC, ENOTTY,
                              EOPNOTSUPP, EPERM,  ESRCH,  ESTALE, ETIME};

TEST(Sentences, every_errno_names_the_queue_and_is_distinct) {
    const test::FixtureTree tree;
    const cli::Context context = tree.context();
    const cli::Target target{7, cli::Task{"demo", 7, 1000, 7}};
    for (const cli::Verb verb : {cli::Verb::suspend, cli::Verb::resume, cli::Verb::status}) {
        std::map<std::string, int> seen;
        for (const int reason : abi_errnos) {
            const std::string text = cli::driver_sentence(context, verb, reason, target, 3);
            EXPECT_TRUE(text.starts_with("queue 3 of pid 7 (demo): ")) << text;
            EXPECT_EQ(text.find('\n'), std::string::npos);
            const auto [at, fresh] = seen.emplace(text, reason);
            EXPECT_TRUE(fresh) << reason << " and " << at->second << ": " << text;
        }
    }
}

// The driver reads the state of a queue also in a GPU reset.
TEST(Sentences, a_locked_process_is_named_as_a_reason_of_busy) {
    const test::FixtureTree tree;
    const cli::Target target{7, cli::Task{"demo", 7, 1000, 7}};
    const auto text = [&](cli::Verb verb) {
        return cli::driver_sentence(tree.context(), verb, EBUSY, target, 3);
    };
    for (const cli::Verb verb : {cli::Verb::suspend, cli::Verb::resume, cli::Verb::status})
        EXPECT_NE(text(verb).find("locked"), std::string::npos) << text(verb);
    EXPECT_EQ(text(cli::Verb::status).find("reset"), std::string::npos) << text(cli::Verb::status);
}

TEST(Sentences, exit_codes_follow_the_errno) {
    EXPECT_EQ(cli::exit_of(0), cli::Exit::ok);
    EXPECT_EQ(cli::exit_of(ENOTTY), cli::Exit::unsupported);
    EXPECT_EQ(cli::exit_of(EPERM), cli::Exit::permission);
    EXPECT_EQ(cli::exit_of(EACCES), cli::Exit::permission);
    for (const int reason : {EBUSY, EIO, ESRCH, ENOENT, ETIME, EOPNOTSUPP})
        EXPECT_EQ(cli::exit_of(reason), cli::Exit::failed) << reason;
}

TEST(Sentences, a_missing_device_is_told_from_a_forbidden_one) {
    const test::FixtureTree tree;
    const cli::Context context = tree.context();
    const auto failure = [&](int reason) {
        return cli::device_failure(context, {reason, cli::Op::open_device});
    };
    EXPECT_EQ(failure(ENOENT).exit, cli::Exit::unsupported);
    EXPECT_EQ(failure(ENODEV).exit, cli::Exit::unsupported);
    EXPECT_EQ(failure(EACCES).exit, cli::Exit::permission);
    EXPECT_EQ(failure(EMFILE).exit, cli::Exit::failed);
    EXPECT_NE(failure(EMFILE).message.find("EMFILE"), std::string::npos);
}

TEST(Sentences, the_group_to_join_is_that_of_the_device_when_it_may_use_it) {
    const test::FixtureTree tree;
    const cli::Context context = tree.context();
    tree.write("dev/kfd", "");
    const std::string device = context.roots.device.string();
    const auto message = [&] {
        return cli::device_failure(context, {EACCES, cli::Op::open_device}).message;
    };
    if (::chown(device.c_str(), 0, 106) != 0)
        GTEST_SKIP() << "only root can give a file to a group";
    tree.write("etc/group", "root:x:0:\n\nbroken\n:x:106:\nother:x:1060:\nrender:x:106:user\n");
    ASSERT_EQ(::chmod(device.c_str(), 0660), 0);
    EXPECT_NE(message().find("join the group render"), std::string::npos) << message();
    ASSERT_EQ(::chmod(device.c_str(), 0600), 0);
    EXPECT_EQ(message().find("join the group"), std::string::npos) << message();
}

} // namespace
