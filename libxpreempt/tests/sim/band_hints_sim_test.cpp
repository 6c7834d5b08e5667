// SPDX-License-Identifier: MIT
// Effects of hints under BAND, and bounds that no hint moves.
#include "sim/virtual_jobs.hpp"

namespace {

using namespace test;

Bands::Parameters strict() { // bands only
    Bands::Parameters parameters = busy_bands();
    parameters.floor_percent = 0;
    parameters.max_rate = 0;
    return parameters;
}

// As the daemon sets the fields.
class Hinted : public VirtualJobs {
public:
    explicit Hinted(const Bands::Parameters& parameters, std::uint32_t seed = 1)
        : VirtualJobs(Bands{parameters}, seed) {}

    VirtualJob& add_band(std::uint64_t id, Band band, std::uint64_t nodes = 1) {
        VirtualJob& job = add(id, nodes);
        job.view.band = band;
        return job;
    }
    void soon(std::uint64_t id, Duration within) {
        JobView& view = of(id).view;
        view.soon_since = now;
        view.soon_until = now + within;
        view.finished = false;
        decide();
    }
    void finish(std::uint64_t id) {
        JobView& view = of(id).view;
        view.finished = true;
        view.soon_until = {};
        decide();
    }
    void request(std::uint64_t id, Duration work_of_request) {
        VirtualJob& job = of(id);
        if (!job.view.ready) {
            job.view.finished = false;
            job.view.soon_until = {};
        }
        work(job, work_of_request);
        decide();
    }
};

class ServerAndBatch : public Hinted {
public:
    explicit ServerAndBatch(const Bands::Parameters& parameters, Band server = Band::high)
        : Hinted(parameters) {
        add_band(1, server);
        work(add_band(2, Band::idle), endless);
        decide();
    }
};

TEST(BandHintsTest, announced_work_stops_lower_bands_before_it_comes) {
    ServerAndBatch jobs(strict());
    jobs.soon(1, 2ms);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ms);
    jobs.request(1, 3ms);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(3ms + 5ms - 1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_EQ(1U, jobs.of(2).stops);
}

TEST(BandHintsTest, an_announcement_that_lapses_resumes_without_a_grace) {
    ServerAndBatch jobs(strict());
    jobs.soon(1, 2ms);
    jobs.advance(2ms - 1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_EQ(at_next_event, jobs.next);
}

TEST(BandHintsTest, announced_work_waits_for_the_grace_of_its_band) {
    ServerAndBatch jobs(strict(), Band::normal);
    jobs.soon(1, 900us);
    jobs.advance(5ms);
    EXPECT_EQ(0U, jobs.of(2).stops);
    jobs.soon(1, 5ms);
    jobs.advance(1ms - 1ns);
    EXPECT_TRUE(jobs.of(2).runs());
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
}

TEST(BandHintsTest, announced_work_stops_no_equal_or_higher_band) {
    Hinted jobs(strict());
    jobs.add_band(1, Band::normal);
    jobs.work(jobs.add_band(2, Band::normal), endless);
    jobs.work(jobs.add_band(3, Band::high, 0b10), endless);
    jobs.work(jobs.add_band(4, Band::idle, 0b100), endless); // another node
    jobs.decide();
    jobs.of(1).view.nodes = 0b11;
    jobs.soon(1, 10ms);
    jobs.advance(5ms);
    for (const std::uint64_t id : {2U, 3U, 4U})
        EXPECT_TRUE(jobs.of(id).runs()) << id;
}

TEST(BandHintsTest, a_finished_job_imposes_no_grace) {
    ServerAndBatch jobs(strict());
    jobs.request(1, 3ms);
    jobs.advance(3ms);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.finish(1);
    EXPECT_TRUE(jobs.of(2).runs());
}

TEST(BandHintsTest, a_job_that_finishes_before_its_work_does_imposes_no_grace_afterwards) {
    ServerAndBatch jobs(strict());
    jobs.request(1, 3ms);
    jobs.finish(1);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(3ms);
    EXPECT_TRUE(jobs.of(2).runs());
}

TEST(BandHintsTest, a_finished_job_leaves_the_grace_of_others_alone) {
    ServerAndBatch jobs(strict());
    jobs.add_band(3, Band::high);
    jobs.request(1, 3ms);
    jobs.request(3, 4ms);
    jobs.advance(6ms);
    jobs.finish(1);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(3ms - 1ns); // job 3 ended 2 ms before
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).runs());
}

TEST(BandHintsTest, later_work_of_another_job_has_its_grace_beside_a_finished_one) {
    ServerAndBatch jobs(strict());
    jobs.add_band(3, Band::high);
    jobs.request(1, 3ms);
    jobs.advance(4ms);
    jobs.finish(1);
    jobs.request(3, 1ms);
    jobs.advance(1ms + 5ms - 1ns);
    EXPECT_TRUE(jobs.of(2).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(2).runs());
}

TEST(BandHintsTest, endless_announcements_leave_the_floor_and_the_rate) {
    Bands::Parameters parameters = busy_bands();
    parameters.max_rate = 20;
    ServerAndBatch jobs(parameters);
    for (int hint = 0; hint < 1000; ++hint) {
        jobs.soon(1, 15ms);
        jobs.advance(10ms);
    }
    EXPECT_NEAR(0.1, static_cast<double>(jobs.of(2).ran.count()) / 1e10, 0.005);
    for (int hint = 0; hint < 1000; ++hint) {
        jobs.soon(1, 500us);
        jobs.advance(1ms);
    }
    EXPECT_LE(jobs.of(2).stops, 10U * 20 + 20);
}

// Each hold has a claim: of a job with work, or of an announcement, in a higher band.
void expect_reasons(Time now, const std::vector<VirtualJob>& jobs,
                    const std::vector<Verdict>& verdicts) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const JobView& job = jobs[i].view;
        bool claimed = false;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const JobView& other = jobs[j].view;
            const Time since = other.ready ? other.ready_since : other.soon_since;
            claimed |= other.band < job.band && (other.nodes & job.nodes) != 0 &&
                       verdicts[j] == Verdict::run &&
                       (other.schedulable() || other.announced(now)) &&
                       now - since >= (other.band == Band::normal ? 1ms : 0ms);
        }
        if (!job.schedulable())
            continue;
        EXPECT_TRUE(verdicts[i] == Verdict::hold || !claimed) << job.id << " runs beside a claim";
        EXPECT_TRUE(verdicts[i] == Verdict::run || claimed || job.held)
            << job.id << " stopped without a claim";
    }
}

TEST(BandHintsTest, random_hints_stop_nobody_without_a_claim) {
    for_each_seed(40, [](std::uint32_t seed) {
        Hinted jobs(strict(), seed);
        for (std::uint64_t id = 1; id <= 6; ++id)
            jobs.add_band(id, Band{static_cast<std::uint8_t>(jobs.below(4))}, 1 + jobs.below(7));
        jobs.check = expect_reasons;
        for (int event = 0; event < 300; ++event) {
            const std::uint64_t id = 1 + jobs.below(6);
            switch (jobs.below(4)) {
            case 0: jobs.soon(id, Duration{jobs.below(5'000'000)}); break;
            case 1: jobs.finish(id); break;
            default: jobs.request(id, Duration{1 + jobs.below(5'000'000)}); break;
            }
            jobs.advance(Duration{jobs.below(4'000'000)});
        }
        // Hints end with the work: then nothing is held for long.
        jobs.advance(1s);
        for (const VirtualJob& job : jobs.jobs)
            EXPECT_FALSE(job.view.held) << job.view.id;
        jobs.expect_replays();
    });
}

} // namespace
