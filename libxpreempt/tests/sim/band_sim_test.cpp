// SPDX-License-Identifier: MIT
// Guarantees of BAND: grace, resume grace, floor, rate, one preemption a ready edge.
#include "sim/virtual_jobs.hpp"

#include <deque>
#include <set>

namespace {

using namespace test;

Bands::Parameters strict() { // bands only
    Bands::Parameters parameters = busy_bands();
    parameters.floor_percent = 0;
    parameters.max_rate = 0;
    return parameters;
}

VirtualJob& add(VirtualJobs& jobs, std::uint64_t id, Band band, std::uint64_t nodes = 1) {
    VirtualJob& job = jobs.add(id, nodes);
    job.view.band = band;
    return job;
}

// A batch job that is always ready, and a server.
class ServerAndBatch : public VirtualJobs {
public:
    explicit ServerAndBatch(const Bands::Parameters& parameters, Band server = Band::high,
                            Band batch = Band::idle)
        : VirtualJobs(Bands{parameters}) {
        ::add(*this, 1, server);
        work(::add(*this, 2, batch), endless);
        decide();
    }
    void request(Duration work_of_request) {
        work(of(1), work_of_request);
        decide();
    }
    void end(std::uint64_t id) {
        std::erase_if(jobs, [=](const VirtualJob& job) { return job.view.id == id; });
        decide();
    }
};

TEST(BandTest, a_band_runs_together_and_stops_what_is_below_at_once) {
    VirtualJobs jobs(Bands{strict()});
    add(jobs, 1, Band::high);
    add(jobs, 2, Band::high);
    add(jobs, 3, Band::normal);
    add(jobs, 4, Band::high, 0b10); // another node
    for (VirtualJob& job : jobs.jobs)
        jobs.work(job, endless);
    jobs.decide();
    for (const std::uint64_t id : {1U, 2U, 4U})
        EXPECT_TRUE(jobs.of(id).runs()) << id;
    EXPECT_TRUE(jobs.of(3).view.held);
    EXPECT_EQ(at_next_event, jobs.next);
}

TEST(BandTest, normal_waits_for_its_grace_before_it_stops_idle) {
    ServerAndBatch jobs(strict(), Band::normal);
    jobs.request(900us);
    EXPECT_EQ(jobs.now + 1ms, jobs.next);
    jobs.advance(10ms);
    EXPECT_EQ(0U, jobs.of(2).stops);
    jobs.request(5ms);
    jobs.advance(1ms - 1ns);
    EXPECT_EQ(0U, jobs.of(2).stops);
    jobs.advance(1ns);
    EXPECT_EQ(1U, jobs.of(2).stops);
    EXPECT_EQ(1U, jobs.timers);
}

TEST(BandTest, what_was_stopped_resumes_after_the_resume_grace) {
    ServerAndBatch jobs(strict());
    jobs.request(3ms);
    jobs.advance(3ms + 5ms - 1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_EQ(1U, jobs.timers);
    EXPECT_EQ(at_next_event, jobs.next);
}

TEST(BandTest, the_resume_grace_is_no_shorter_than_5_switch_costs) {
    ServerAndBatch jobs(strict());
    jobs.switch_cost = 2ms;
    jobs.request(3ms);
    jobs.advance(3ms + 10ms - 1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).runs());
}

TEST(BandTest, a_job_that_ended_imposes_no_grace) {
    ServerAndBatch jobs(strict());
    jobs.request(endless);
    jobs.advance(10ms);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.end(1);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_EQ(at_next_event, jobs.next);
}

TEST(BandTest, the_end_of_a_job_leaves_the_grace_of_others) {
    ServerAndBatch jobs(strict());
    add(jobs, 3, Band::high);
    jobs.work(jobs.of(3), 3ms);
    jobs.request(endless);
    jobs.advance(4ms);
    jobs.end(1);
    jobs.advance(4ms - 1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_EQ(1U, jobs.timers);
}

TEST(BandTest, gaps_within_a_request_do_not_resume_the_batch_job) {
    ServerAndBatch jobs(strict());
    for (int step = 0; step < 200; ++step) { // decode steps
        jobs.request(8ms);
        jobs.advance(12ms);
    }
    EXPECT_EQ(1U, jobs.of(2).stops);
}

TEST(BandTest, a_job_that_becomes_ready_in_the_resume_grace_is_not_stopped) {
    ServerAndBatch jobs(strict());
    add(jobs, 3, Band::idle);
    jobs.request(1ms);
    jobs.advance(2ms);
    jobs.work(jobs.of(3), 1ms);
    jobs.decide();
    EXPECT_TRUE(jobs.of(3).runs());
    EXPECT_TRUE(jobs.of(2).view.held);
}

// A pending claim doesn't stop a job, but doesn't release it either.
TEST(BandTest, a_held_job_stays_held_in_the_grace_of_another) {
    Bands::Parameters parameters = strict();
    parameters.grace[1] = 20ms;
    ServerAndBatch jobs(parameters, Band::realtime);
    add(jobs, 3, Band::high);
    jobs.request(3ms);
    jobs.advance(3ms + 4ms);
    jobs.work(jobs.of(3), 10ms); // runs within its grace
    jobs.decide();
    EXPECT_TRUE(jobs.of(3).runs());
    jobs.advance(9ms); // the resume grace of job 1 is over
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ms + 5ms);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_EQ(1U, jobs.of(2).stops);
}

TEST(BandTest, the_floor_is_a_tenth_for_each_starved_band) {
    VirtualJobs jobs(Bands{busy_bands()});
    jobs.work(add(jobs, 1, Band::high), endless);
    jobs.work(add(jobs, 2, Band::normal), endless);
    jobs.work(add(jobs, 3, Band::idle), endless);
    jobs.work(add(jobs, 4, Band::idle), endless);
    jobs.decide();
    jobs.advance(37ms);
    jobs.work(add(jobs, 5, Band::idle), endless); // joins the turns of its band
    jobs.decide();
    jobs.advance(10s - 37ms);
    EXPECT_EQ(10s, jobs.of(1).ran);
    EXPECT_EQ(0U, jobs.of(1).stops);
    for (std::uint64_t id = 2; id <= 5; ++id) {
        EXPECT_NEAR(0.1, static_cast<double>(jobs.of(id).ran.count()) / 1e10, 0.001) << id;
        EXPECT_LE(jobs.of(id).longest_wait, 90ms) << id;
        EXPECT_LE(jobs.of(id).stops, 101U) << id;
    }
    // Together, not one after the other: both idle jobs have the turns of one.
    EXPECT_EQ(jobs.of(3).ran, jobs.of(4).ran);
    EXPECT_EQ(jobs.of(3).stops, jobs.of(5).stops);
    EXPECT_LE(jobs.timers, 2U * 2 * 101);
}

// Turns whose lengths aren't whole nanoseconds: a timer that is early would fire again and again.
TEST(BandTest, a_floor_of_any_size_takes_two_timers_a_turn) {
    for (const std::uint32_t percent : {3U, 7U, 33U, 99U}) {
        Bands::Parameters parameters = busy_bands();
        parameters.floor_percent = percent;
        parameters.floor_turn = 1'000'003ns;
        parameters.max_rate = 0; // the ends of turns count too
        ServerAndBatch jobs(parameters);
        jobs.request(endless);
        jobs.advance(1s);
        EXPECT_NEAR(percent / 100.0, static_cast<double>(jobs.of(2).ran.count()) / 1e9, 0.002);
        EXPECT_LE(jobs.timers, 2 * jobs.of(2).stops + 1);
    }
}

TEST(BandTest, a_floor_turn_stops_no_lower_band) {
    VirtualJobs jobs(Bands{busy_bands()});
    jobs.work(add(jobs, 1, Band::high, 0b01), endless);
    jobs.work(add(jobs, 2, Band::normal, 0b11), endless); // held for its first node
    jobs.work(add(jobs, 3, Band::idle, 0b10), endless);
    jobs.decide();
    jobs.advance(1s);
    EXPECT_GE(jobs.of(2).starts, 9U);
    EXPECT_EQ(0U, jobs.of(3).stops);
}

TEST(BandTest, a_floor_turn_becomes_a_claim_when_the_higher_job_ends) {
    VirtualJobs jobs(Bands{busy_bands()});
    jobs.work(add(jobs, 1, Band::high), 91ms);
    jobs.work(add(jobs, 2, Band::normal), endless);
    add(jobs, 3, Band::idle);
    jobs.decide();
    jobs.advance(60ms);
    jobs.work(jobs.of(3), endless);
    jobs.decide();
    jobs.advance(30ms);
    EXPECT_TRUE(jobs.of(2).runs()); // its turn
    jobs.advance(7ms);              // job 1 ended 6 ms ago
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_TRUE(jobs.of(3).view.held);
}

TEST(BandTest, the_floor_counts_what_ran_before) {
    ServerAndBatch jobs(busy_bands());
    // Free for 1 ms now and then: less than a tenth, so the floor has to add to it.
    for (int cycle = 0; cycle < 100; ++cycle) {
        jobs.request(80ms);
        jobs.advance(80ms + 5ms + 1ms);
    }
    const double share = static_cast<double>(jobs.of(2).ran.count()) / (100 * 86e6);
    EXPECT_GE(share, 0.095);
    EXPECT_LE(share, 0.12);
}

// The most preemptions in any second of 3000 requests, one each millisecond or a little more.
std::size_t most_in_a_second(ServerAndBatch& jobs, Duration cycle) {
    std::deque<Time> preemptions;
    std::size_t most = 0;
    jobs.check = [&](Time now, const auto& all, const auto& verdicts) {
        bool stops = false;
        for (std::size_t i = 0; i < all.size(); ++i)
            stops |= verdicts[i] == Verdict::hold && !all[i].view.held;
        if (!stops)
            return;
        preemptions.push_back(now);
        while (now - preemptions.front() >= 1s)
            preemptions.pop_front();
        most = std::max(most, preemptions.size());
    };
    for (int request = 0; request < 3000; ++request) {
        jobs.request(100us);
        jobs.advance(cycle);
    }
    return most;
}

TEST(BandTest, no_second_has_more_preemptions_than_max_rate) {
    for (const std::uint32_t rate : {1U, 7U, 200U}) {
        Bands::Parameters parameters = busy_bands();
        parameters.resume_grace = 0ms;
        parameters.max_rate = rate;
        ServerAndBatch jobs(parameters);
        EXPECT_EQ(rate, most_in_a_second(jobs, 1ms));
    }
}

// Beside a pair of which one job stops the other 500 times a second, as any user can start them.
void expect_requests_stop_the_batch_job(std::uint64_t nodes_of_pair) {
    Bands::Parameters parameters = strict();
    parameters.grace = {};
    parameters.resume_grace = 0ms;
    parameters.max_rate = 50;
    ServerAndBatch jobs(parameters);
    add(jobs, 3, Band::normal, nodes_of_pair);
    jobs.work(add(jobs, 4, Band::idle, nodes_of_pair), endless);
    for (int cycle = 0; cycle < 1000; ++cycle) {
        const bool requested = cycle % 50 == 0; // ten times a second
        jobs.work(jobs.of(3), 1ms);
        if (requested)
            jobs.work(jobs.of(1), 1ms);
        jobs.decide();
        EXPECT_TRUE(!requested || jobs.of(2).view.held) << cycle;
        jobs.advance(2ms);
    }
    EXPECT_LE(jobs.of(4).stops, 2U * 50 + 20);
}

TEST(BandTest, preemptions_on_one_node_leave_those_on_another) {
    expect_requests_stop_the_batch_job(0b10);
}

TEST(BandTest, preemptions_for_a_lower_band_leave_those_for_a_higher_one) {
    expect_requests_stop_the_batch_job(0b01);
}

// As the manual promises it, with requests whose gaps are a little longer than the resume grace.
TEST(BandTest, no_second_has_more_than_500_preemptions_by_default) {
    ServerAndBatch jobs(Bands::Parameters{});
    EXPECT_EQ(500U, most_in_a_second(jobs, 1200us));
}

// As the manual promises it. Bands that come and go on two nodes, over a normal and an idle job.
TEST(BandTest, a_starved_job_waits_for_at_most_2600_ms_by_default) {
    Duration longest{0};
    for_each_seed(60, [&](std::uint32_t seed) {
        VirtualJobs jobs(Bands{}, seed);
        add(jobs, 1, Band::realtime, 0b01);
        add(jobs, 2, Band::high, 0b11);
        add(jobs, 3, Band::high, 0b10);
        jobs.work(add(jobs, 4, Band::normal, 0b01), endless);
        jobs.work(add(jobs, 5, Band::idle, 0b11), endless);
        for (int event = 0; event < 60; ++event) {
            jobs.work(jobs.of(1 + jobs.below(3)), Duration{1 + jobs.below(1'500'000'000)});
            jobs.decide();
            jobs.advance(Duration{jobs.below(700'000'000)});
        }
        jobs.work(jobs.of(2), endless);
        jobs.decide();
        jobs.advance(10s);
        for (const std::uint64_t id : {4U, 5U}) {
            EXPECT_LE(jobs.of(id).longest_wait, 2600ms) << id;
            longest = std::max(longest, jobs.of(id).longest_wait);
        }
    });
    EXPECT_GE(longest, 2400ms); // of some
}

// The window has room again: the claim is carried out without another event.
TEST(BandTest, a_preemption_beyond_the_rate_comes_later) {
    Bands::Parameters parameters = strict();
    parameters.max_rate = 1;
    ServerAndBatch jobs(parameters);
    jobs.request(1ms);
    jobs.advance(100ms);
    jobs.request(endless);
    EXPECT_TRUE(jobs.of(2).runs());
    jobs.advance(900ms - 1ns);
    EXPECT_TRUE(jobs.of(2).runs());
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
}

TEST(BandTest, a_gang_is_stopped_for_one_node_and_frees_the_other) {
    VirtualJobs jobs(Bands{strict()});
    add(jobs, 1, Band::high, 0b01);
    jobs.work(add(jobs, 2, Band::normal, 0b11), endless);
    jobs.work(add(jobs, 3, Band::idle, 0b10), endless);
    jobs.decide();
    jobs.advance(10ms);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_TRUE(jobs.of(3).view.held);
    jobs.work(jobs.of(1), 30ms);
    jobs.decide();
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(5ms);
    EXPECT_TRUE(jobs.of(3).runs());
    jobs.advance(25ms + 5ms);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_TRUE(jobs.of(3).view.held);
}

TEST(BandTest, a_high_job_that_others_hold_claims_nothing) {
    ServerAndBatch jobs(strict());
    jobs.of(1).view.held_by_others = true;
    jobs.request(endless);
    EXPECT_TRUE(jobs.of(2).runs());
    jobs.of(1).view.held_by_others = false;
    jobs.decide();
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.of(2).view.held_by_others = true;
    jobs.decide();
    EXPECT_FALSE(jobs.of(2).view.held); // theirs remains
    EXPECT_EQ(at_next_event, jobs.next);
}

// Any random history, with floor and rate switched off: who is stopped and who is resumed, why.
class Oracle {
public:
    void check(Time now, const std::vector<VirtualJob>& jobs,
               const std::vector<Verdict>& verdicts) {
        for (const std::uint64_t id : running_)
            busy_until_[id] = now;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const JobView& job = jobs[i].view;
            bool claimed = false;
            for (std::size_t j = 0; j < jobs.size(); ++j) {
                const JobView& other = jobs[j].view;
                claimed |= other.band < job.band && (other.nodes & job.nodes) != 0 &&
                           other.schedulable() && verdicts[j] == Verdict::run &&
                           now - other.ready_since >= (other.band == Band::normal ? 1ms : 0ms);
            }
            if (!job.schedulable())
                continue;
            const bool holds = verdicts[i] == Verdict::hold;
            EXPECT_TRUE(holds || !claimed) << job.id << " runs beside a higher band";
            EXPECT_TRUE(!holds || claimed || job.held) << job.id << " stopped without a claim";
            if (!job.held || claimed)
                continue;
            const Duration quiet = now - busy_until(job, jobs);
            EXPECT_TRUE(holds || quiet >= 5ms) << job.id << " resumed too early";
            EXPECT_TRUE(!holds || quiet <= 5ms) << job.id << " resumed too late";
        }
        running_.clear();
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (jobs[j].view.schedulable() && verdicts[j] == Verdict::run)
                running_.insert(jobs[j].view.id);
    }

private:
    // When a job of a higher band that is still there last ran on the job's nodes.
    [[nodiscard]] Time busy_until(const JobView& job, const std::vector<VirtualJob>& jobs) const {
        Time latest{};
        for (const VirtualJob& other : jobs)
            if (const auto found = busy_until_.find(other.view.id);
                found != busy_until_.end() && other.view.band < job.band &&
                (other.view.nodes & job.nodes) != 0)
                latest = std::max(latest, found->second);
        return latest;
    }
    std::set<std::uint64_t> running_; // since the last decision
    std::map<std::uint64_t, Time> busy_until_;
};

TEST(BandTest, stops_and_resumes_have_a_reason) {
    for_each_seed(150, [](std::uint32_t seed) {
        Oracle oracle;
        random_run(Bands{strict()}, seed, [&](Time now, const auto& jobs, const auto& verdicts) {
            oracle.check(now, jobs, verdicts);
        });
    });
}

// A job of several bands above, gangs, and holds of others, whose end counts as an edge.
TEST(BandTest, a_ready_edge_stops_a_job_once) {
    for_each_seed(60, [](std::uint32_t seed) {
        Bands::Parameters parameters = busy_bands();
        parameters.floor_percent = 0;
        VirtualJobs jobs(Bands{parameters}, seed);
        add(jobs, 1, Band::realtime);
        add(jobs, 2, Band::high);
        add(jobs, 3, Band::normal, 0b11);
        jobs.work(add(jobs, 4, Band::idle, 0b10), endless);
        jobs.work(add(jobs, 5, Band::idle), endless);
        std::uint64_t unholds = 0;
        for (int event = 0; event < 400; ++event) {
            const std::uint64_t id = 1 + jobs.below(3);
            jobs.work(jobs.of(id), Duration{1 + jobs.below(4'000'000)});
            if (jobs.below(20) == 0) {
                jobs.of(id).view.held_by_others ^= true;
                unholds += jobs.of(id).view.held_by_others ? 0U : 1U;
            }
            jobs.decide();
            jobs.advance(Duration{jobs.below(15'000'000)});
            std::uint64_t edges = unholds;
            for (std::uint64_t below = 1; below <= 5; ++below) {
                edges += jobs.of(below).view.ready_edges;
                EXPECT_LE(jobs.of(below).stops, edges) << below;
            }
        }
    });
}

TEST(BandTest, a_request_stops_the_batch_job_at_most_once) {
    for_each_seed(40, [](std::uint32_t seed) {
        ServerAndBatch jobs{[] {
            Bands::Parameters parameters = busy_bands();
            parameters.floor_percent = 0;
            return parameters;
        }()};
        jobs.random.seed(seed);
        for (int event = 0; event < 500; ++event) {
            jobs.request(Duration{1 + jobs.below(6'000'000)});
            jobs.advance(Duration{jobs.below(12'000'000)});
            EXPECT_LE(jobs.of(2).stops, jobs.of(1).view.ready_edges);
        }
        EXPECT_GT(jobs.of(2).stops, 10U);
    });
}

} // namespace
