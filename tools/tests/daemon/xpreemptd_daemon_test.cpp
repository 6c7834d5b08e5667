// SPDX-License-Identifier: MIT
// The daemon over queues in memory: what it stops, when, and what it leaves alone.
#include "daemon_fixture.hpp"

#include <random>

namespace {

using namespace xpreemptd;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

using DaemonTest = test::DaemonFixture;
using test::batch;
using test::server;

TEST_F(DaemonTest, ring_of_the_important_job_stops_the_other_in_one_call) {
    start_two();
    const std::uint64_t before = gpu.calls;
    gpu.submit(server, 1);
    daemon.on_events();
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_FALSE(gpu.held(server));
    EXPECT_EQ(gpu.calls, before + 1);
    EXPECT_EQ(job(batch).state, JobState::held);
    EXPECT_EQ(job(server).state, JobState::running);
}

TEST_F(DaemonTest, other_job_resumes_after_the_grace) {
    start_two();
    gpu.submit(server, 1);
    pass(milliseconds{2});
    EXPECT_TRUE(gpu.held(batch));
    gpu.finish(server, 1);
    pass(milliseconds{4});
    EXPECT_TRUE(gpu.held(batch));
    pass(milliseconds{4});
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(job(batch).account.preemptions, 1U);
}

TEST_F(DaemonTest, job_has_work_until_the_signal_of_its_last_packet_says_otherwise) {
    start_two();
    gpu.submit(server, 1);
    events();
    gpu.finish(server, 1); // taken, and under way
    gpu.running.at(server).queues.at(1).signal = true;
    pass(seconds{1});
    EXPECT_TRUE(gpu.held(batch));
    gpu.running.at(server).queues.at(1).signal = false;
    pass(milliseconds{100});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(DaemonTest, job_whose_signal_cannot_be_read_keeps_its_work) {
    start_two();
    gpu.submit(server, 1);
    events();
    gpu.running.at(server).queues.at(1).readable_ring = false;
    gpu.finish(server, 1); // taken, and under way
    pass(seconds{1});
    EXPECT_TRUE(gpu.held(batch));
    gpu.running.at(server).queues.at(1).readable_ring = true;
    pass(milliseconds{100});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(DaemonTest, job_whose_signal_cannot_be_read_later_has_no_new_work) {
    start_two();
    gpu.submit(server, 1);
    events();
    gpu.finish(server, 1);
    pass(milliseconds{100});
    EXPECT_FALSE(gpu.held(batch));
    gpu.running.at(server).queues.at(1).readable_ring = false;
    gpu.ring(server, 1); // without a packet
    pass(milliseconds{100});
    EXPECT_FALSE(gpu.held(batch));
    gpu.submit(server, 1);
    gpu.finish(server, 1); // taken before it is seen
    pass(seconds{1});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(DaemonTest, signal_that_serves_for_something_else_is_no_work) {
    start_two();
    gpu.create_queue(server, 2);
    events();
    gpu.submit(server, 1);
    events();
    gpu.finish(server, 1);
    pass(milliseconds{100});
    EXPECT_FALSE(gpu.held(batch));
    gpu.running.at(server).queues.at(1).signal = true; // freed, and another's by now
    gpu.submit(server, 2);
    events();
    EXPECT_TRUE(gpu.held(batch));
    gpu.finish(server, 2);
    pass(milliseconds{100});
    EXPECT_FALSE(gpu.held(batch));
    gpu.submit(server, 1); // its signal is its own again
    events();
    gpu.finish(server, 1);
    pass(seconds{1});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(DaemonTest, idle_job_is_not_stopped) {
    start_two();
    gpu.finish(batch, 1);
    pass(milliseconds{50});
    const std::uint64_t before = gpu.calls;
    gpu.submit(server, 1);
    pass(milliseconds{5});
    EXPECT_EQ(gpu.calls, before);
}

TEST_F(DaemonTest, ring_without_work_stops_nobody) {
    start_two();
    const std::uint64_t before = gpu.calls;
    gpu.ring(server, 1);
    pass(milliseconds{5});
    EXPECT_EQ(gpu.calls, before);
    EXPECT_TRUE(gpu.running.at(server).armed); // again
}

// The clock runs while the driver is asked, as on a machine that is slow or full of queues.
TEST_F(DaemonTest, polls_leave_the_cpu_to_others_however_slow_they_are) {
    start_two();
    gpu.submit(server, 1);
    events();
    gpu.read_takes = milliseconds{3};
    const Time begin = gpu.now;
    const std::uint64_t before = gpu.reads;
    pass(seconds{2});
    const auto busy = (gpu.reads - before) * gpu.read_takes;
    EXPECT_LE(20 * busy, gpu.now - begin);
    EXPECT_GT(gpu.reads - before, 10U);
}

// The driver waits for the firmware without sleeping.
TEST_F(DaemonTest, slow_switches_leave_the_cpu_to_others) {
    start_two();
    gpu.change_takes = milliseconds{400};
    gpu.submit(server, 1);
    const Time rung = gpu.now;
    events();
    EXPECT_TRUE(gpu.held(batch)); // a ring waits for nothing
    EXPECT_EQ(gpu.now - rung, gpu.change_takes);
    const Time begin = gpu.now;
    const std::uint64_t before = gpu.calls;
    pass(seconds{40}); // in turns with the floor of the batch job
    EXPECT_GT(gpu.calls - before, 4U);
    EXPECT_LE((gpu.calls - before) * 3 * gpu.change_takes, gpu.now - begin);
    gpu.finish(server, 1);
    pass(seconds{3});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(DaemonTest, work_between_look_and_arm_is_seen) {
    start_two();
    gpu.submit(server, 1);
    pass(milliseconds{1});
    gpu.finish(server, 1);
    bool came = false;
    gpu.before_arm = [&] {
        if (!std::exchange(came, true))
            gpu.submit(server, 1); // not armed yet: no event
    };
    pass(milliseconds{20});
    EXPECT_TRUE(came);
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(DaemonTest, ring_of_a_gpu_is_found_by_the_scan) {
    start_two();
    gpu.running.at(server).queues.at(1).packets = 1; // without an event
    pass(milliseconds{150});
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_EQ(daemon.status().edges_found_late, 1U);
}

TEST_F(DaemonTest, queue_that_a_stopped_job_creates_is_stopped) {
    start_two();
    gpu.submit(server, 1);
    events();
    gpu.create_queue(batch, 2);
    gpu.submit(batch, 2);
    pass(microseconds{1});
    EXPECT_TRUE(gpu.held(batch, 2));
}

TEST_F(DaemonTest, copy_engine_queues_are_work_but_are_not_stopped) {
    start_two();
    gpu.create_queue(batch, 2, 1, false);
    gpu.create_queue(server, 2, 1, false);
    pass(milliseconds{5});
    gpu.submit(batch, 2);
    gpu.submit(server, 2); // its upload comes before its kernel
    events();
    EXPECT_TRUE(gpu.held(batch, 1));
    EXPECT_FALSE(gpu.held(batch, 2));
}

TEST_F(DaemonTest, stopped_process_that_exits_is_forgotten) {
    start_two();
    gpu.submit(server, 1);
    events();
    gpu.exit(batch);
    gpu.finish(server, 1);
    const std::uint64_t before = gpu.calls;
    pass(milliseconds{200});
    EXPECT_EQ(gpu.calls, before);
    EXPECT_EQ(daemon.jobs().size(), 1U);
}

TEST_F(DaemonTest, process_without_a_watch_is_polled) {
    gpu.has_watch = false;
    start_two();
    gpu.submit(server, 1);
    pass(milliseconds{12});
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_NE(daemon.status().sensing, "watch");
}

TEST_F(DaemonTest, pid_that_another_process_has_by_now_is_another_job) {
    gpu.has_watch = false;
    start_two();
    gpu.running.at(server).executable = "/batch";
    gpu.running.at(server).generation = 1;
    gpu.submit(server, 1);
    pass(milliseconds{150});
    EXPECT_EQ(job(server).attributes.band, sched::Band::normal);
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(DaemonTest, queue_of_a_process_with_a_pid_of_another_does_not_stay_held) {
    gpu.has_watch = false;
    start_two();
    gpu.exit(batch);
    add(batch, "/batch");
    gpu.running.at(batch).generation = 1;
    gpu.submit(batch, 1);
    gpu.submit(server, 1);
    pass(milliseconds{30}); // before the next scan
    ASSERT_TRUE(gpu.held(batch));
    pass(milliseconds{150});
    gpu.finish(server, 1);
    pass(milliseconds{50});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(DaemonTest, blind_process_is_polled) {
    add(server, "/server");
    gpu.running.at(server).blind = true;
    start_two();
    gpu.submit(server, 1);
    pass(milliseconds{12});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(DaemonTest, refused_stop_is_tried_again_ever_more_seldom) {
    start_two();
    int refusals = 0;
    gpu.refuse = [&](const test::Switch&) {
        ++refusals;
        return EBUSY;
    };
    gpu.submit(server, 1);
    pass(seconds{1});
    EXPECT_GT(refusals, 5);
    EXPECT_LT(refusals, 40);
    gpu.refuse = [](const test::Switch&) { return 0; };
    pass(milliseconds{200});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(DaemonTest, queue_that_cannot_be_stopped_is_named_and_left_alone) {
    start_two();
    int asked = 0;
    gpu.refuse = [&](const test::Switch&) {
        ++asked;
        return EOPNOTSUPP;
    };
    gpu.submit(server, 1);
    pass(seconds{1});
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(job(batch).state, JobState::not_schedulable);
    EXPECT_FALSE(job(batch).reason.empty());
}

TEST_F(DaemonTest, hold_of_an_operator_is_left_alone) {
    start_two();
    gpu.running.at(batch).queues.at(1).held_by_other = true;
    pass(milliseconds{150});
    const std::uint64_t before = gpu.calls;
    gpu.submit(server, 1);
    pass(milliseconds{150});
    EXPECT_EQ(gpu.calls, before);
    EXPECT_EQ(job(batch).state, JobState::held_by_others);
}

TEST_F(DaemonTest, operator_who_resumes_by_force_wins_until_the_job_was_idle) {
    start_two();
    gpu.submit(server, 1);
    events();
    ASSERT_TRUE(gpu.held(batch));
    gpu.running.at(batch).queues.at(1).held = false; // RESUME with FORCE
    pass(milliseconds{300});
    EXPECT_FALSE(gpu.held(batch));
    gpu.finish(batch, 1);
    pass(milliseconds{300});
    gpu.submit(batch, 1);
    pass(milliseconds{5});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(DaemonTest, stopped_job_whose_work_was_done_already_resumes) {
    start_two();
    gpu.finish(batch, 1); // no poll has seen it
    gpu.submit(server, 1);
    events();
    pass(milliseconds{5});
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(job(batch).state, JobState::idle);
}

TEST_F(DaemonTest, processes_of_a_cgroup_are_one_job_on_all_gpus) {
    add(server, "/server");
    add(batch, "/batch");
    gpu.create_queue(21, 1, 2);
    gpu.running.at(21).cgroup = gpu.running.at(batch).cgroup;
    daemon.start();
    gpu.submit(batch, 1);
    gpu.submit(21, 1);
    pass(milliseconds{50});
    gpu.submit(server, 1);
    events();
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_TRUE(gpu.held(21));
    EXPECT_EQ(job(batch).pids.size(), 2U);
    EXPECT_EQ(job(batch).gpu_ids, (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(DaemonTest, jobs_on_different_gpus_do_not_meet) {
    add(server, "/server");
    gpu.create_queue(batch, 1, 2);
    gpu.running.at(batch).cgroup = "/batch";
    daemon.start();
    gpu.submit(batch, 1);
    pass(milliseconds{50});
    gpu.submit(server, 1);
    pass(milliseconds{50});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(DaemonTest, adopted_process_and_its_children_are_a_job) {
    start_two();
    gpu.create_process(30, 1);
    ASSERT_TRUE(daemon.adopt({30, 0}, {.band = sched::Band::high}));
    gpu.create_queue(30, 1);
    gpu.create_queue(31, 1);
    gpu.running.at(31).parent = 30;
    pass(milliseconds{150});
    EXPECT_EQ(job(30).name, "run 30");
    EXPECT_EQ(job(31).name, "run 30");
    EXPECT_EQ(job(31).attributes.band, sched::Band::high);
    EXPECT_EQ(daemon.adopt({batch, 0}, {}).error().error, EBUSY);
    EXPECT_EQ(daemon.adopt({99, 0}, {}).error().error, ESRCH);
    gpu.create_process(40, 1);
    EXPECT_EQ(daemon.adopt({40, 1000}, {}).error().error, EPERM); // it is root's
}

TEST_F(DaemonTest, user_may_lower_his_own_job_only) {
    start_two();
    gpu.running.at(batch).uid = 1000;
    gpu.exit(batch);
    add(batch, "/batch");
    gpu.running.at(batch).uid = 1000;
    pass(milliseconds{150});
    const auto set = [&](uid_t uid, sched::Band band) {
        const Answer<void> answer = daemon.change({1, uid}, batch, {.band = band});
        return answer ? 0 : answer.error().error;
    };
    EXPECT_EQ(set(1000, sched::Band::idle), 0);
    EXPECT_EQ(set(1000, sched::Band::normal), 0);
    EXPECT_EQ(set(1000, sched::Band::high), EPERM);
    EXPECT_EQ(set(1001, sched::Band::idle), EPERM);
    EXPECT_EQ(set(0, sched::Band::high), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::high);
    EXPECT_EQ(daemon.set_policy({1, 1000}, "RR").error().error, EPERM);
    EXPECT_EQ(daemon.set_policy({1, 0}, "FIFA").error().error, EINVAL);
}

// The grace of BAND is 1 ms here, and no shorter than five stops and resumes.
TEST_F(DaemonTest, dear_switches_make_the_resume_grace_longer) {
    start_two();
    EXPECT_EQ(daemon.status().switch_cost, microseconds{0});
    gpu.change_takes = milliseconds{4};
    const auto request = [&] {
        gpu.submit(server, 1);
        events();
        ASSERT_TRUE(gpu.held(batch));
        gpu.finish(server, 1);
    };
    request();
    EXPECT_EQ(daemon.status().switch_cost, milliseconds{4});
    pass(milliseconds{60});
    ASSERT_FALSE(gpu.held(batch));
    EXPECT_EQ(daemon.status().switch_cost, milliseconds{8});
    request();
    pass(milliseconds{39});
    EXPECT_TRUE(gpu.held(batch));
    pass(milliseconds{20});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(DaemonTest, reaction_times_are_from_the_ring) {
    start_two();
    EXPECT_EQ(daemon.status().ring_to_switch, ReactionTimes{});
    const auto request = [&](microseconds until_event, microseconds switch_takes) {
        gpu.change_takes = switch_takes;
        gpu.submit(server, 1);
        gpu.now += until_event;
        events();
        ASSERT_TRUE(gpu.held(batch));
        gpu.finish(server, 1);
        gpu.change_takes = microseconds{0};
        pass(milliseconds{50});
        ASSERT_FALSE(gpu.held(batch));
    };
    request(microseconds{40}, microseconds{100});
    request(microseconds{60}, microseconds{300});
    request(microseconds{50}, microseconds{200});
    const ReactionTimes entered = daemon.status().ring_to_switch;
    EXPECT_EQ(entered, (ReactionTimes{3, microseconds{150}, microseconds{50}, microseconds{50},
                                      microseconds{60}}));
    EXPECT_EQ(daemon.status().ring_to_stopped.max, microseconds{360});
    // The driver gave up waiting: when the queue stopped isn't known.
    gpu.refuse = [](const test::Switch& wanted) {
        return wanted.change == Change::stop ? ETIME : 0;
    };
    request(microseconds{70}, microseconds{900});
    EXPECT_EQ(daemon.status().ring_to_switch.count, 4U);
    EXPECT_EQ(daemon.status().ring_to_stopped.count, 3U);
    // A stop without a ring is no reaction.
    gpu.refuse = [](const test::Switch&) { return 0; };
    ASSERT_TRUE(daemon.change({1, 0}, batch, {.band = sched::Band::high}));
    gpu.submit(server, 1);
    pass(milliseconds{5});
    ASSERT_FALSE(gpu.held(batch));
    ASSERT_TRUE(daemon.change({1, 0}, batch, {.band = sched::Band::idle}));
    ASSERT_TRUE(gpu.held(batch));
    EXPECT_EQ(daemon.status().ring_to_switch.count, 4U);
}

TEST_F(DaemonTest, accounts_say_what_each_job_got_and_waited) {
    start_two();
    const sched::Account before = job(batch).account;
    gpu.submit(server, 1);
    pass(milliseconds{200});
    gpu.finish(server, 1);
    pass(milliseconds{200});
    const sched::Account after = job(batch).account;
    EXPECT_EQ(after.preemptions - before.preemptions, 3U); // and the ends of two floor turns
    EXPECT_EQ(after.known - before.known,
              (after.run - before.run) + (after.held - before.held)); // it always had work
    EXPECT_EQ(after.held - before.held, after.added_wait - before.added_wait);
    EXPECT_GE(after.held - before.held, milliseconds{180});
    EXPECT_LE(after.held - before.held, milliseconds{206});
    const sched::Account of_server = job(server).account;
    EXPECT_GE(of_server.run, milliseconds{200});
    EXPECT_LE(of_server.run, milliseconds{202});
    EXPECT_EQ(of_server.ready, of_server.run);
    EXPECT_EQ(of_server.held, milliseconds{0});
}

TEST_F(DaemonTest, highest_priority_runs_under_hpf) {
    start_two();
    ASSERT_TRUE(daemon.set_policy({1, 0}, "HPF"));
    gpu.submit(server, 1);
    pass(milliseconds{5});
    EXPECT_FALSE(gpu.held(batch)); // both have priority 0, whatever their bands
    ASSERT_TRUE(daemon.change({1, 0}, batch, {.priority = 1}));
    EXPECT_TRUE(gpu.held(server));
    ASSERT_TRUE(daemon.change({1, 0}, server, {.priority = 255}));
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_FALSE(gpu.held(server));
    EXPECT_EQ(job(server).attributes.priority, 255);
    Rules rules = test::rules_of_test();
    rules.policy_name = "HPF";
    rules.defaults.priority = -3;
    daemon.reload(rules);
    EXPECT_EQ(job(batch).attributes.priority, 1); // set by hand
}

TEST_F(DaemonTest, user_may_lower_his_own_priority_only) {
    add(batch, "/batch");
    gpu.running.at(batch).uid = 1000;
    daemon.start();
    const auto set = [&](uid_t uid, std::int32_t priority) {
        const Answer<void> answer = daemon.change({1, uid}, batch, {.priority = priority});
        return answer ? 0 : answer.error().error;
    };
    EXPECT_EQ(set(1000, -5), 0);
    EXPECT_EQ(set(1000, 0), 0);
    EXPECT_EQ(set(1000, 1), EPERM);
    EXPECT_EQ(set(0, 200), 0);
    EXPECT_EQ(daemon.change({1, 1000}, batch, {.weight = 50}).has_value(), true); // leaves it
    EXPECT_EQ(job(batch).attributes.priority, 200);
    EXPECT_EQ(set(1000, 201), EPERM);
    gpu.create_process(30, 1);
    EXPECT_EQ(daemon.adopt({30, 0}, {.priority = 5}).has_value(), true);
}

// One that calls in a loop must neither fill our memory nor make each call dearer.
TEST_F(DaemonTest, adopt_that_is_repeated_is_one_run) {
    start_two();
    for (pid_t pid = 1000; pid < 1100; ++pid) {
        gpu.create_process(pid, 1);
        ASSERT_TRUE(daemon.adopt({pid, 0}, {.band = sched::Band::high}));
    }
    gpu.create_process(30, 1);
    const std::uint64_t before = gpu.origins;
    for (int i = 0; i < 1000; ++i)
        ASSERT_TRUE(daemon.adopt({30, 0}, {.band = sched::Band::high}));
    ASSERT_TRUE(daemon.adopt({30, 0}, {.band = sched::Band::idle}));
    EXPECT_LE(gpu.origins - before, 1001U * 8);
    gpu.create_queue(30, 1);
    pass(milliseconds{150});
    EXPECT_EQ(job(30).attributes.band, sched::Band::idle); // the last word
}

// No queue stays stopped after random events. Many seeds.
TEST_F(DaemonTest, random_days_end_with_everything_running) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
        gpu.running.clear();
        pass(milliseconds{200});
        gpu.refuse = [&](const test::Switch&) { return draw(10) == 0 ? EBUSY : 0; };
        std::vector<pid_t> pids;
        pid_t next_pid = static_cast<pid_t>(1000 * seed);
        for (int step = 0; step < 400; ++step) {
            const pid_t pid = pids.empty() ? 0 : pids[draw(static_cast<unsigned>(pids.size()))];
            switch (draw(8)) {
            case 0:
                if (pids.size() < 8) {
                    add(++next_pid, draw(2) == 0 ? "/server" : "/batch");
                    pids.push_back(next_pid);
                }
                break;
            case 1:
                if (pid != 0 && draw(4) == 0) {
                    gpu.exit(pid);
                    std::erase(pids, pid);
                }
                break;
            case 2:
                if (pid != 0)
                    gpu.create_queue(pid, 2 + draw(3), 1 + draw(2), draw(4) != 0);
                break;
            case 3:
                if (pid != 0 && !gpu.held(pid))
                    gpu.finish(pid, 1);
                break;
            case 4:
                if (pid != 0)
                    gpu.ring(pid, 1);
                break;
            default:
                if (pid != 0)
                    gpu.submit(pid, 1);
            }
            pass(microseconds{draw(3000)});
            if (HasFatalFailure())
                return;
        }
        gpu.refuse = [](const test::Switch&) { return 0; };
        for (const auto& [pid, process] : gpu.running)
            for (const auto& [id, queue] : process.queues)
                gpu.finish(pid, id);
        pass(milliseconds{400});
        for (const auto& [pid, process] : gpu.running)
            for (const auto& [id, queue] : process.queues)
                EXPECT_FALSE(queue.held) << "pid " << pid << " queue " << id;
        EXPECT_EQ(daemon.status().ejected, "");
    }
}

} // namespace
