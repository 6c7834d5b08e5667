// SPDX-License-Identifier: MIT
// Facts about processes from fixture trees of /proc.
#include "jobs/process_facts.hpp"

#include "unit/kfd_tree.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

using xpreemptd::facts_of;
using xpreemptd::origin_of;
using xpreemptd::ProcessOrigin;

constexpr const char* status =
    "Name:\tdemo\nTgid:\t7\nPid:\t7\nUid:\t1\t1000\t2\t3\nGid:\t0\t0\t0\t0\n";
// Parent 5, start 4242; the last fields of the kernel are left out.
const std::string words = "S 5 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 8192 0\n";

class Facts : public testing::Test {
protected:
    Facts() {
        write("stat", "7 (demo) " + words);
        write("status", status);
        tree_.link("proc/7/exe", "/usr/bin/demo");
        write("cgroup", "0::/system.slice/demo.service\n");
    }

    void write(const std::string& name, const std::string& text) const {
        tree_.write("proc/7/" + name, text);
    }
    [[nodiscard]] std::string cgroup_of(const std::string& text) const {
        write("cgroup", text);
        return facts_of(tree_.roots(), 7).value().cgroup;
    }
    void expect_gone() const {
        const auto facts = facts_of(tree_.roots(), 7);
        ASSERT_FALSE(facts);
        EXPECT_EQ(facts.error().errno_value, ESRCH);
        EXPECT_EQ(facts.error().id, 7U);
    }

    test::KfdTree tree_;
};

TEST_F(Facts, all_are_read) {
    const auto facts = facts_of(tree_.roots(), 7);
    ASSERT_TRUE(facts);
    EXPECT_EQ(*facts, (xpreemptd::ProcessFacts{7, 4242, 5, 1000, "demo", "/usr/bin/demo",
                                               "/system.slice/demo.service"}));
    EXPECT_EQ(origin_of(tree_.roots(), 7).value(), (ProcessOrigin{5, 4242}));
}

TEST_F(Facts, marks_of_runs_are_the_pipes_at_their_descriptors) {
    const auto marks = [this] { return facts_of(tree_.roots(), 7).value().run_marks; };
    tree_.link("proc/7/fd/3", "pipe:[1]");
    tree_.link("proc/7/fd/513", "pipe:[2]");
    EXPECT_EQ(marks(), std::vector<std::string>{"pipe:[2]"});
    tree_.link("proc/7/fd/512", "pipe:[3]");
    EXPECT_EQ(marks(), (std::vector<std::string>{"pipe:[3]", "pipe:[2]"}));
    // A descriptor of the program itself; the command takes the next number then.
    tree_.link("proc/7/fd/512", "/tmp/pipe:[3]");
    tree_.link("proc/7/fd/516", "pipe:[4]");
    EXPECT_EQ(marks(), std::vector<std::string>{"pipe:[2]"});
}

// The main thread may end first; version 1 then shows the root cgroup for it.
TEST_F(Facts, of_a_process_whose_main_thread_has_ended_are_those_of_another_thread) {
    write("stat", "7 (demo) Z" + words.substr(1));
    std::filesystem::remove(tree_.root() / "proc/7/exe");
    write("cgroup", "1:name=systemd:/\n");
    write("task/7/stat", "7 (demo) Z" + words.substr(1));
    write("task/8/stat", "8 (demo) X" + words.substr(1));
    write("task/9/stat", "9 (demo) " + words);
    tree_.link("proc/7/task/9/exe", "/usr/bin/demo");
    write("task/9/cgroup", "1:name=systemd:/system.slice/demo.service\n");
    const auto facts = facts_of(tree_.roots(), 7);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->cgroup, "/system.slice/demo.service");
    EXPECT_EQ(facts->executable, "/usr/bin/demo");
    std::filesystem::remove_all(tree_.root() / "proc/7/task/9");
    EXPECT_EQ(facts_of(tree_.roots(), 7).value().cgroup, "/"); // all have ended
}

TEST_F(Facts, the_partition_of_a_slurm_job_is_what_the_prolog_wrote) {
    const std::string step = "0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_0\n";
    const auto partition_in = [&](const std::string& cgroup) {
        write("cgroup", cgroup);
        return facts_of(tree_.roots(), 7).value().slurm_partition;
    };
    EXPECT_EQ(partition_in(step), "");
    tree_.write("run/kfd-preempt/slurm/12", "interactive\n");
    EXPECT_EQ(partition_in(step), "interactive");
    tree_.write("run/kfd-preempt/slurm/12", "");
    EXPECT_EQ(partition_in(step), "");
    EXPECT_EQ(partition_in("0::/system.slice/demo.service\n"), "");
}

TEST_F(Facts, a_real_time_process_comes_before_others_then_the_lower_nice_value_does) {
    const auto priority_with = [&](const std::string& nice,
                                   const std::string& real_time_and_policy) {
        std::string text = "S 5 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 " + nice + " 1 0 4242";
        for (int word = 21; word < 38; ++word)
            text += " 0";
        write("stat", "7 (demo) " + text + " " + real_time_and_policy + " 0 0\n");
        const std::int32_t of_facts = facts_of(tree_.roots(), 7).value().cpu_priority;
        EXPECT_EQ(origin_of(tree_.roots(), 7).value().cpu_priority, of_facts);
        return of_facts;
    };
    EXPECT_EQ(priority_with("0", "0 0"), 0);
    EXPECT_EQ(priority_with("19", "0 0"), -19);
    EXPECT_EQ(priority_with("-20", "0 0"), 20);
    EXPECT_EQ(priority_with("-5", "0 3"), 5); // batch
    EXPECT_EQ(priority_with("-20", "1 1"), 101);
    EXPECT_EQ(priority_with("0", "99 2"), 199);
    EXPECT_EQ(priority_with("0", "0 6"), 200);
    EXPECT_EQ(priority_with("x", "0 0"), 0);
    EXPECT_EQ(priority_with("0", "x x"), 0);
}

TEST_F(Facts, are_those_of_this_process_in_the_real_proc) {
    const auto facts = facts_of({}, ::getpid());
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->pid, ::getpid());
    EXPECT_EQ(facts->parent, ::getppid());
    EXPECT_EQ(facts->uid, ::geteuid());
    EXPECT_EQ(facts->executable, std::filesystem::read_symlink("/proc/self/exe").string());
    EXPECT_GT(facts->start_ticks, 0U);
    EXPECT_EQ(origin_of({}, ::getpid()).value(),
              (ProcessOrigin{facts->parent, facts->start_ticks, facts->cpu_priority}));
}

TEST_F(Facts, a_name_may_look_like_the_rest_of_the_line) {
    for (const std::string name :
         {"a) (b", ") S 1 2 3 (", "((", "))", "", " ", "a\nb", "x) S 9 ("}) {
        write("stat", std::string("7 (").append(name).append(") ").append(words));
        const auto facts = facts_of(tree_.roots(), 7);
        ASSERT_TRUE(facts) << name;
        EXPECT_EQ(facts->comm, name);
        EXPECT_EQ(facts->parent, 5) << name;
        EXPECT_EQ(facts->start_ticks, 4242U) << name;
    }
}

TEST_F(Facts, a_vanished_process_is_an_error) {
    EXPECT_EQ(facts_of(tree_.roots(), 8).error().errno_value, ESRCH);
    EXPECT_EQ(origin_of(tree_.roots(), 8).error().errno_value, ESRCH);
    std::filesystem::remove(tree_.root() / "proc/7/status");
    expect_gone();
    write("status", status);
    std::filesystem::remove(tree_.root() / "proc/7/stat");
    expect_gone();
}

TEST_F(Facts, a_stat_that_the_kernel_does_not_write_is_an_error) {
    for (const std::string& text :
         {std::string(), std::string("7"), std::string("7 (demo)"), std::string("7 (demo) "),
          std::string("7 (demo) S 5"), std::string("7 (demo) S 5 7 7"), "7 demo " + words,
          ") (7" + words, "7 (demo) S x" + words.substr(3), "7 (demo) S -5" + words.substr(3),
          "7 (demo)" + words.substr(0, 30), std::string("\0\0\0\xff", 4)}) {
        write("stat", text);
        expect_gone();
        EXPECT_EQ(origin_of(tree_.roots(), 7).error().errno_value, ESRCH) << text;
    }
}

TEST_F(Facts, a_status_that_the_kernel_does_not_write_is_an_error) {
    for (const char* text : {"", "Name:\tdemo\n", "Uid:\n", "Uid:\t1\n", "Uid:\t1\tx\t1\t1\n",
                             "Uid:\t1\t-1\t1\t1\n", "Uid:\t1\t4294967296\t1\t1\n"}) {
        write("status", text);
        expect_gone();
    }
}

TEST_F(Facts, an_executable_may_be_unknown_or_replaced) {
    tree_.link("proc/7/exe", "/usr/bin/demo (deleted)");
    EXPECT_EQ(facts_of(tree_.roots(), 7).value().executable, "/usr/bin/demo");
    std::filesystem::remove(tree_.root() / "proc/7/exe");
    EXPECT_EQ(facts_of(tree_.roots(), 7).value().executable, "");
}

TEST_F(Facts, cgroup_of_version_2) {
    EXPECT_EQ(cgroup_of("0::/\n"), "/");
    EXPECT_EQ(cgroup_of("0::/a:b/c:d\n"), "/a:b/c:d");
    EXPECT_EQ(cgroup_of("0::/a.service (deleted)\n"), "/a.service");
    EXPECT_EQ(cgroup_of("0::/../x.scope"), "/../x.scope");
}

TEST_F(Facts, cgroup_of_version_1_is_that_of_systemd) {
    EXPECT_EQ(cgroup_of("12:cpu,cpuacct:/user.slice\n"
                        "11:cpuset:/somebody's\n"
                        "4:memory:/user.slice/user-1000.slice/session-2.scope\n"
                        "3:devices:/user.slice\n"
                        "2:pids:/\n"
                        "1:name=systemd:/user.slice/user-1000.slice/session-2.scope\n"),
              "/user.slice/user-1000.slice/session-2.scope");
}

TEST_F(Facts, cgroup_of_docker_is_not_its_engine) {
    const std::string id = "/docker/" + std::string(64, 'a');
    EXPECT_EQ(cgroup_of("9:memory:" + id + "\n2:cpu,cpuacct:" + id + "\n1:name=systemd:" + id +
                        "\n0::/system.slice/containerd.service\n"),
              id);
    EXPECT_EQ(cgroup_of("1:name=systemd:" + id + "\n0::/system.slice/containerd.service\n"), id);
}

TEST_F(Facts, cgroup_of_slurm_on_version_1_is_not_its_daemon) {
    for (const char* controllers : {"freezer", "memory", "blkio,devices", "pids"})
        EXPECT_EQ(cgroup_of(std::string("9:") + controllers +
                            ":/slurm/uid_1000/job_12/step_0/task_0\n"
                            "8:devices:/slurm/uid_1000/job_12/step_0\n"
                            "2:pids:/system.slice/slurmd.service\n"
                            "1:name=systemd:/system.slice/slurmd.service\n"
                            "0::/\n"),
                  "/slurm/uid_1000/job_12/step_0/task_0")
            << controllers;
}

TEST_F(Facts, cgroup_where_both_versions_are_mounted) {
    EXPECT_EQ(cgroup_of("1:name=systemd:/system.slice/a.service\n0::/system.slice/a.service\n"),
              "/system.slice/a.service");
    EXPECT_EQ(cgroup_of("1:name=systemd:/\n0::/\n"), "/");
    // Without systemd.
    EXPECT_EQ(cgroup_of("9:memory:/batch/1\n0::/\n"), "/batch/1");
}

TEST_F(Facts, a_cgroup_file_that_the_kernel_does_not_write_gives_none) {
    for (const std::string& text :
         {std::string(), std::string("\n\n"), std::string("0"), std::string("0:"), std::string(":"),
          std::string("x"), std::string("\xff\0\n:", 4)})
        EXPECT_EQ(cgroup_of(text), "") << text;
    std::filesystem::remove(tree_.root() / "proc/7/cgroup");
    EXPECT_EQ(facts_of(tree_.roots(), 7).value().cgroup, "");
}

} // namespace
