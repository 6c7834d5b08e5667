// SPDX-License-Identifier: MIT
// freeze and thaw against scripted ioctls: what is stopped for which cgroup, what is let go again.
#include "fixture_tree.hpp"
#include "processes/cgroup.hpp"
#include "processes/frozen_record.hpp"
#include "scripted_driver.hpp"
#include "verbs/verbs.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace {

// As on a full disk: no file of this process can grow.
class FullDisk {
public:
    FullDisk() {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit none{0, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &none);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before_{};
};

using test::GroupAnswer;

constexpr std::uint32_t held = KFD_PREEMPT_STATE_HELD;
constexpr std::uint32_t running = KFD_PREEMPT_STATE_RUNNING;
constexpr std::uint32_t pending = KFD_PREEMPT_STATE_PENDING;
constexpr std::uint32_t sticky = KFD_PREEMPT_HOLD_STICKY;
constexpr std::uint16_t stop = KFD_PREEMPT_OP_PREEMPT;
constexpr std::uint16_t start = KFD_PREEMPT_OP_RESUME;
constexpr std::uint32_t all = KFD_PREEMPT_ALL_QUEUES;
constexpr std::uint64_t can_hold_processes = test::Script::all_caps | KFD_PREEMPT_CAP_PROCESS;

// Process 7 in /job has compute queue 0 (uid 70) and SDMA queue 1, process 8 in /job/step compute
// queue 0 (uid 80); 9 in /other has compute queue 5 (uid 95).
class FreezeTest : public testing::Test {
protected:
    FreezeTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.make_directory("run");
        tree.write("sys/fs/cgroup/cgroup.controllers", "");
        add_cgroup("job", "7\n");
        add_cgroup("job/step", "8\n");
        add_cgroup("other", "9\n");
        for (const pid_t pid : {7, 8, 9}) {
            tree.add_process(pid, "demo", 1234);
            tree.add_kfd_process(pid);
        }
        tree.add_queue(7, 0);
        tree.add_queue(7, 1, 1);
        tree.add_queue(8, 0);
        tree.add_queue(9, 5);
        test::attach(context, script);
    }

    void add_cgroup(const std::string& path, std::string_view procs) const {
        tree.write("sys/fs/cgroup/" + path + "/cgroup.controllers", "");
        tree.write("sys/fs/cgroup/" + path + "/cgroup.procs", procs);
    }

    // The STATUS of both queues of /job.
    void expect_scan(std::uint32_t state = running, std::uint32_t holds = 0) {
        script->expect_status_uid(7, 0, 70, state, holds);
        script->expect_status_uid(8, 0, 80, state, holds);
    }
    void expect_both(std::uint16_t op, std::vector<GroupAnswer> answers) {
        script->expect_group_switch(op, {{7, 0, 70}, {8, 0, 80}}, std::move(answers));
    }
    void expect_processes(std::uint16_t op, std::vector<GroupAnswer> answers) {
        script->expect_group_switch(op, {{7, all, 0}, {8, all, 0}}, std::move(answers));
    }
    void freeze_job() {
        script->expect_query(0);
        expect_scan();
        expect_both(stop, {{0, held, sticky}, {0, held, sticky}});
        expect_scan(held, sticky);
        EXPECT_EQ(cli::freeze(context, {"job"}, false).exit, cli::Exit::ok);
    }
    // As an earlier freeze of /job has left it.
    void write_record(std::set<cli::FrozenQueue> queues) const {
        auto record = cli::FrozenRecord::open(context);
        record->of("/job") = std::move(queues);
        ASSERT_TRUE(record->save());
    }
    std::string recorded() const {
        std::string text;
        auto record = cli::FrozenRecord::open(context);
        for (const std::string& path : cli::FrozenRecord::cgroups(context))
            for (const cli::FrozenQueue& queue : record->of(path))
                text += path + ":" + std::to_string(queue.uid) + " ";
        return text;
    }

    static void expect_message(const cli::Report& report, const std::string& part) {
        ASSERT_FALSE(report.messages.empty());
        EXPECT_NE(report.messages[0].find(part), std::string::npos) << report.messages[0];
    }
    static void expect_text(const cli::Report& report, const std::string& part) {
        EXPECT_NE(report.text.find(part), std::string::npos) << report.text;
    }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(FreezeTest, all_processes_below_are_stopped_in_one_call_and_sdma_is_named) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{0, held, sticky, 1'500'000}, {0, held, sticky}});
    expect_scan(held, sticky);
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.text, "queue 0 of pid 7 (demo): frozen in 1.5 ms\n"
                           "queue 1 of pid 7 (demo): skipped, sdma queue: only compute queues can "
                           "be held\n"
                           "queue 0 of pid 8 (demo): frozen\n"
                           "cgroup /job: frozen: 2 of 3 queues, 2 processes\n");
    EXPECT_TRUE(report.messages.empty());
    EXPECT_EQ(report.json["cgroup"], "/job");
    EXPECT_EQ(report.json["calls"], 1);
    EXPECT_EQ(report.json["scans"], 2);
    EXPECT_EQ(report.json["frozen"], true);
    EXPECT_EQ(report.json["queues"][0]["outcome"], "frozen");
    EXPECT_EQ(report.json["queues"][2]["pid"], 8);
    EXPECT_EQ(recorded(), "/job:70 /job:80 ");
}

TEST_F(FreezeTest, the_record_is_written_before_anything_is_stopped) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {0, held, sticky}});
    script->before_switch = [this] {
        const std::filesystem::path file = tree.root() / "run/kfd-preempt/frozen.json";
        EXPECT_GT(std::filesystem::file_size(file), 60U);
        // As after a kill: what thaw finds is the file alone.
        EXPECT_EQ(cli::FrozenRecord::cgroups(context), std::vector<std::string>{"/job"});
    };
    expect_scan(held, sticky);
    EXPECT_EQ(cli::freeze(context, {"job"}, false).exit, cli::Exit::ok);
}

TEST_F(FreezeTest, queues_made_meanwhile_are_found_by_the_next_look) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {0, held, sticky}});
    script->before_switch = [this] { tree.add_queue(8, 3); };
    expect_scan(held, sticky);
    script->expect_status_uid(8, 3, 83, running, 0);
    script->expect_group_switch(stop, {{8, 3, 83}}, {{0, held, sticky}});
    expect_scan(held, sticky);
    script->expect_status_uid(8, 3, 83, held, sticky);
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["scans"], 3);
}

TEST_F(FreezeTest, a_process_that_never_stops_making_queues_is_given_up_and_all_is_undone) {
    script->expect_query(0);
    std::vector<test::GroupEntry> ids = {{7, 0, 70}, {8, 0, 80}};
    for (unsigned scan = 0; scan < 16; ++scan) {
        expect_scan(scan == 0 ? running : held, scan == 0 ? 0 : sticky);
        for (std::uint32_t id = 1; id <= scan; ++id)
            script->expect_status_uid(8, id, 80 + id, id == scan ? running : held,
                                      id == scan ? 0 : sticky);
        if (scan > 0)
            ids.push_back({8, scan, 80 + scan});
        const std::vector<test::GroupEntry> found(scan == 0 ? ids.begin() : ids.end() - 1,
                                                  ids.end());
        script->expect_group_switch(stop, found,
                                    std::vector<GroupAnswer>(found.size(), {0, held, sticky}));
    }
    script->before_switch = [this, next = 1U]() mutable {
        if (next <= 16)
            tree.add_queue(8, next++);
    };
    script->expect_group_switch(start, ids, std::vector<GroupAnswer>(ids.size(), {0, running, 0}));
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "kept creating queues across 16 scans");
    EXPECT_EQ(report.json["queues"][0]["outcome"], "undone");
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, when_one_is_not_allowed_the_others_go_on_again) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {-EPERM, running, 0}});
    expect_scan();
    script->expect_group_switch(start, {{7, 0, 70}}, {{0, running, 0}});
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::permission);
    expect_message(report, "queue 0 of pid 8 (demo): not allowed to freeze queues of uid 1234");
    expect_text(report, "queue 0 of pid 7 (demo): was frozen, and is resumed");
    EXPECT_EQ(report.json["frozen"], false);
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, partial_keeps_what_could_be_held) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {-EOPNOTSUPP, running, 0}});
    expect_scan();
    const cli::Report report = cli::freeze(context, {"job"}, true);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_text(report, "queue 0 of pid 7 (demo): frozen");
    EXPECT_EQ(recorded(), "/job:70 ");
}

TEST_F(FreezeTest, a_late_stop_is_waited_for) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {-ETIME, pending, sticky}});
    expect_scan(held, sticky);
    script->expect_group_switch(stop, {{8, 0, 80}}, {{0, held, sticky}});
    expect_scan(held, sticky);
    EXPECT_EQ(cli::freeze(context, {"job"}, false).exit, cli::Exit::ok);
    EXPECT_EQ(recorded(), "/job:70 /job:80 ");
}

TEST_F(FreezeTest, a_stop_that_never_comes_stays_recorded) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {-ETIME, pending, sticky}});
    for (unsigned again = 0; again < 4; ++again) {
        expect_scan(held, sticky);
        script->expect_group_switch(stop, {{8, 0, 80}}, {{-ETIME, pending, sticky}});
    }
    expect_scan(held, sticky);
    expect_both(start, {{0, running, 0}, {-EBUSY, pending, sticky}});
    for (unsigned again = 0; again < 49; ++again)
        script->expect_group_switch(start, {{8, 0, 80}}, {{-EBUSY, pending, sticky}});
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "PENDING");
    EXPECT_NE(report.messages[0].find("it stays held: `kfd-preempt thaw`"), std::string::npos);
    EXPECT_EQ(recorded(), "/job:80 ");
}

TEST_F(FreezeTest, what_ended_meanwhile_and_what_is_dead_is_no_failure) {
    script->expect_query(0);
    expect_scan();
    expect_both(stop, {{-ESRCH, 0, 0}, {-EIO, KFD_PREEMPT_STATE_DEAD, 0x80000000}});
    expect_scan();
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["queues"][0]["outcome"], "gone");
    expect_text(report, "queue 0 of pid 8 (demo): skipped, it is dead");
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, more_queues_than_a_call_takes_go_in_batches) {
    script->max_batch = 1;
    script->expect_query(0);
    expect_scan();
    script->expect_group_switch(stop, {{7, 0, 70}}, {{0, held, sticky}});
    script->expect_group_switch(stop, {{8, 0, 80}}, {{0, held, sticky}});
    expect_scan(held, sticky);
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["calls"], 2);
}

TEST_F(FreezeTest, thaw_lets_go_what_freeze_holds_and_forgets_it) {
    freeze_job();
    script->expect_query(0);
    expect_both(start, {{0, running, 0}, {0, held, KFD_PREEMPT_HOLD_SELF}});
    const cli::Report report = cli::thaw(context, {"/sys/fs/cgroup/job"});
    EXPECT_EQ(report.exit, cli::Exit::failed) << "that path is not below the fixture's root";
    const cli::Report thawed = cli::thaw(context, {(tree.root() / "sys/fs/cgroup/job/").string()});
    EXPECT_EQ(thawed.exit, cli::Exit::ok);
    EXPECT_EQ(thawed.text, "queue 0 of pid 7 (demo): thawed\n"
                           "queue 0 of pid 8 (demo): thawed, but still held by SELF\n");
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, queue_of_a_process_that_stays_locked_is_not_frozen) {
    script->expect_query(0);
    for (int i = 0; i < 5; ++i)
        script->expect_status(7, 0, -EBUSY);
    script->expect_status_uid(8, 0, 80, running, 0);
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, processes_are_frozen_with_queues_to_come_if_the_driver_can) {
    script->expect_query(0, 0, can_hold_processes);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {0, held, sticky}});
    expect_processes(stop, {{0, held, sticky}, {0, held, sticky}});
    int switches = 0;
    script->before_switch = [&] {
        if (++switches == 2)
            tree.add_queue(7, 3);
    };
    script->expect_status_uid(7, 0, 70, held, sticky);
    script->expect_status_uid(7, 3, 73, held, sticky);
    script->expect_status_uid(8, 0, 80, held, sticky);
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_NE(report.text.find("queue 3 of pid 7 (demo): frozen with its process\n"),
              std::string::npos);
    EXPECT_EQ(recorded(), "/job:70 /job:73 /job:0 /job:80 /job:0 ");

    script->expect_query(0);
    script->expect_group_switch(start, {{7, 0, 70}, {7, 3, 73}, {8, 0, 80}},
                                {{0, running, 0}, {0, running, 0}, {0, running, 0}});
    expect_processes(start, {{0, running, 0}, {0, running, 0}});
    EXPECT_EQ(cli::thaw(context, {"job"}).exit, cli::Exit::ok);
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, freeze_of_a_busy_process_keeps_the_record_of_an_earlier_hold) {
    write_record({{7, 0, 70}, {7, all, 0}, {8, 0, 80}, {8, all, 0}});
    script->expect_query(0, 0, can_hold_processes);
    expect_scan(held, sticky);
    expect_processes(stop, {{-EBUSY, running, 0}, {-EALREADY, held, sticky}});
    expect_scan(held, sticky);
    script->expect_group_switch(stop, {{7, all, 0}}, {{-EALREADY, held, sticky}});
    EXPECT_EQ(cli::freeze(context, {"job"}, false).exit, cli::Exit::ok);
    EXPECT_EQ(recorded(), "/job:70 /job:0 /job:80 /job:0 ");
}

TEST_F(FreezeTest, freeze_of_a_busy_queue_keeps_the_record_of_an_earlier_hold) {
    write_record({{7, 0, 70}, {8, 0, 80}});
    script->expect_query(0);
    script->expect_status_uid(7, 0, 70, held, sticky);
    script->expect_status_uid(8, 0, 80, pending, sticky);
    script->expect_group_switch(stop, {{8, 0, 80}}, {{-EBUSY, pending, sticky}});
    expect_scan(held, sticky);
    script->expect_group_switch(stop, {{8, 0, 80}}, {{-EALREADY, held, sticky}});
    expect_scan(held, sticky);
    expect_text(cli::freeze(context, {"job"}, false), "queue 0 of pid 8 (demo): already frozen\n");
    EXPECT_EQ(recorded(), "/job:70 /job:80 ");
}

// Thaw would resume that queue with its process.
TEST_F(FreezeTest, process_with_a_queue_that_was_suspended_by_hand_is_not_frozen_whole) {
    script->expect_query(0, 0, can_hold_processes);
    script->expect_status_uid(7, 0, 70, held, sticky);
    script->expect_status_uid(8, 0, 80, running, 0);
    script->expect_group_switch(stop, {{8, 0, 80}}, {{0, held, sticky}});
    script->expect_group_switch(stop, {{8, all, 0}}, {{0, held, sticky}});
    expect_scan(held, sticky);
    EXPECT_EQ(cli::freeze(context, {"job"}, false).exit, cli::Exit::ok);
    EXPECT_EQ(recorded(), "/job:80 /job:0 ");
}

// Its queues are held, and those to come would run.
TEST_F(FreezeTest, process_whose_queues_to_come_cannot_be_held_is_not_frozen) {
    script->expect_query(0, 0, can_hold_processes);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {0, held, sticky}});
    expect_processes(stop, {{0, held, sticky}, {-EPERM, running, 0}});
    expect_scan(held, sticky);
    expect_both(start, {{0, running, 0}, {0, running, 0}});
    script->expect_group_switch(start, {{7, all, 0}}, {{0, running, 0}});
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::permission);
    expect_message(report, "pid 8 (demo): not allowed to freeze");
    EXPECT_EQ(report.json["frozen"], false);
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, partial_keeps_processes_whose_queues_to_come_cannot_be_held) {
    script->expect_query(0, 0, can_hold_processes);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {0, held, sticky}});
    expect_processes(stop, {{0, held, sticky}, {-EOPNOTSUPP, running, 0}});
    expect_scan(held, sticky);
    const cli::Report report = cli::freeze(context, {"job"}, true);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "pid 8 (demo)");
    EXPECT_EQ(recorded(), "/job:70 /job:0 /job:80 ");
}

TEST_F(FreezeTest, process_that_ends_before_it_is_held_is_no_failure) {
    script->expect_query(0, 0, can_hold_processes);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {-ESRCH, 0, 0}});
    expect_processes(stop, {{0, held, sticky}, {-ESRCH, 0, 0}});
    expect_scan(held, sticky);
    EXPECT_EQ(cli::freeze(context, {"job"}, false).exit, cli::Exit::ok);
    EXPECT_EQ(recorded(), "/job:70 /job:0 ");
}

TEST_F(FreezeTest, freeze_that_fails_releases_queues_to_come) {
    script->expect_query(0, 0, can_hold_processes);
    expect_scan();
    expect_both(stop, {{0, held, sticky}, {-EPERM, running, 0}});
    script->expect_group_switch(stop, {{7, all, 0}}, {{0, held, sticky}});
    expect_scan(held, sticky);
    script->expect_group_switch(start, {{7, 0, 70}}, {{0, running, 0}});
    script->expect_group_switch(start, {{7, all, 0}}, {{0, running, 0}});
    EXPECT_EQ(cli::freeze(context, {"job"}, false).exit, cli::Exit::permission);
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, what_was_suspended_by_hand_is_not_thawed) {
    script->expect_query(0);
    script->expect_status_uid(7, 0, 70, held, sticky);
    script->expect_status_uid(8, 0, 80, running, 0);
    script->expect_group_switch(stop, {{8, 0, 80}}, {{0, held, sticky}});
    expect_scan(held, sticky);
    const cli::Report report = cli::freeze(context, {"job"}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    expect_text(report, "queue 0 of pid 7 (demo): already suspended, and thaw leaves it so");
    EXPECT_EQ(recorded(), "/job:80 ");
}

TEST_F(FreezeTest, a_queue_frozen_with_two_cgroups_goes_on_after_both_are_thawed) {
    script->expect_query(0);
    script->expect_status_uid(8, 0, 80, running, 0);
    script->expect_group_switch(stop, {{8, 0, 80}}, {{0, held, sticky}});
    script->expect_status_uid(8, 0, 80, held, sticky);
    EXPECT_EQ(cli::freeze(context, {"job/step"}, false).exit, cli::Exit::ok);

    script->expect_query(0);
    script->expect_status_uid(7, 0, 70, running, 0);
    script->expect_status_uid(8, 0, 80, held, sticky);
    script->expect_group_switch(stop, {{7, 0, 70}}, {{0, held, sticky}});
    expect_scan(held, sticky);
    expect_text(cli::freeze(context, {"job"}, false),
                "queue 0 of pid 8 (demo): already frozen with cgroup /job/step");
    EXPECT_EQ(recorded(), "/job:70 /job:80 /job/step:80 ");

    script->expect_query(0);
    script->expect_group_switch(start, {{7, 0, 70}}, {{0, running, 0}});
    expect_text(cli::thaw(context, {"job"}), "stays frozen with cgroup /job/step");
    EXPECT_EQ(recorded(), "/job/step:80 ");
}

TEST_F(FreezeTest, thaw_after_a_killed_freeze_takes_what_was_held_and_what_was_not) {
    write_record({{7, 0, 70}, {8, 0, 80}, {9, 5, 95}});
    script->expect_query(0);
    script->expect_group_switch(start, {{7, 0, 70}, {8, 0, 80}, {9, 5, 95}},
                                {{0, running, 0}, {-EALREADY, running, 0}, {-ESTALE, running, 0}});
    const cli::Report report = cli::thaw(context, {"job"});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    expect_text(report, "queue 0 of pid 8 (demo): was not frozen any more");
    expect_text(report, "queue 5 of pid 9 (demo): destroyed meanwhile");
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, a_thaw_that_is_not_allowed_keeps_the_record) {
    freeze_job();
    script->expect_query(0);
    expect_both(start, {{-EPERM, held, sticky}, {0, running, 0}});
    const cli::Report report = cli::thaw(context, {"job"});
    EXPECT_EQ(report.exit, cli::Exit::permission);
    expect_message(report, "not allowed to thaw");
    EXPECT_EQ(recorded(), "/job:70 ");
}

TEST_F(FreezeTest, a_refused_call_says_why_and_keeps_the_record) {
    freeze_job();
    script->expect_query(0);
    script->expect_group_switch(start, {{7, 0, 70}, {8, 0, 80}}, {}, -ENOMEM);
    const cli::Report report = cli::thaw(context, {"job"});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "the kernel is out of memory");
    EXPECT_EQ(recorded(), "/job:70 /job:80 ");
}

TEST_F(FreezeTest, processes_that_ended_while_frozen_are_forgotten) {
    freeze_job();
    std::filesystem::remove_all(tree.root() / "sys/class/kfd/kfd/proc/8");
    EXPECT_EQ(recorded(), "/job:70 ");
}

// A hold of a whole process has no number of a queue that would tell it from the next process.
TEST_F(FreezeTest, process_with_the_pid_of_one_that_was_frozen_is_another) {
    const auto start_at = [this](pid_t pid, int ticks) {
        tree.write("proc/" + std::to_string(pid) + "/stat",
                   std::to_string(pid) + " (a) b) S 1 7 7 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 " +
                       std::to_string(ticks) + " 0 0\n");
    };
    start_at(7, 100);
    start_at(8, 100);
    write_record({{7, all, 0}, {8, all, 0}});
    start_at(8, 200);
    script->expect_query(0);
    script->expect_group_switch(start, {{7, all, 0}}, {{0, running, 0}});
    EXPECT_EQ(cli::thaw(context, {"job"}).exit, cli::Exit::ok);
    EXPECT_EQ(recorded(), "");
}

TEST_F(FreezeTest, a_cgroup_that_is_gone_can_still_be_thawed) {
    freeze_job();
    std::filesystem::remove_all(tree.root() / "sys/fs/cgroup/job");
    script->expect_query(0);
    expect_both(start, {{0, running, 0}, {0, running, 0}});
    EXPECT_EQ(cli::thaw(context, {"job"}).exit, cli::Exit::ok);
    const cli::Report again = cli::thaw(context, {"job"});
    EXPECT_EQ(again.exit, cli::Exit::failed);
    expect_message(again, "cgroup /job: there is no such cgroup");
}

TEST_F(FreezeTest, a_cgroup_without_gpu_work_is_frozen_without_any_call) {
    add_cgroup("shell", "1000\n");
    script->expect_query(0);
    const cli::Report report = cli::freeze(context, {"shell"}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.text, "cgroup /shell: frozen: 0 of 0 queues, 1 processes\n");
}

TEST_F(FreezeTest, an_empty_cgroup_and_one_that_is_absent_are_named) {
    add_cgroup("empty", "");
    script->expect_query(0);
    expect_message(cli::freeze(context, {"empty"}, false), "cgroup /empty: has no process");
    expect_message(cli::freeze(context, {"absent"}, false), "cgroup /absent: there is no such");
    expect_message(cli::thaw(context, {"absent"}), "cgroup /absent: there is no such");
}

TEST_F(FreezeTest, the_root_and_what_leads_out_of_it_are_refused) {
    for (const char* root : {"/", ".", "job/.."})
        expect_message(cli::freeze(context, {root}, false), "the whole machine");
    expect_message(cli::freeze(context, {"../../etc"}, false), "leads out of");
    expect_message(cli::freeze(context, {"\xff"}, false), "is not UTF-8");
}

TEST_F(FreezeTest, version_1_has_its_cgroups_in_the_hierarchy_of_the_freezer) {
    std::filesystem::remove(tree.root() / "sys/fs/cgroup/cgroup.controllers");
    expect_message(cli::freeze(context, {"job"}, false), "no cgroups at ");
    tree.write("sys/fs/cgroup/freezer/cgroup.procs", "");
    tree.write("sys/fs/cgroup/freezer/slurm/cgroup.procs", "7\n");
    script->expect_query(0);
    script->expect_status_uid(7, 0, 70, running, 0);
    script->expect_group_switch(stop, {{7, 0, 70}}, {{0, held, sticky}});
    script->expect_status_uid(7, 0, 70, held, sticky);
    const std::string path = (tree.root() / "sys/fs/cgroup/freezer/slurm").string();
    expect_text(cli::freeze(context, {path}, false), "cgroup /slurm: frozen: 1 of 2 queues");
    // Beside version 2, the hierarchy that has the cgroup counts.
    tree.write("sys/fs/cgroup/unified/cgroup.controllers", "");
    tree.write("sys/fs/cgroup/unified/job/cgroup.procs", "");
    script->expect_query(0);
    expect_message(cli::freeze(context, {"job"}, false), "has no process");
}

TEST_F(FreezeTest, a_container_is_frozen_by_its_cgroup_and_thawed_after_its_end) {
    const std::string id = std::string(60, '0') + "abcd";
    const std::string path = "system.slice/docker-" + id + ".scope";
    add_cgroup(path, "7\n");
    tree.write("proc/7/cgroup", "0::/" + path + "/inner\n");
    script->expect_query(0);
    script->expect_status_uid(7, 0, 70, running, 0);
    script->expect_group_switch(stop, {{7, 0, 70}}, {{0, held, sticky}});
    script->expect_status_uid(7, 0, 70, held, sticky);
    expect_text(cli::freeze(context, {"", id.substr(0, 12)}, false), ": frozen: 1 of 2 queues");
    EXPECT_EQ(recorded(), "/" + path + ":70 ");
    // Nothing names the container any more but the record.
    tree.write("proc/7/cgroup", "0::/elsewhere\n");
    script->expect_query(0);
    script->expect_group_switch(start, {{7, 0, 70}}, {{0, running, 0}});
    EXPECT_EQ(cli::thaw(context, {"", id}).exit, cli::Exit::ok);
    EXPECT_EQ(recorded(), "");
    expect_message(cli::thaw(context, {"", id}), "is it running?");
}

TEST_F(FreezeTest, a_container_without_a_cgroup_to_freeze_is_told_what_works) {
    const std::string id(64, 'a');
    tree.write("proc/7/cgroup", "3:devices:/docker/" + id + "\n");
    expect_message(cli::freeze(context, {"", id}, false), "suspend its queues instead");
}

TEST_F(FreezeTest, a_record_that_is_damaged_or_cannot_be_written_stops_nothing) {
    tree.write("run/kfd-preempt/frozen.json", "{\"cgroups\": {\"/job\": [{\"pid\": -7}]}}");
    script->expect_query(0);
    expect_message(cli::freeze(context, {"job"}, false), "frozen.json: is damaged: remove it");
    expect_message(cli::thaw(context, {"job"}), "frozen.json: is damaged: remove it");
    std::filesystem::remove_all(tree.root() / "run/kfd-preempt");
    tree.write("run/kfd-preempt", "");
    script->expect_query(0);
    expect_message(cli::freeze(context, {"job"}, false), "thaw needs it to find the queues");
}

TEST_F(FreezeTest, a_record_that_cannot_be_replaced_stops_nothing) {
    script->expect_query(0);
    expect_scan();
    const cli::Report report = [&] {
        const FullDisk full;
        return cli::freeze(context, {"job"}, false);
    }();
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "frozen.json: cannot be written");
}

} // namespace
