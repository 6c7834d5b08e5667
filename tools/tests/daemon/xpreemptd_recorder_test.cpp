// SPDX-License-Identifier: MIT
// Records of the daemon for a trace: each stop and resume, its cause, and phases that add up.
#include "daemon_fixture.hpp"

#include <map>

namespace {

using namespace xpreemptd;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::batch;
using test::server;

class RecorderTest : public test::DaemonFixture {
protected:
    void SetUp() override {
        start_two();
        from = daemon.trace(std::nullopt).next;
    }
    // Records since the last call.
    std::vector<ShownRecord> records() {
        std::vector<ShownRecord> all;
        for (;;) {
            const TracePage page = daemon.trace(from);
            EXPECT_EQ(page.lost, 0U);
            if (page.records.empty())
                return all;
            from = page.next;
            all.insert(all.end(), page.records.begin(), page.records.end());
        }
    }
    [[nodiscard]] std::uint64_t id(pid_t pid) const { return job(pid).id; }

    std::uint64_t from = 0;
};

TEST_F(RecorderTest, a_ring_a_stop_and_two_phases) {
    const nanoseconds begin = gpu.now.time_since_epoch();
    gpu.create_queue(batch, 2);
    pass(milliseconds{50});
    (void)records();
    gpu.submit(server, 1);
    gpu.change_takes = microseconds{300};
    events();
    const auto seen = records();
    ASSERT_EQ(seen.size(), 4U);
    const nanoseconds called = seen[1].record.at;
    EXPECT_EQ(seen[0].record, (TraceRecord{.at = seen[0].record.at,
                                           .what = Happening::decision,
                                           .job = id(server),
                                           .cause = Cause::ring}));
    EXPECT_EQ(seen[1].record, (TraceRecord{.at = called,
                                           .what = Happening::stop,
                                           .job = id(batch),
                                           .for_job = id(server),
                                           .queues = 2,
                                           .took = microseconds{300}}));
    std::map<std::uint64_t, Phase> phases;
    for (const std::size_t i : {2U, 3U}) {
        EXPECT_EQ(seen[i].record.what, Happening::phase);
        EXPECT_EQ(seen[i].record.at, called + microseconds{300});
        EXPECT_EQ(seen[i].gpu_ids, (std::vector<std::uint32_t>{1}));
        phases[seen[i].record.job] = seen[i].record.phase;
    }
    EXPECT_EQ(phases, (std::map<std::uint64_t, Phase>{{id(server), Phase::running},
                                                      {id(batch), Phase::waiting}}));
    EXPECT_GE(seen[0].record.at, begin);
}

std::vector<std::uint64_t> stopped_for(const std::vector<ShownRecord>& records) {
    std::vector<std::uint64_t> jobs;
    for (const ShownRecord& shown : records)
        if (shown.record.what == Happening::stop)
            jobs.push_back(shown.record.for_job);
    return jobs;
}

TEST_F(RecorderTest, a_stop_is_for_the_job_that_a_hint_has_put_first) {
    constexpr pid_t second = 30;
    add(second, "/server");
    pass(milliseconds{200});
    ASSERT_TRUE(daemon.hint({second, 0, 1}, PriorityHint{5}));
    (void)records();
    gpu.submit(server, 1);
    gpu.submit(second, 1);
    events();
    EXPECT_EQ(stopped_for(records()), std::vector{id(second)});
}

TEST_F(RecorderTest, a_stop_is_for_the_job_that_has_announced_work) {
    ASSERT_TRUE(daemon.hint({server, 0, 1}, SoonHint{milliseconds{10}}));
    EXPECT_EQ(stopped_for(records()), std::vector{id(server)});
}

TEST_F(RecorderTest, decisions_have_their_causes) {
    const auto causes = [&] {
        std::vector<Cause> all;
        for (const ShownRecord& shown : records())
            if (shown.record.what == Happening::decision)
                all.push_back(shown.record.cause);
        return all;
    };
    gpu.submit(server, 1);
    events();
    EXPECT_EQ(causes(), std::vector{Cause::ring});
    gpu.finish(server, 1);
    pass(milliseconds{2});
    EXPECT_EQ(causes(), std::vector{Cause::poll}); // the server is idle
    pass(milliseconds{10});
    EXPECT_EQ(causes(), std::vector{Cause::timer}); // the grace is over
    ASSERT_TRUE(daemon.change({1, 0}, batch, {.band = sched::Band::realtime}));
    ASSERT_TRUE(daemon.change({1, 0}, server, {.band = sched::Band::idle}));
    EXPECT_EQ(causes(), std::vector<Cause>{}); // changed nothing
    gpu.submit(server, 1);
    events();
    EXPECT_EQ(causes(), std::vector{Cause::ring});
    ASSERT_TRUE(daemon.change({1, 0}, server, {.band = sched::Band::realtime}));
    EXPECT_EQ(causes(), std::vector{Cause::request});
    ASSERT_TRUE(daemon.change({1, 0}, batch, {.band = sched::Band::idle}));
    EXPECT_EQ(causes(), std::vector{Cause::request});
    daemon.reload(test::rules_of_test());
    ASSERT_TRUE(daemon.set_policy({1, 0}, "HPF"));
    EXPECT_EQ(causes(), std::vector{Cause::policy});
    gpu.exit(server);
    events();
    EXPECT_EQ(causes(), std::vector{Cause::change});
}

TEST_F(RecorderTest, a_stop_that_fails_is_counted) {
    gpu.refuse = [](const test::Switch& wanted) {
        return wanted.change == Change::stop ? EBUSY : 0;
    };
    gpu.submit(server, 1);
    events();
    const auto seen = records();
    ASSERT_GE(seen.size(), 2U);
    EXPECT_EQ(seen[1].record.what, Happening::stop);
    EXPECT_EQ(seen[1].record.failed, 1U);
    for (const ShownRecord& shown : seen)
        EXPECT_NE(shown.record.phase, Phase::waiting);
}

TEST_F(RecorderTest, nothing_that_changes_leaves_no_record) {
    (void)records();
    pass(std::chrono::seconds{5}); // fifty scans
    EXPECT_TRUE(records().empty());
}

TEST_F(RecorderTest, phases_say_who_holds_and_end_with_the_job) {
    const auto last_phase = [&](std::uint64_t job) {
        std::optional<Phase> phase;
        for (const ShownRecord& shown : records())
            if (shown.record.what == Happening::phase && shown.record.job == job)
                phase = shown.record.phase;
        return phase;
    };
    const std::uint64_t of_batch = id(batch);
    gpu.running.at(batch).queues.at(1).held_by_other = true;
    pass(milliseconds{150});
    EXPECT_EQ(last_phase(of_batch), Phase::held);
    gpu.running.at(batch).queues.at(1).held_by_other = false;
    pass(milliseconds{150});
    EXPECT_EQ(last_phase(of_batch), Phase::running);
    gpu.finish(batch, 1);
    pass(milliseconds{50});
    EXPECT_EQ(last_phase(of_batch), Phase::idle);
    gpu.exit(batch);
    events();
    EXPECT_EQ(last_phase(of_batch), Phase::gone);
}

// The sum of a job's slices is what its account says.
TEST_F(RecorderTest, phases_add_up_to_the_accounts) {
    const std::uint64_t of_batch = id(batch);
    const sched::Account before = job(batch).account;
    nanoseconds waited{0}, since = gpu.now.time_since_epoch();
    Phase phase = Phase::running;
    for (int request = 0; request < 20; ++request) {
        gpu.submit(server, 1);
        pass(milliseconds{7});
        gpu.finish(server, 1);
        pass(milliseconds{13});
    }
    pass(milliseconds{200});
    for (const ShownRecord& shown : records()) {
        if (shown.record.what != Happening::phase || shown.record.job != of_batch)
            continue;
        if (phase == Phase::waiting)
            waited += shown.record.at - since;
        phase = shown.record.phase;
        since = shown.record.at;
    }
    EXPECT_EQ(waited, job(batch).account.added_wait - before.added_wait);
    EXPECT_GE(waited, milliseconds{20 * 7});
}

TEST_F(RecorderTest, a_late_reader_learns_what_it_lost) {
    const std::uint64_t first = from;
    for (std::size_t request = 0; request < Recorder::default_capacity / 4; ++request) {
        gpu.submit(server, 1);
        events();
        gpu.finish(server, 1);
        pass(milliseconds{10});
    }
    const std::uint64_t next = daemon.trace(std::nullopt).next;
    ASSERT_GT(next, first + Recorder::default_capacity);
    const TracePage page = daemon.trace(first);
    EXPECT_EQ(page.lost, next - first - Recorder::default_capacity);
    EXPECT_EQ(page.first, first + page.lost);
    nanoseconds last{0};
    for (from = page.first; from < next;)
        for (const ShownRecord& shown : records()) {
            EXPECT_GE(shown.record.at, last);
            last = shown.record.at;
        }
    const TracePage of_another_daemon = daemon.trace(next + 1000);
    EXPECT_EQ(of_another_daemon.next, next);
    EXPECT_TRUE(of_another_daemon.records.empty());
}

} // namespace
