// SPDX-License-Identifier: MIT
// Runs: what belongs to them after their first process has ended, and how many are kept.
#include "daemon_fixture.hpp"

#include "protocol/run_mark.hpp"
#include "scheduling/kept_state.hpp"
#include "unit/kfd_tree.hpp"

#include <memory>

namespace {

using namespace xpreemptd;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RunMarksTest : public test::DaemonFixture {
protected:
    RunMarksTest() { daemon.keep_state_in(file_); }

    Answer<void> run(pid_t pid, const AttributeChange& change, const std::string& mark = "",
                     uid_t uid = 0) {
        gpu.create_process(pid, 1);
        gpu.waiting_uid = uid;
        if (!mark.empty())
            gpu.run_marks[pid].push_back(mark);
        return daemon.adopt({pid, uid, 1}, change);
    }
    void end(pid_t pid) { gpu.waiting.erase(pid); }
    // An orphan with these marks makes a queue.
    void start_orphan(pid_t pid, std::vector<std::string> marks, uid_t uid = 0) {
        gpu.run_marks[pid] = std::move(marks);
        gpu.create_queue(pid, 1);
        gpu.running.at(pid).uid = uid;
    }
    void restart() {
        for (auto& [pid, process] : gpu.running)
            process.cookie = process.watch_id = 0;
        gpu.events.clear();
        next_.reset(new Daemon(test::daemon_over(gpu, lines)));
        next_->keep_state_in(file_);
    }

    test::KfdTree tree_;
    const std::filesystem::path file_ = tree_.root() / "state";
    std::unique_ptr<Daemon> next_;
};

TEST_F(RunMarksTest, what_outlives_the_command_of_a_run_belongs_to_it) {
    ASSERT_TRUE(run(30, {.band = sched::Band::idle}, "pipe:[7]"));
    end(30);
    daemon.start();
    pass(seconds{3});
    start_orphan(31, {"pipe:[7]"});
    start_orphan(32, {"pipe:[7]"});
    start_orphan(33, {"pipe:[8]"});
    pass(milliseconds{250});
    EXPECT_EQ(job(31).name, "run 30");
    EXPECT_EQ(job(31).attributes.band, sched::Band::idle);
    EXPECT_EQ(job(32).id, job(31).id);
    EXPECT_EQ(job(33).name, "process 33");
    // And those that come after the last one of them has ended.
    gpu.exit(31);
    gpu.exit(32);
    pass(milliseconds{250});
    ASSERT_TRUE(run(40, {}, "pipe:[9]")); // forgets runs that have ended
    start_orphan(34, {"pipe:[7]"});
    pass(milliseconds{250});
    EXPECT_EQ(job(34).attributes.band, sched::Band::idle);
}

// Numbers of pipes come again after 2^32 of them, and a user may make that many.
TEST_F(RunMarksTest, process_of_another_user_does_not_join_a_run_by_the_number_of_a_pipe) {
    ASSERT_TRUE(run(30, {.band = sched::Band::realtime}, "pipe:[7]"));
    daemon.start();
    start_orphan(31, {"pipe:[7]"}, 1000);
    pass(milliseconds{250});
    EXPECT_EQ(job(31).name, "process 31");
}

TEST_F(RunMarksTest, innermost_run_counts) {
    ASSERT_TRUE(run(30, {.band = sched::Band::idle}, "pipe:[7]"));
    gpu.run_marks[35] = {"pipe:[7]"};
    gpu.now += seconds{1};
    ASSERT_TRUE(run(35, {.band = sched::Band::high}, "pipe:[8]"));
    end(35);
    daemon.start();
    start_orphan(36, {"pipe:[7]", "pipe:[8]"});
    gpu.running.at(36).parent = 30; // as if the outer run were a subreaper
    start_orphan(37, {"pipe:[7]"});
    pass(milliseconds{250});
    EXPECT_EQ(job(36).name, "run 35");
    EXPECT_EQ(job(37).name, "run 30");
}

// As in the fifth run in a run, which finds no descriptor for a mark.
TEST_F(RunMarksTest, run_without_a_pipe_of_its_own_does_not_take_the_inherited_one_as_its_mark) {
    ASSERT_TRUE(run(30, {}, "pipe:[7]"));
    ASSERT_TRUE(run(35, {}, "pipe:[7]"));
    ASSERT_TRUE(daemon.adopt({30, 0, 1}, {})); // the same process once more
    const auto runs = read_state(file_)->runs;
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].mark, "pipe:[7]");
    EXPECT_EQ(runs[1].mark, "");
}

TEST_F(RunMarksTest, what_outlives_a_run_is_known_to_the_next_daemon) {
    ASSERT_TRUE(run(30, {.band = sched::Band::idle}, "pipe:[7]"));
    end(30);
    restart();
    start_orphan(31, {"pipe:[7]"});
    next_->start();
    pass(*next_, milliseconds{250});
    EXPECT_EQ(job(*next_, 31).attributes.band, sched::Band::idle);
}

// The command of a run may have ended before the next daemon has found the rest of its job.
TEST_F(RunMarksTest, run_that_is_announced_first_to_the_next_daemon_removes_no_other) {
    ASSERT_TRUE(run(30, {.band = sched::Band::idle}));
    daemon.start();
    gpu.create_queue(31, 1);
    gpu.running.at(31).parent = 30;
    pass(milliseconds{250});
    ASSERT_EQ(job(31).name, "run 30");
    end(30);
    gpu.running.at(31).parent = 1;
    restart();
    gpu.create_process(40, 1);
    ASSERT_TRUE(next_->adopt({40, 0, 1}, {}));
    next_->start();
    pass(*next_, milliseconds{250});
    EXPECT_EQ(job(*next_, 31).attributes.band, sched::Band::idle);
}

TEST_F(RunMarksTest, user_has_a_bounded_number_of_runs_and_those_that_ended_leave_first) {
    constexpr pid_t first = 1000;
    const auto pid_of = [](std::size_t i) { return first + static_cast<pid_t>(i); };
    for (std::size_t i = 0; i < Runs::most_of_user; ++i)
        ASSERT_TRUE(run(pid_of(i), {}, "pipe:[" + std::to_string(i) + "]", 1000)) << i;
    const auto refused = run(30, {}, "", 1000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error, EUSERS);
    EXPECT_NE(refused.error().text.find("256 runs of uid 1000"), std::string::npos)
        << refused.error().text;
    EXPECT_TRUE(run(31, {}, "", 1001)) << "others have their own";
    end(pid_of(17));
    end(pid_of(200));
    EXPECT_TRUE(run(30, {}, "", 1000));
    const auto is_kept = [&](pid_t pid) {
        const auto runs = read_state(file_)->runs;
        return std::ranges::any_of(runs,
                                   [&](const xpreemptd::Run& of) { return of.process.pid == pid; });
    };
    EXPECT_FALSE(is_kept(pid_of(17))) << "the oldest that has ended leaves";
    EXPECT_TRUE(is_kept(pid_of(200)));
    EXPECT_TRUE(run(32, {}, "", 1000));
    EXPECT_TRUE(run(32, {}, "", 1000)); // replaces itself
    EXPECT_FALSE(run(33, {}, "", 1000));
}

TEST_F(RunMarksTest, refused_runs_cost_a_bounded_number_of_files) {
    for (std::size_t i = 0; i < Runs::most_of_user; ++i)
        ASSERT_TRUE(run(1000 + static_cast<pid_t>(i), {}, "", 1000)) << i;
    const std::uint64_t before = gpu.origins;
    for (int i = 0; i < 100; ++i)
        ASSERT_FALSE(run(30, {}, "", 1000));
    EXPECT_LE(gpu.origins - before, 11 * Runs::most_of_user);
    end(1007);
    const auto refused = run(30, {}, "", 1000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error, EAGAIN) << "one has ended";
    EXPECT_EQ(refused.error().text, "256 runs of uid 1000, or 4096 of all users, are known, and "
                                    "those that have ended are searched for at most 10 times a "
                                    "second: try again");
    EXPECT_TRUE(run(31, {}, "", 1001)) << "others have their own";
    gpu.now += milliseconds{100};
    EXPECT_TRUE(run(30, {}, "", 1000));
}

// A tenant has them in a user namespace.
TEST(RunsOfUsersTest, many_uids_leave_room_for_root) {
    Runs runs;
    pid_t pid = 1000;
    for (uid_t uid = 100000; runs.all().size() < Runs::most; ++uid)
        for (std::size_t i = 0; i < Runs::most_of_user; ++i)
            ASSERT_TRUE(runs.add({{++pid, 1}, {}, uid}));
    EXPECT_FALSE(runs.add({{2, 1}, {}, 1000}));
    EXPECT_TRUE(runs.add({{3, 1}, {}, 0}));
}

// As containers of which each has one rank of a job.
TEST_F(RunMarksTest, rule_joins_processes_of_several_cgroups_into_one_job) {
    Rules rules = test::rules_of_test();
    Rule joined;
    joined.cgroup = "/pod-*";
    joined.set.band = sched::Band::idle;
    joined.job = "ranks";
    rules.rules.push_back(joined);
    daemon.reload(rules);
    for (const pid_t pid : {31, 32, 33}) {
        gpu.create_queue(pid, 1);
        gpu.running.at(pid).cgroup = pid == 33 ? "/other" : "/pod-" + std::to_string(pid);
    }
    ASSERT_TRUE(run(34, {}));
    gpu.create_queue(34, 1);
    gpu.running.at(34).cgroup = "/pod-34";
    daemon.start();
    pass(milliseconds{250});
    EXPECT_EQ(job(31).name, "ranks");
    EXPECT_EQ(job(31).id, job(32).id);
    EXPECT_EQ(job(31).attributes.band, sched::Band::idle);
    EXPECT_EQ(job(33).name, "/other");
    EXPECT_EQ(job(34).name, "run 34");
    gpu.submit(31, 1);
    gpu.submit(32, 1);
    gpu.submit(33, 1);
    events();
    pass(milliseconds{20});
    EXPECT_TRUE(gpu.held(31) && gpu.held(32)) << "a job is held as a whole";
}

TEST_F(RunMarksTest, state_that_could_not_be_written_is_written_later) {
    std::filesystem::remove_all(tree_.root());
    daemon.start();
    ASSERT_TRUE(run(30, {.band = sched::Band::idle}));
    ASSERT_TRUE(run(31, {}));
    pass(seconds{1});
    ASSERT_EQ(lines.size(), 1U) << "the failure is reported once";
    std::filesystem::create_directory(tree_.root());
    pass(seconds{61});
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[1].find("is written again"), std::string::npos) << lines[1];
    EXPECT_EQ(read_state(file_)->runs.size(), 2U);
}

} // namespace
