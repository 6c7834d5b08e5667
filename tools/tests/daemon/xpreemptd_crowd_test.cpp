// SPDX-License-Identifier: MIT
// The daemon and crowds of processes and queues: the cost of a turn of the loop, in calls or CPU
// time.
#include "daemon_fixture.hpp"
#include "scheduling/plugin_watch.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace {

using namespace xpreemptd;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::batch;
using DaemonTest = test::DaemonFixture;
using test::server;

// Calls of the driver and of /proc take 50 us each here.
class CrowdTest : public DaemonTest {
protected:
    static constexpr pid_t crowd = 500;

    CrowdTest() {
        gpu.read_takes = gpu.description_takes = gpu.facts_take = cost;
        add(server, "/server");
        daemon.start();
        while (!gpu.running.at(server).armed)
            pass(milliseconds{1});
    }
    // In one cgroup, as the workers of a job are.
    void add_crowd(std::uint64_t packets) {
        for (pid_t pid = 1000; pid < 1000 + crowd; ++pid) {
            add(pid, "/batch");
            gpu.running.at(pid).cgroup = "/crowd";
            gpu.running.at(pid).queues.at(1).packets = packets;
        }
    }
    // As pass(), but gives the calls of the longest turn.
    std::uint64_t pass_in_turns(std::chrono::nanoseconds time) {
        std::uint64_t most = 0;
        const Time end = gpu.now + time;
        while (gpu.now < end) {
            const std::uint64_t before = gpu.dear_calls();
            if (!gpu.events.empty())
                daemon.on_events();
            else
                gpu.now = std::max(gpu.now, daemon.next());
            if (gpu.now >= daemon.next())
                daemon.on_time();
            most = std::max(most, gpu.dear_calls() - before);
        }
        return most;
    }
    [[nodiscard]] std::size_t known() const { return job(1000).pids.size(); }

    static constexpr microseconds cost{50};
    // Two turns of `longest`, events and a poll, and one process beyond each.
    static constexpr std::uint64_t most_calls = 2 * (Sensing::longest / cost + 5);
};

TEST_F(CrowdTest, processes_that_come_at_once_are_taken_in_turns) {
    add_crowd(1);
    EXPECT_LE(pass_in_turns(milliseconds{200}), most_calls);
    EXPECT_GT(known(), 10U);
    EXPECT_LE(pass_in_turns(seconds{3}), most_calls);
    EXPECT_EQ(known(), static_cast<std::size_t>(crowd));
}

// xpreemptd(8) promises it.
TEST_F(CrowdTest, processes_that_come_take_a_fifth_of_a_cpu) {
    add_crowd(0);
    while (known() == 0) // the next scan
        (void)pass_in_turns(milliseconds{1});
    const Time begin = gpu.now;
    const std::uint64_t before = gpu.dear_calls();
    while (known() < static_cast<std::size_t>(crowd))
        (void)pass_in_turns(milliseconds{1});
    const auto busy = (gpu.dear_calls() - before) * cost;
    // The rest after the last turn is not in it.
    EXPECT_LE(5 * busy, gpu.now - begin + 5 * Sensing::longest);
    EXPECT_GE(6 * busy, gpu.now - begin);
}

TEST_F(CrowdTest, ring_is_seen_while_a_crowd_comes) {
    add_crowd(1);
    (void)pass_in_turns(milliseconds{300});
    ASSERT_LT(known(), static_cast<std::size_t>(crowd));
    gpu.submit(server, 1);
    const std::uint64_t before = gpu.dear_calls();
    daemon.on_events();
    EXPECT_LE(gpu.dear_calls() - before, 3U);
    EXPECT_TRUE(gpu.held(1000));
    // Those that come later are stopped as they come. The floor lets them run at times.
    const auto all_held = [&] {
        for (pid_t pid = 1000; pid < 1000 + crowd; ++pid)
            if (!gpu.held(pid))
                return false;
        return true;
    };
    for (int ms = 0; ms < 5000 && !all_held(); ++ms)
        (void)pass_in_turns(milliseconds{1});
    EXPECT_TRUE(all_held());
}

TEST_F(CrowdTest, cost_of_a_process_does_not_grow_with_their_number) {
    add_crowd(0);
    const std::uint64_t before = gpu.dear_calls();
    (void)pass_in_turns(seconds{3});
    ASSERT_EQ(known(), static_cast<std::size_t>(crowd));
    EXPECT_LE(gpu.dear_calls() - before, 8U * crowd);
}

// The fastest of several measurements would hide a cost that all but one of them have.
std::chrono::nanoseconds median(std::vector<std::chrono::nanoseconds> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
}

// CPU time of a page of ten jobs.
std::chrono::nanoseconds time_of_a_page(const Daemon& daemon) {
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 31; ++i) {
        const auto begin = thread_cpu_time();
        EXPECT_EQ(daemon.jobs(0, 10).size(), 10U);
        times.push_back(thread_cpu_time() - begin);
    }
    return median(std::move(times));
}

// Any user may ask for a page, and nothing is scheduled meanwhile.
TEST_F(CrowdTest, page_of_jobs_costs_no_more_in_a_crowd) {
    const auto jobs_of = [&](pid_t begin, pid_t end) {
        for (pid_t pid = begin; pid < end; ++pid)
            add(pid, "/batch");
        (void)pass_in_turns(seconds{3});
        ASSERT_EQ(daemon.jobs().size(), static_cast<std::size_t>(end - 1000) + 1);
    };
    jobs_of(1000, 1020);
    const auto among_few = time_of_a_page(daemon);
    jobs_of(1020, 1000 + crowd);
    EXPECT_LT(time_of_a_page(daemon), 5 * among_few);
}

TEST_F(CrowdTest, busy_crowd_is_polled_in_turns_and_its_end_is_seen) {
    add_crowd(1);
    (void)pass_in_turns(seconds{3});
    EXPECT_LE(pass_in_turns(seconds{1}), most_calls);
    for (pid_t pid = 1000; pid < 1000 + crowd; ++pid)
        gpu.finish(pid, 1);
    EXPECT_LE(pass_in_turns(seconds{2}), most_calls);
    EXPECT_EQ(job(1000).state, JobState::idle);
}

TEST_F(CrowdTest, crowd_without_a_watch_is_polled_in_turns) {
    gpu.has_watch = false;
    add_crowd(1);
    (void)pass_in_turns(seconds{10});
    EXPECT_EQ(known(), static_cast<std::size_t>(crowd));
    EXPECT_LE(pass_in_turns(seconds{1}), most_calls);
}

// xpreemptd(8) promises it. Calls of the driver take 10 us here.
TEST_F(DaemonTest, thousands_of_busy_jobs_that_come_at_once_are_known_within_seconds) {
    constexpr pid_t jobs = 4096;
    gpu.read_takes = gpu.description_takes = microseconds{10};
    gpu.facts_take = microseconds{50};
    add(server, "/server");
    daemon.start();
    pass(seconds{1});
    for (pid_t pid = 1000; pid < 1000 + jobs; ++pid) {
        add(pid, "/batch");
        gpu.running.at(pid).queues.at(1).packets = 1;
    }
    const Time begin = gpu.now;
    const auto facts = gpu.facts_read;
    while (gpu.facts_read - facts < jobs && gpu.now < begin + seconds{100}) {
        if (!gpu.events.empty())
            daemon.on_events();
        gpu.now = std::max(gpu.now, daemon.next());
        daemon.on_time();
    }
    EXPECT_LE(gpu.now, begin + seconds{3});
    EXPECT_EQ(daemon.jobs().size(), static_cast<std::size_t>(jobs) + 1);
}

TEST_F(DaemonTest, report_of_a_job_counts_the_queues_that_run_waves_on_each_gpu) {
    add(batch, "/batch");
    gpu.create_queue(batch, 2, 1);
    gpu.create_queue(batch, 3, 1, false);
    gpu.create_queue(batch, 4, 2, false);
    daemon.start();
    EXPECT_EQ(job(batch).queues, 4U);
    EXPECT_EQ(job(batch).gpu_ids, (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(job(batch).compute_queues, (std::vector<std::uint64_t>{2, 0}));
}

// A server and busy jobs, which each request of the server stops.
class BusyCrowd {
public:
    explicit BusyCrowd(pid_t jobs) : last_(first + jobs - 1) {
        for (pid_t pid = first; pid <= last_; ++pid) {
            add(pid, "/batch");
            gpu_.running.at(pid).queues.at(1).packets = 1;
        }
        add(server_, "/server"); // behind the others, so that a search for it visits all of them
        daemon_.start();
        // No longer than needed: in each second of the GPU it reads all of them a thousand times.
        for (int tries = 0; tries < 100 && known() <= jobs; ++tries)
            pass(milliseconds{50});
        EXPECT_EQ(known(), jobs + 1);
    }
    // CPU time of the decision that stops all jobs, without that of the driver.
    std::chrono::nanoseconds time_of_a_decision() {
        gpu_.submit(server_, 1);
        gpu_.cpu_of_changes = {};
        const auto begin = thread_cpu_time();
        daemon_.on_events();
        const auto took = thread_cpu_time() - begin - gpu_.cpu_of_changes;
        EXPECT_TRUE(gpu_.held(first) && gpu_.held(last_));
        gpu_.finish(server_, 1);
        pass(milliseconds{20});
        EXPECT_FALSE(gpu_.held(first) || gpu_.held(last_));
        return took;
    }

private:
    [[nodiscard]] pid_t known() const { return static_cast<pid_t>(daemon_.jobs().size()); }
    void add(pid_t pid, const std::string& executable) {
        gpu_.create_queue(pid, 1);
        gpu_.running.at(pid).executable = executable;
        gpu_.running.at(pid).cgroup = "/job" + std::to_string(pid);
    }
    void pass(std::chrono::nanoseconds time) {
        for (const Time end = gpu_.now + time; gpu_.now < end;) {
            if (!gpu_.events.empty())
                daemon_.on_events();
            if (gpu_.now >= daemon_.next())
                daemon_.on_time();
            gpu_.now = std::min(std::max(gpu_.now, daemon_.next()), end);
        }
    }

    static constexpr pid_t first = 1000;
    pid_t last_, server_ = last_ + 1;
    test::FakeProvider gpu_;
    std::vector<std::string> lines_;
    Daemon daemon_ = test::daemon_over(gpu_, lines_);
};

// The daemon reads and answers nothing during a decision. Measures CPU time, because other programs
// run as well, and both crowds in turns, because these programs slow down both then.
TEST(BusyCrowdTest, decision_costs_each_job_the_same_among_few_and_among_thousands) {
    constexpr pid_t few = 511, many = 4095;
    BusyCrowd small(few), large(many);
    std::vector<std::chrono::nanoseconds> among_few, among_many;
    for (int request = 0; request < 11; ++request) {
        among_few.push_back(small.time_of_a_decision());
        among_many.push_back(large.time_of_a_decision());
    }
    const auto time = median(among_many), time_among_few = median(among_few);
    std::cout << "# a decision that stops " << many << " jobs: " << time.count() / 1000 << " us, "
              << few << " jobs: " << time_among_few.count() / 1000 << " us\n";
    // A decision costs each of many jobs 0.7 to 1.1 times as much as each of few, and 3 times as
    // much with a search of all jobs for each.
    EXPECT_LT(time, 2 * (many / few) * time_among_few);
    EXPECT_LT(time, milliseconds{50});
}

TEST_F(CrowdTest, process_with_a_thousand_queues_is_described_in_turns) {
    gpu.read_takes = microseconds{1};
    add(batch, "/batch");
    pass(milliseconds{200});
    for (std::uint32_t id = 2; id <= 1000; ++id)
        gpu.create_queue(batch, id);
    const std::uint64_t before = gpu.descriptions;
    const std::uint64_t most = pass_in_turns(seconds{3});
    EXPECT_EQ(job(batch).queues, 1000U);
    EXPECT_EQ(gpu.descriptions - before, 999U); // each once
    EXPECT_LE(most, 2000U + 2 * most_calls);    // its reads are cheap
}

TEST_F(CrowdTest, queues_that_come_and_go_in_a_loop_do_not_keep_us_busy) {
    add(batch, "/batch");
    pass(milliseconds{200});
    const Time begin = gpu.now;
    const std::uint64_t before = gpu.dear_calls();
    while (gpu.now < begin + seconds{2}) {
        gpu.create_queue(batch, 2);
        gpu.now += microseconds{100};
        (void)pass_in_turns(microseconds{1});
    }
    EXPECT_LT(3 * (gpu.dear_calls() - before) * cost, gpu.now - begin);
}

// Those that hold /dev/kfd open, and nothing else, may have used up the driver's room.
TEST_F(DaemonTest, process_without_a_watch_is_watched_once_there_is_room) {
    gpu.most_watched = 2;
    for (const pid_t pid : {30, 31})
        add(pid, "/server");
    daemon.start();
    pass(seconds{1});
    add(batch, "/batch");
    pass(seconds{1});
    EXPECT_FALSE(gpu.running.at(batch).armed);
    gpu.exit(30);
    pass(seconds{1});
    EXPECT_TRUE(gpu.running.at(batch).armed);
}

} // namespace
