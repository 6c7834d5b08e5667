// SPDX-License-Identifier: MIT
// Runs, choices and the focus outlive the daemon, as far as the processes do.
#include "daemon_fixture.hpp"

#include "scheduling/kept_state.hpp"
#include "unit/kfd_tree.hpp"

#include <fstream>
#include <memory>

namespace {

using namespace xpreemptd;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::batch;
using test::server;

constexpr Caller root{1, 0, 1};

class RestartTest : public test::DaemonFixture {
protected:
    RestartTest() { daemon.keep_state_in(file_); }

    // The next daemon, a second after the end of this one.
    void restart() {
        gpu.running.at(server).cookie = gpu.running.at(batch).cookie = 0;
        gpu.events.clear();
        next_.reset(new Daemon(test::daemon_over(gpu, lines)));
        next_->keep_state_in(file_);
        next_->start();
        pass(*next_, seconds{1});
    }
    [[nodiscard]] JobReport job_then(pid_t pid) const { return job(*next_, pid); }
    void run(pid_t pid, const AttributeChange& change) {
        gpu.create_process(pid, 1);
        ASSERT_TRUE(daemon.adopt({pid, 0, 1}, change));
    }
    void create_queue_of(pid_t pid, pid_t parent) {
        gpu.create_queue(pid, 1);
        gpu.running.at(pid).parent = parent;
    }

    test::KfdTree tree_;
    const std::filesystem::path file_ = tree_.root() / "state";
    std::unique_ptr<Daemon> next_;
};

TEST_F(RestartTest, run_stays_a_job_with_its_attributes) {
    start_two();
    run(30, {.band = sched::Band::idle, .weight = 7});
    create_queue_of(30, 1);
    pass(milliseconds{150});
    ASSERT_EQ(job(30).name, "run 30");
    restart();
    EXPECT_EQ(job_then(30).name, "run 30");
    EXPECT_EQ(job_then(30).attributes.band, sched::Band::idle);
    EXPECT_EQ(job_then(30).attributes.weight, 7U);
    create_queue_of(31, 30); // a later child of the run belongs to it
    pass(*next_, seconds{1});
    EXPECT_EQ(job_then(31).name, "run 30");
}

TEST_F(RestartTest, run_that_has_no_queues_yet_is_known) {
    start_two();
    run(30, {.band = sched::Band::idle});
    restart();
    create_queue_of(31, 30);
    pass(*next_, seconds{1});
    EXPECT_EQ(job_then(31).attributes.band, sched::Band::idle);
}

TEST_F(RestartTest, processes_whose_run_has_ended_stay_in_its_job) {
    start_two();
    run(30, {.band = sched::Band::idle});
    create_queue_of(31, 30);
    pass(milliseconds{150});
    gpu.waiting.erase(30);
    gpu.running.at(31).parent = 1;
    pass(milliseconds{150});
    ASSERT_EQ(job(31).name, "run 30");
    restart();
    EXPECT_EQ(job_then(31).name, "run 30");
    EXPECT_EQ(job_then(31).attributes.band, sched::Band::idle);
}

TEST_F(RestartTest, process_with_the_pid_of_a_run_is_none) {
    start_two();
    run(30, {.band = sched::Band::idle});
    gpu.waiting.erase(30);
    gpu.create_queue(30, 1);
    gpu.running.at(30).generation = 1; // another start
    restart();
    EXPECT_EQ(job_then(30).name, "process 30");
    EXPECT_EQ(job_then(30).attributes.band, sched::Band::normal);
}

TEST_F(RestartTest, choices_and_the_focus_stay) {
    start_two();
    gpu.running.at(batch).uid = 1000;
    ASSERT_TRUE(daemon.change(root, batch, {.band = sched::Band::idle, .priority = -3}));
    ASSERT_TRUE(daemon.focus(root, server));
    restart();
    EXPECT_EQ(job_then(batch).attributes.band, sched::Band::idle);
    EXPECT_EQ(job_then(batch).attributes.priority, -3);
    EXPECT_TRUE(job_then(server).focused);
    // As before, what root has chosen binds the owner.
    const auto refused = next_->change({2, 1000, 2}, batch, {.band = sched::Band::normal});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error, EPERM);
}

// The job of a unit, whose processes may have been replaced while no daemon ran.
TEST_F(RestartTest, choice_and_the_focus_of_a_user_are_not_those_of_the_next) {
    constexpr Caller first{batch, 1000, 2};
    add(batch, "/batch");
    gpu.running.at(batch).uid = first.uid;
    add(server, "/other");
    daemon.start();
    const AttributeChange idle{.band = sched::Band::idle, .weight = 1};
    ASSERT_TRUE(daemon.change(first, batch, idle));
    ASSERT_TRUE(daemon.focus(first, batch));
    restart();
    EXPECT_EQ(job_then(batch).attributes.weight, 1U);
    EXPECT_TRUE(job_then(batch).focused);
    gpu.running.at(batch).uid = 1001;
    gpu.running.at(batch).generation = 1; // another start
    restart();
    EXPECT_EQ(job_then(batch).attributes.band, sched::Band::normal);
    EXPECT_EQ(job_then(batch).attributes.weight, 100U);
    EXPECT_FALSE(job_then(batch).focused);
}

// As `kfd-preempt run sudo`, or a container with other users.
TEST_F(RestartTest, choice_of_a_run_is_that_of_what_it_starts_as_another_user) {
    start_two();
    gpu.create_process(30, 1);
    gpu.waiting_uid = 1000;
    ASSERT_TRUE(daemon.adopt({30, 1000, 1}, {.band = sched::Band::idle}));
    create_queue_of(31, 30);
    gpu.running.at(31).uid = 1001;
    pass(milliseconds{150});
    EXPECT_EQ(job(31).attributes.band, sched::Band::idle);
    restart();
    EXPECT_EQ(job_then(31).name, "run 30");
    EXPECT_EQ(job_then(31).attributes.band, sched::Band::idle);
}

TEST_F(RestartTest, choice_for_a_job_that_has_ended_meanwhile_is_forgotten) {
    start_two();
    ASSERT_TRUE(daemon.change(root, batch, {.band = sched::Band::idle}));
    const auto queue = gpu.running.at(batch);
    restart();
    gpu.exit(batch);
    pass(*next_, seconds{61});
    gpu.running[batch] = queue;
    gpu.running.at(batch).cookie = 0;
    pass(*next_, seconds{1});
    EXPECT_EQ(job_then(batch).attributes.band, sched::Band::normal);
}

TEST_F(RestartTest, directory_that_cannot_be_written_is_named_once) {
    std::filesystem::remove_all(tree_.root());
    start_two();
    run(30, {});
    run(31, {});
    pass(seconds{1});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find(file_.string() + " cannot be written: No such file"),
              std::string::npos);
}

TEST_F(RestartTest, file_that_was_removed_is_written_again) {
    start_two();
    run(30, {});
    pass(seconds{1});
    const auto written = read_state(file_).value();
    ASSERT_EQ(written.runs.size(), 1U);
    std::filesystem::remove(file_);
    pass(seconds{1});
    EXPECT_EQ(read_state(file_), written);
    // With its directory, which the socket brings back.
    std::filesystem::remove_all(file_.parent_path());
    pass(seconds{1});
    std::filesystem::create_directories(file_.parent_path());
    pass(seconds{11});
    EXPECT_EQ(read_state(file_), written);
}

TEST_F(RestartTest, file_that_is_not_used_is_named) {
    start_two();
    ASSERT_TRUE(daemon.change(root, batch, {.band = sched::Band::idle}));
    std::filesystem::rename(file_, tree_.root() / "elsewhere");
    std::filesystem::create_symlink("elsewhere", file_);
    restart();
    EXPECT_EQ(job_then(batch).attributes.band, sched::Band::normal);
    ASSERT_FALSE(lines.empty());
    EXPECT_NE(lines[0].find(file_.string() + " is not used: it is no regular file; what run"),
              std::string::npos)
        << lines[0];
}

// Any user may have many runs: those of others are kept, too.
TEST_F(RestartTest, as_many_runs_as_there_may_be_leave_room_for_what_others_have_set) {
    KeptState state;
    for (std::size_t i = 0; i < Runs::most; ++i)
        state.runs.push_back({{static_cast<pid_t>(1000 + i), i}, {}, 1000, std::string(64, 'm')});
    state.jobs["cgroup:/other"] = {{.by_root = {.weight = 3}, .by_owner = {}}, {}};
    std::ofstream(file_) << text_of(state);
    EXPECT_EQ(read_state(file_), state);
}

TEST(KeptState, is_read_as_it_was_written) {
    KeptState state;
    Choices choices;
    choices.by_root = {.band = sched::Band::high, .weight = 3};
    choices.by_owner = {
        .deadline = seconds{1}, .priority = -9, .utilization = 4, .lax = seconds{2}};
    choices.owner = 1001;
    state.runs = {{{30, 3000}, choices, 1000, "pipe:[7]"}, {{31, 3100}, {}, 0, ""}};
    state.jobs["cgroup:/a b/\xff"] = {choices, 1002};
    state.jobs["process:3:4"] = {choices, {}};
    state.members[{32, 3200}] = "run:30:3000";
    EXPECT_EQ(parse_state(text_of(state)), state);
}

// It did not write whose choices and focus they were.
TEST(KeptState, of_an_older_daemon_has_the_choices_of_root_and_of_runs) {
    const std::string idle = R"({"do":"adopt","band":"idle"})",
                      low = R"({"do":"adopt","weight":1})";
    KeptState state;
    state.runs = {{{30, 3000}, {{.band = sched::Band::idle}, {.weight = 1}, 1000}, 1000, ""}};
    state.jobs["/a"] = {{.by_root = {.band = sched::Band::idle}, .by_owner = {}}, {}};
    EXPECT_EQ(parse_state("run 30 3000 " + idle + " " + low + " 1000 -\njob focused " + idle + " " +
                          low + " /a\n"),
              state);
}

TEST(KeptState, leaves_out_lines_that_are_wrong) {
    for (const char* text :
         {"", "\n", "run", "run 1", "run 1 2 {} {}", "run 1 2 {} {} 0", "run 1 2 {} {} x - ", "job",
          "job - x y z", "member 1", "member a 2 run:1:2", "other 1 2 3"})
        EXPECT_EQ(parse_state(text), KeptState{}) << text;
}

TEST(KeptState, leaves_out_a_line_in_which_one_of_two_choices_is_wrong) {
    KeptState state;
    state.jobs["/a"] = {{.by_root = {.weight = 3}, .by_owner = {.weight = 4}, .owner = 0}, {}};
    const std::string line = text_of(state);
    ASSERT_EQ(parse_state(line), state);
    for (const char weight : {'3', '4'}) {
        std::string wrong = line;
        wrong.at(wrong.find(weight)) = 'x';
        EXPECT_EQ(parse_state(wrong), KeptState{}) << wrong;
    }
}

} // namespace
