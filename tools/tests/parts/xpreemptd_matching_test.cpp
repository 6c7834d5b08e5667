// SPDX-License-Identifier: MIT
// The rule that a process matches, and the attributes that it gets.
#include "rules/rules.hpp"
#include "xpreemptd_rules_text.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using test::parsed;
using xpreemptd::ProcessFacts;
using xpreemptd::Rule;
using xpreemptd::Rules;
using xpreemptd::sched::Band;

ProcessFacts process(const std::string& cgroup, uid_t uid = 0, const std::string& executable = "") {
    return {42, 1000, 1, uid, "demo", executable, cgroup};
}

TEST(Matching, every_condition_must_match) {
    Rule rule;
    rule.unit = "ollama.service";
    rule.executable = "/usr/bin/*";
    rule.uid = 7;
    const std::string cgroup = "/system.slice/ollama.service";
    EXPECT_TRUE(rule.matches(process(cgroup, 7, "/usr/bin/ollama")));
    EXPECT_FALSE(rule.matches(process(cgroup, 8, "/usr/bin/ollama")));
    EXPECT_FALSE(rule.matches(process(cgroup, 7, "/opt/ollama")));
    EXPECT_FALSE(rule.matches(process("/system.slice/x.service", 7, "/usr/bin/ollama")));
    EXPECT_FALSE(rule.matches(process("", 7, "/usr/bin/ollama")));
}

TEST(Matching, stars_of_globs_cross_slashes) {
    Rule rule;
    rule.cgroup = "/kubepods.slice/*-besteffort*";
    EXPECT_TRUE(rule.matches(process("/kubepods.slice/kubepods-besteffort.slice/a.slice/b.scope")));
    EXPECT_FALSE(rule.matches(process("/kubepods.slice/kubepods-burstable.slice/a.slice/b.scope")));
    EXPECT_FALSE(rule.matches(process("/x/kubepods.slice/kubepods-besteffort.slice")));
    rule.cgroup = "[ab]?c";
    EXPECT_TRUE(rule.matches(process("a/c")));
    EXPECT_FALSE(rule.matches(process("c/c")));
}

// systemd writes a dash within a path of a unit so.
TEST(Matching, a_backslash_is_one) {
    Rule rule;
    rule.unit = R"(train\x2djob.service)";
    EXPECT_TRUE(rule.matches(process(R"(/system.slice/train\x2djob.service)")));
    EXPECT_FALSE(rule.matches(process("/system.slice/trainx2djob.service")));
    rule.unit = R"(train\x2d*)";
    EXPECT_TRUE(rule.matches(process(R"(/system.slice/train\x2djob.service)")));
    rule.unit = "a[*]b.service";
    EXPECT_TRUE(rule.matches(process("/system.slice/a*b.service")));
    EXPECT_FALSE(rule.matches(process("/system.slice/a-b.service")));
}

// An array job of PBS.
TEST(Matching, a_name_with_brackets_is_its_own_pattern) {
    Rule rule;
    rule.cgroup = "/pbs_jobs.service/jobs/12[3].host";
    EXPECT_TRUE(rule.matches(process("/pbs_jobs.service/jobs/12[3].host")));
    EXPECT_TRUE(rule.matches(process("/pbs_jobs.service/jobs/123.host")));
    EXPECT_FALSE(rule.matches(process("/pbs_jobs.service/jobs/12[4].host")));
}

TEST(Matching, a_partition_that_is_known) {
    Rule rule;
    rule.slurm_partition = "inter*";
    ProcessFacts facts = process("/system.slice/slurmstepd.scope/job_12/step_0/user/task_0");
    EXPECT_FALSE(rule.matches(facts));
    facts.slurm_partition = "interactive";
    EXPECT_TRUE(rule.matches(facts));
    facts.slurm_partition = "batch";
    EXPECT_FALSE(rule.matches(facts));
    // A job that no prolog named is in no partition.
    rule.slurm_partition = "*";
    facts.slurm_partition = "";
    EXPECT_FALSE(rule.matches(facts));
}

// Else any user could run as a unit that an admin put into a high band.
TEST(Matching, a_unit_that_a_user_names_needs_a_rule_for_that_user) {
    Rule rule;
    rule.unit = "ollama.service";
    const std::string below =
        "/user.slice/user-1000.slice/user@1000.service/app.slice/ollama.service";
    EXPECT_FALSE(rule.matches(process(below, 1000)));
    EXPECT_FALSE(rule.matches(process("/system.slice/x.service/ollama.service", 1000)));
    EXPECT_FALSE(rule.matches(process("/system.slice/docker-1.scope/system.slice/ollama.service")));
    EXPECT_FALSE(rule.matches(process("/lxc.payload.c/system.slice/ollama.service", 100000)));
    rule.uid = 1000;
    EXPECT_TRUE(rule.matches(process(below, 1000)));
    EXPECT_TRUE(rule.matches(process(below + "/worker", 1000)));
    EXPECT_FALSE(rule.matches(process(below, 1001)));
    EXPECT_FALSE(rule.matches(process("/system.slice/x.service/ollama.service", 1000)));
    rule.unit = "user@*.service";
    EXPECT_TRUE(rule.matches(process(below, 1000)));
}

TEST(Assignment, the_first_rule_that_matches_counts_alone) {
    const Rules rules = parsed("[default]\nband = \"idle\"\nweight = 5\n"
                               "[[rule]]\nuser = 1\nband = \"high\"\ndeadline = \"20ms\"\n"
                               "[[rule]]\nuser = 1\nband = \"realtime\"\nweight = 7\n"
                               "[[rule]]\nuser = 2\nweight = 7\nowner_may_choose = \"normal\"\n");
    EXPECT_EQ(xpreemptd::assign(rules, process("", 1)),
              (xpreemptd::Assignment{{Band::high, 5, 20ms}, {Band::high, 5, 20ms}}));
    EXPECT_EQ(
        xpreemptd::assign(rules, process("", 2)),
        (xpreemptd::Assignment{{Band::idle, 7, std::nullopt}, {Band::normal, 7, std::nullopt}}));
    EXPECT_EQ(
        xpreemptd::assign(rules, process("", 3)),
        (xpreemptd::Assignment{{Band::idle, 5, std::nullopt}, {Band::idle, 5, std::nullopt}}));
}

TEST(Users, the_system_knows_root) {
    EXPECT_EQ(xpreemptd::user_named("root"), 0U);
    EXPECT_EQ(xpreemptd::user_named("no such user"), std::nullopt);
}

TEST(Users, name_with_a_null_is_not_the_part_before_it) {
    using namespace std::string_literals;
    EXPECT_EQ(xpreemptd::user_named("root\0x"s), std::nullopt);
    EXPECT_EQ(xpreemptd::group_named("root\0x"s), std::nullopt);
    EXPECT_EQ(xpreemptd::group_named("root"), 0U);
}

// The next look-up returns this errno, and with 0 a user or none.
int next_error = 0;
bool is_known = false;

int fake_getpwnam(const char* /*name*/, passwd* entry, char* /*buffer*/, std::size_t bytes,
                  passwd** found) {
    if (next_error == ERANGE && bytes > 4096) // as for a long entry
        next_error = 0;
    entry->pw_uid = 1234;
    *found = next_error == 0 && is_known ? entry : nullptr;
    return next_error;
}

int fake_getgrnam(const char* /*name*/, group* entry, char* /*buffer*/, std::size_t /*bytes*/,
                  group** found) {
    entry->gr_gid = 4321;
    *found = next_error == 0 && is_known ? entry : nullptr;
    return next_error;
}

xpreemptd::FoundUser user_if(int error, bool known = false) {
    next_error = error;
    is_known = known;
    const auto user = xpreemptd::user_by(fake_getpwnam, "alice");
    if (error != ERANGE) {
        const auto group = xpreemptd::group_by(fake_getgrnam, "alice");
        EXPECT_EQ(user.has_value(), group.has_value()) << error;
    }
    return user;
}

// getpwnam(3): these mean that the name was not found.
TEST(Users, errors_of_a_name_that_is_not_there_are_none) {
    for (const int error : {0, ENOENT, ESRCH, EBADF, EPERM}) {
        const auto user = user_if(error);
        ASSERT_TRUE(user) << error;
        EXPECT_EQ(*user, std::nullopt) << error;
    }
    EXPECT_EQ(user_if(0, true), 1234U);
    EXPECT_EQ(xpreemptd::group_by(fake_getgrnam, "alice"), 4321U);
}

TEST(Users, errors_of_a_look_up_that_failed_are_reported) {
    for (const int error : {EAGAIN, EINTR, EIO, EMFILE, ENFILE, ENOMEM, ETIMEDOUT, ECONNREFUSED}) {
        const auto user = user_if(error);
        ASSERT_FALSE(user) << error;
        EXPECT_EQ(user.error(), error);
    }
}

TEST(Users, long_entry_gets_a_larger_buffer) {
    EXPECT_EQ(user_if(ERANGE, true), 1234U);
}

} // namespace
