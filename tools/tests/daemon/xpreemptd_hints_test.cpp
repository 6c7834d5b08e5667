// SPDX-License-Identifier: MIT
// Hints of programs about their own jobs: their effects, how long they last, their bounds.
#include "daemon_fixture.hpp"
#include "scheduling/daemon.hpp"

#include <gtest/gtest.h>

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr pid_t server = 10, batch = 20;

class HintsTest : public testing::Test {
protected:
    HintsTest()
        : daemon(
              gpu, rules(), [this](pid_t pid) { return gpu.read_facts(pid); },
              [this](pid_t pid) { return gpu.origin(pid); }, [this] { return gpu.now; },
              [](LogLevel, const std::string&) {}) {
        add(server, "/server");
        add(batch, "/batch");
        daemon.start();
        gpu.submit(batch, 1);
        pass(milliseconds{50});
    }

    static Rules rules() {
        Rules rules;
        rules.parameters.bands = test::bands_of_test();
        Rule high;
        high.executable = "/server";
        high.set.band = sched::Band::high;
        Rule chooses;
        chooses.executable = "/chooses";
        chooses.owner_may_choose = sched::Band::high;
        chooses.owner_may_choose_priority = 7;
        rules.rules = {high, chooses};
        return rules;
    }
    void add(pid_t pid, const std::string& executable, uid_t uid = 0) {
        gpu.create_queue(pid, 1);
        gpu.running.at(pid).executable = executable;
        gpu.running.at(pid).cgroup = "/job" + std::to_string(pid);
        gpu.running.at(pid).uid = uid;
    }
    void pass(std::chrono::nanoseconds time) {
        const Time end = gpu.now + time;
        for (;;) {
            if (!gpu.events.empty())
                daemon.on_events();
            if (daemon.next() > end)
                break;
            gpu.now = std::max(gpu.now, daemon.next());
            daemon.on_time();
        }
        gpu.now = std::max(gpu.now, end);
    }
    // The errno of the refusal, or 0.
    int hint(const Hint& hint, pid_t pid = server, std::uint64_t connection = 1, uid_t uid = 0) {
        const Answer<void> answer = daemon.hint({pid, uid, connection}, hint);
        return answer ? 0 : answer.error().error;
    }
    [[nodiscard]] JobReport job(pid_t pid) const {
        for (const JobReport& report : daemon.jobs())
            if (std::ranges::find(report.pids, pid) != report.pids.end())
                return report;
        return {};
    }

    test::FakeProvider gpu;
    Daemon daemon;
};

TEST_F(HintsTest, announced_work_stops_the_other_job_before_it_comes) {
    EXPECT_EQ(hint(SoonHint{milliseconds{10}}), 0);
    EXPECT_TRUE(gpu.held(batch));
    pass(milliseconds{2});
    const std::uint64_t before = gpu.calls;
    gpu.submit(server, 1);
    pass(milliseconds{20}); // the announcement is over, the work isn't
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_EQ(gpu.calls, before);
}

TEST_F(HintsTest, announcement_lapses_and_the_next_waits_nine_times_as_long) {
    EXPECT_EQ(hint(SoonHint{milliseconds{10}}), 0);
    pass(milliseconds{9});
    EXPECT_TRUE(gpu.held(batch));
    pass(milliseconds{1});
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(hint(SoonHint{milliseconds{10}}), EAGAIN);
    pass(milliseconds{89});
    EXPECT_EQ(hint(SoonHint{milliseconds{10}}), EAGAIN);
    EXPECT_FALSE(gpu.held(batch));
    pass(milliseconds{1});
    EXPECT_EQ(hint(SoonHint{milliseconds{10}}), 0);
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(HintsTest, work_that_comes_lets_the_next_be_announced_at_once) {
    for (int request = 0; request < 5; ++request) {
        ASSERT_EQ(hint(SoonHint{milliseconds{10}}), 0);
        pass(milliseconds{5});
        gpu.submit(server, 1);
        pass(milliseconds{5});
        gpu.finish(server, 1);
        ASSERT_EQ(hint(EndHint{}), 0);
        EXPECT_FALSE(gpu.held(batch));
        pass(milliseconds{1});
    }
}

TEST_F(HintsTest, announcement_that_is_renewed_lasts_no_longer_than_the_longest) {
    for (int renewals = 0; renewals < 99; ++renewals) {
        ASSERT_EQ(hint(SoonHint{milliseconds{10}}), 0);
        // Then the floor lets it run beside.
        EXPECT_TRUE(gpu.held(batch) || renewals >= 90) << renewals;
        pass(milliseconds{1});
    }
    ASSERT_EQ(hint(SoonHint{milliseconds{10}}), 0);
    pass(milliseconds{1});
    EXPECT_FALSE(gpu.held(batch));
    pass(seconds{1} - milliseconds{200});
    EXPECT_EQ(hint(SoonHint{milliseconds{10}}), EAGAIN);
}

// Against a job that sends any hints but no work, the others have the GPU nine tenths of the time.
TEST_F(HintsTest, job_that_only_announces_wastes_a_tenth_of_the_gpu) {
    int held = 0;
    for (int turn = 0; turn < 4000; ++turn) {
        const std::uint64_t connection = 1 + static_cast<std::uint64_t>(turn);
        (void)hint(SoonHint{milliseconds{1 + turn % 100}}, server, connection);
        pass(milliseconds{1});
        if (turn % 3 == 0)
            daemon.forget(connection);
        if (turn % 7 == 0)
            (void)hint(EndHint{}, server, connection);
        held += gpu.held(batch) ? 1 : 0;
    }
    EXPECT_GT(held, 100);
    EXPECT_LT(held, 440);
}

TEST_F(HintsTest, end_resumes_the_other_job_at_once) {
    EXPECT_EQ(hint(BeginHint{}), 0);
    gpu.submit(server, 1);
    pass(milliseconds{20});
    ASSERT_TRUE(gpu.held(batch));
    gpu.finish(server, 1); // no poll has seen it
    EXPECT_EQ(hint(EndHint{}), 0);
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(job(server).state, JobState::idle);
}

TEST_F(HintsTest, end_before_the_work_is_done_saves_the_grace) {
    gpu.submit(server, 1);
    pass(milliseconds{20});
    EXPECT_EQ(hint(EndHint{}), 0);
    EXPECT_TRUE(gpu.held(batch));
    gpu.finish(server, 1);
    pass(milliseconds{2}); // a poll
    EXPECT_FALSE(gpu.held(batch));
}

// The event of the ring waits in the watch while the hint comes by the socket.
TEST_F(HintsTest, work_that_was_submitted_before_the_end_belongs_to_it) {
    gpu.submit(server, 1);
    EXPECT_EQ(hint(EndHint{}), 0);
    EXPECT_TRUE(gpu.held(batch));
    gpu.finish(server, 1);
    pass(milliseconds{2});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(HintsTest, next_work_has_its_grace_again) {
    EXPECT_EQ(hint(EndHint{}), 0);
    gpu.submit(server, 1);
    pass(milliseconds{20});
    gpu.finish(server, 1);
    pass(milliseconds{4});
    EXPECT_TRUE(gpu.held(batch));
    pass(milliseconds{4});
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(HintsTest, end_of_one_request_leaves_that_of_another_connection) {
    EXPECT_EQ(hint(BeginHint{}, server, 1), 0);
    EXPECT_EQ(hint(BeginHint{}, server, 2), 0);
    gpu.submit(server, 1);
    pass(milliseconds{20});
    gpu.finish(server, 1);
    EXPECT_EQ(hint(EndHint{}, server, 1), 0);
    EXPECT_TRUE(gpu.held(batch));
    daemon.forget(2); // its request ends with it
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(HintsTest, hints_end_with_their_connection) {
    EXPECT_EQ(hint(SoonHint{milliseconds{50}}, server, 1), 0);
    EXPECT_TRUE(gpu.held(batch));
    daemon.forget(2);
    EXPECT_TRUE(gpu.held(batch));
    daemon.forget(1);
    EXPECT_FALSE(gpu.held(batch));

    EXPECT_EQ(hint(BandHint{sched::Band::realtime}, batch, 3), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::realtime);
    daemon.forget(3);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::normal);
}

TEST_F(HintsTest, concern_the_job_of_the_caller_only) {
    EXPECT_EQ(hint(SoonHint{milliseconds{50}}, batch), 0);
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_FALSE(gpu.held(server));
    EXPECT_EQ(hint(SoonHint{milliseconds{50}}, 99), ESRCH); // no such process
    gpu.create_process(30, 1);
    EXPECT_EQ(hint(SoonHint{milliseconds{50}}, 30), ESRCH); // no job
    EXPECT_EQ(hint(SoonHint{milliseconds{50}}, server, 1, 1000), EPERM);
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(HintsTest, are_bounded_a_second) {
    int taken = 0;
    for (int i = 0; i < 1000; ++i)
        taken += hint(BeginHint{}) == 0 ? 1 : 0;
    EXPECT_EQ(taken, 101);
    pass(milliseconds{50});
    for (int i = 0; i < 1000; ++i)
        taken += hint(BeginHint{}) == 0 ? 1 : 0;
    EXPECT_EQ(taken, 151);
    EXPECT_EQ(hint(BeginHint{}, batch, 2), 0); // another job's
}

TEST_F(HintsTest, band_is_one_that_the_owner_may_choose) {
    add(30, "/chooses", 1000);
    add(40, "/batch", 1000);
    pass(milliseconds{150});
    const auto choose = [&](pid_t pid, sched::Band band) {
        return hint(BandHint{band}, pid, static_cast<std::uint64_t>(pid), 1000);
    };
    EXPECT_EQ(choose(30, sched::Band::high), 0);
    EXPECT_EQ(job(30).attributes.band, sched::Band::high);
    EXPECT_EQ(choose(30, sched::Band::realtime), EPERM);
    EXPECT_EQ(job(30).attributes.band, sched::Band::high);
    EXPECT_EQ(choose(40, sched::Band::high), EPERM);
    EXPECT_EQ(choose(40, sched::Band::idle), 0);
    EXPECT_EQ(job(40).attributes.band, sched::Band::idle);
    EXPECT_EQ(hint(BandHint{}, 40, 40, 1000), 0);
    EXPECT_EQ(job(40).attributes.band, sched::Band::normal);
    gpu.submit(30, 1);
    pass(milliseconds{10});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(HintsTest, of_several_bands_the_highest_holds) {
    EXPECT_EQ(hint(BandHint{sched::Band::idle}, batch, 1), 0);
    EXPECT_EQ(hint(BandHint{sched::Band::high}, batch, 2), 0);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::high);
    daemon.forget(2);
    EXPECT_EQ(job(batch).attributes.band, sched::Band::idle);
}

TEST_F(HintsTest, priorities_decide_under_hpf) {
    add(30, "/chooses", 1000);
    add(40, "/batch", 1000);
    ASSERT_TRUE(daemon.set_policy({1, 0}, "HPF"));
    pass(milliseconds{150});
    EXPECT_EQ(hint(PriorityHint{7}, 30, 1, 1000), 0);
    EXPECT_EQ(hint(PriorityHint{8}, 30, 1, 1000), EPERM);
    EXPECT_EQ(hint(PriorityHint{7}, 40, 2, 1000), EPERM);
    EXPECT_EQ(hint(PriorityHint{-7}, 40, 2, 1000), 0);
    gpu.submit(30, 1);
    gpu.submit(40, 1);
    pass(milliseconds{50});
    EXPECT_FALSE(gpu.held(30));
    EXPECT_TRUE(gpu.held(40));
    EXPECT_TRUE(gpu.held(batch));
    gpu.finish(30, 1);
    pass(milliseconds{50});
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_TRUE(gpu.held(40));
}

TEST_F(HintsTest, attributes_are_those_that_the_owner_may_choose) {
    add(30, "/chooses", 1000);
    pass(milliseconds{150});
    const auto choose = [&](const AttributeChange& change) {
        return hint(AttributesHint{change}, 30, 1, 1000);
    };
    const auto before = job(30).attributes;
    EXPECT_EQ(choose({.deadline = 1us}), EPERM);
    EXPECT_EQ(choose({.weight = 10000}), EPERM);
    EXPECT_EQ(job(30).attributes, before);
    EXPECT_EQ(choose({.weight = 5, .utilization = 30}), 0);
    EXPECT_EQ(job(30).attributes.weight, 5U);
    EXPECT_EQ(job(30).attributes.utilization, 30U);
    EXPECT_EQ(choose({.weight = 6}), 0);
    EXPECT_EQ(job(30).attributes.weight, 6U);
    EXPECT_EQ(job(30).attributes.utilization, before.utilization) << "it was left out";
    daemon.forget(1);
    EXPECT_EQ(job(30).attributes, before);
}

TEST_F(HintsTest, attributes_that_the_owner_may_choose_count_beside_rejected_ones) {
    add(30, "/chooses", 1000);
    pass(milliseconds{150});
    const auto choose = [&](const AttributeChange& change) {
        return daemon.hint({30, 1000, 1}, AttributesHint{change});
    };
    const auto before = job(30).attributes;
    const auto answer = choose({.weight = 10000, .deadline = 1us, .utilization = 30});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().error, EPERM);
    EXPECT_EQ(answer.error().text.rfind("weight 10000", 0), 0U) << answer.error().text;
    EXPECT_EQ(job(30).attributes.weight, before.weight);
    EXPECT_EQ(job(30).attributes.deadline, before.deadline);
    EXPECT_EQ(job(30).attributes.utilization, 30U);
    EXPECT_FALSE(choose({.deadline = 1us}));
    EXPECT_EQ(job(30).attributes, before) << "the utilization was left out";
}

TEST_F(HintsTest, attributes_before_the_first_queue_count_beside_rejected_ones) {
    gpu.running[30].executable = "/chooses";
    gpu.running[30].cgroup = "/job30";
    gpu.running[30].uid = 1000;
    EXPECT_EQ(hint(AttributesHint{{.deadline = 1us, .utilization = 30}}, 30, 1, 1000), EPERM);
    gpu.running.erase(30);
    add(30, "/chooses", 1000);
    pass(milliseconds{150});
    EXPECT_EQ(job(30).attributes.deadline, std::nullopt);
    EXPECT_EQ(job(30).attributes.utilization, 30U);
}

TEST_F(HintsTest, of_several_attributes_the_strongest_holds_beside_band_and_priority) {
    const auto hinted = [&] { return job(batch).attributes; };
    EXPECT_EQ(hint(BandHint{sched::Band::idle}, batch, 1), 0);
    EXPECT_EQ(hint(AttributesHint{{.weight = 50, .deadline = 30us, .lax = 9us}}, batch, 1), 0);
    EXPECT_EQ(hint(AttributesHint{{.weight = 70, .deadline = 40us}}, batch, 2), 0);
    EXPECT_EQ(hinted().band, sched::Band::idle);
    EXPECT_EQ(hinted().weight, 70U);
    EXPECT_EQ(hinted().deadline, 30us);
    EXPECT_EQ(hinted().lax, 9us);
    ASSERT_TRUE(daemon.change({1, 0}, JobSelector{batch}, {.weight = 60}));
    EXPECT_EQ(hinted().weight, 50U) << "root chose less than 70";
    daemon.forget(1);
    EXPECT_EQ(hinted().weight, 60U);
    EXPECT_EQ(hinted().deadline, 40us);
}

// Both have work, and the policy sees the deadline of the hint.
TEST_F(HintsTest, deadlines_decide_under_k_edf) {
    add(30, "/batch");
    ASSERT_TRUE(daemon.set_policy({1, 0}, "K-EDF"));
    pass(milliseconds{150});
    EXPECT_EQ(hint(AttributesHint{{.deadline = 20ms}}, 30, 1), 0);
    gpu.submit(30, 1);
    pass(milliseconds{50});
    EXPECT_FALSE(gpu.held(30));
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(HintsTest, band_that_is_set_before_the_first_queue_counts_from_then_on) {
    gpu.create_process(30, 1);
    EXPECT_EQ(hint(BandHint{sched::Band::high}, 30, 1), 0);
    EXPECT_EQ(hint(PriorityHint{9}, 30, 1), 0);
    gpu.create_process(31, 1);
    EXPECT_EQ(hint(BandHint{sched::Band::high}, 31, 2), 0);
    daemon.forget(2);
    add(30, "/batch");
    add(31, "/batch");
    pass(milliseconds{150});
    EXPECT_EQ(job(30).attributes.band, sched::Band::high);
    EXPECT_EQ(job(30).attributes.priority, 9);
    EXPECT_EQ(job(31).attributes.band, sched::Band::normal);
    daemon.forget(1);
    EXPECT_EQ(job(30).attributes.band, sched::Band::normal);
}

// A server of language models hints before it starts the workers that have the queues.
TEST_F(HintsTest, band_of_a_launcher_is_that_of_its_workers) {
    gpu.running[30].cgroup = "/job30";
    EXPECT_EQ(hint(BandHint{sched::Band::high}, 30, 1), 0);
    gpu.running.erase(30);
    gpu.create_process(30, 1); // without queues
    add(31, "/batch");
    gpu.running.at(31).cgroup = "/job30";
    pass(milliseconds{150});
    EXPECT_EQ(job(31).attributes.band, sched::Band::high);
    gpu.exit(31);
    pass(milliseconds{150});
    add(32, "/batch"); // the worker was started again
    gpu.running.at(32).cgroup = "/job30";
    pass(milliseconds{150});
    EXPECT_EQ(job(32).attributes.band, sched::Band::high);
    daemon.forget(1);
    EXPECT_EQ(job(32).attributes.band, sched::Band::normal);
}

// A launcher may move itself into the cgroup of its workers, as those of batch systems do.
TEST_F(HintsTest, band_of_a_launcher_follows_it_into_another_cgroup) {
    gpu.running[30].cgroup = "/before";
    EXPECT_EQ(hint(BandHint{sched::Band::high}, 30, 1), 0);
    EXPECT_EQ(hint(PriorityHint{9}, 30, 1), 0);
    gpu.running.erase(30); // it has no queues
    add(31, "/batch");
    pass(milliseconds{150});
    ASSERT_EQ(job(31).attributes.band, sched::Band::normal);
    gpu.running[30].cgroup = "/job31";
    EXPECT_EQ(hint(BeginHint{}, 30, 1), 0);
    EXPECT_EQ(job(31).attributes.band, sched::Band::high);
    EXPECT_EQ(job(31).attributes.priority, 9);
}

TEST_F(HintsTest, band_outlives_the_next_hint_of_its_connection) {
    gpu.running[30].cgroup = "/job30";
    EXPECT_EQ(hint(BandHint{sched::Band::high}, 30, 1), 0);
    gpu.create_queue(30, 1);
    gpu.running.at(30).executable = "/batch";
    pass(milliseconds{150});
    EXPECT_EQ(hint(BeginHint{}, 30, 1), 0);
    EXPECT_EQ(job(30).attributes.band, sched::Band::high);
}

TEST_F(HintsTest, job_without_queues_any_more_takes_its_hints_along) {
    EXPECT_EQ(hint(SoonHint{milliseconds{100}}), 0);
    EXPECT_TRUE(gpu.held(batch));
    gpu.exit(server);
    pass(milliseconds{1});
    EXPECT_FALSE(gpu.held(batch));
    daemon.forget(1);
    EXPECT_FALSE(gpu.held(batch));
}

// Each file costs microseconds, also of a caller that hints in a loop.
TEST_F(HintsTest, cost_no_file_of_proc_after_the_first_of_a_connection) {
    ASSERT_EQ(hint(BeginHint{}), 0);
    const std::uint64_t before = gpu.facts_read + gpu.origins;
    for (int i = 0; i < 50; ++i)
        (void)hint(BeginHint{});
    EXPECT_EQ(gpu.facts_read + gpu.origins, before);
    gpu.exit(server);
    pass(milliseconds{150});
    EXPECT_EQ(hint(BeginHint{}), ESRCH); // its job has ended
}

// Facts and up to 256 ancestors are files of /proc.
TEST_F(HintsTest, of_a_process_without_queues_cost_a_bounded_number_of_files) {
    for (pid_t pid = 30; pid < 130; ++pid)
        gpu.create_process(pid, pid - 1);
    constexpr pid_t last = 129;
    const auto read = [this] { return gpu.facts_read + gpu.origins; };
    const std::uint64_t before = read();
    ASSERT_EQ(hint(BeginHint{}, last, 7), ESRCH);
    const std::uint64_t once = read() - before;
    EXPECT_GT(once, 90U);
    EXPECT_LT(once, 110U) << "the ancestors are visited once";
    ASSERT_EQ(hint(BandHint{sched::Band::idle}, last, 7), 0);
    for (int i = 0; i < 1000; ++i)
        (void)hint(BeginHint{}, last, 7);
    EXPECT_LE(read() - before, 12 * once);
    EXPECT_EQ(hint(BeginHint{}, last, 7), EAGAIN);
    EXPECT_EQ(hint(BandHint{sched::Band::normal}, last, 7), EAGAIN);
    EXPECT_EQ(hint(BeginHint{}, last, 8), ESRCH) << "other connections have their own";
    pass(milliseconds{100});
    EXPECT_EQ(hint(BeginHint{}, last, 7), ESRCH);
    // The hint that was kept is in force.
    add(last, "/batch");
    pass(milliseconds{150});
    EXPECT_EQ(job(last).attributes.band, sched::Band::idle);
    EXPECT_EQ(hint(BeginHint{}, last, 7), 0);
}

// Else a connection for each hint would make the bound of one none.
TEST_F(HintsTest, of_new_connections_of_a_user_cost_a_bounded_number_of_files) {
    constexpr uid_t user = 1000;
    gpu.waiting_uid = user;
    for (pid_t pid = 30; pid < 130; ++pid)
        gpu.create_process(pid, pid - 1);
    constexpr pid_t last = 129;
    std::uint64_t connection = 100;
    const auto reconnect_and_hint = [&](uid_t uid) {
        gpu.waiting_uid = uid;
        const int error = hint(BeginHint{}, last, ++connection, uid);
        daemon.forget(connection);
        return error;
    };
    const auto read = [this] { return gpu.facts_read + gpu.origins; };
    const std::uint64_t before = read();
    ASSERT_EQ(reconnect_and_hint(user), ESRCH);
    const std::uint64_t once = read() - before;
    for (int i = 0; i < 1000; ++i)
        (void)reconnect_and_hint(user);
    EXPECT_LE(read() - before, 12 * once);
    EXPECT_EQ(reconnect_and_hint(user), EAGAIN);
    EXPECT_EQ(reconnect_and_hint(user + 1), ESRCH) << "others have their own";
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(reconnect_and_hint(0), ESRCH) << "each connection of root has its own";
    pass(milliseconds{100});
    EXPECT_EQ(reconnect_and_hint(user), ESRCH);
}

} // namespace
