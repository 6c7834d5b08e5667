// SPDX-License-Identifier: MIT
// Properties of PARK: idle jobs are held after their time, and no other ones.
#include "sim/properties.hpp"

namespace {

using namespace test;
using xpreempt::sched::IdleParking;

constexpr Duration park_after = 20ms;

TEST(PropertiesOfPark, exactly_those_are_held_that_have_been_idle_for_so_long) {
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events && !HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        std::map<std::uint64_t, Time> busy; // when each wasn't idle, or not there
        RandomRun run(
            IdleParking({park_after}), seed, {}, [&](RandomRun& of, const auto& verdicts) {
                std::set<std::uint64_t> there;
                for (std::size_t i = 0; i < verdicts.size(); ++i) {
                    const JobView& job = of.job(i).view;
                    const Time now = of.jobs.now;
                    there.insert(job.id);
                    const bool idle = !job.ready && !job.held_by_others && !job.announced(now);
                    const Time since = busy.try_emplace(job.id, now).first->second;
                    EXPECT_EQ(idle && now - since >= park_after, verdicts[i] == Verdict::hold)
                        << "job " << job.id;
                    if (!idle)
                        busy.erase(job.id);
                    EXPECT_TRUE(!idle || now - since >= park_after ||
                                of.jobs.next <= since + park_after);
                }
                std::erase_if(busy, [&](const auto& job) { return !there.contains(job.first); });
            });
        run.go();
        EXPECT_EQ(0U, run.preemptions);
        EXPECT_LE(run.timers, run.happenings + run.ends);
        decisions += run.decisions;
    }
}

TEST(PropertiesOfPark, a_job_is_parked_once_and_resumes_with_its_work) {
    VirtualJobs jobs(IdleParking{});
    jobs.work(jobs.add(1), 1ms);
    jobs.decide();
    jobs.advance(1ms + 2s - 1ns);
    EXPECT_FALSE(jobs.of(1).view.held);
    jobs.advance(1ns);
    EXPECT_TRUE(jobs.of(1).view.held);
    jobs.advance(1h);
    EXPECT_EQ(1U, jobs.of(1).stops);
    jobs.work(jobs.of(1), endless);
    jobs.decide();
    EXPECT_TRUE(jobs.of(1).runs());
}

TEST(PropertiesOfPark, a_job_that_announces_work_resumes_before_it_comes) {
    VirtualJobs jobs(IdleParking{});
    jobs.add(1);
    jobs.decide();
    jobs.advance(3s);
    EXPECT_TRUE(jobs.of(1).view.held);
    jobs.of(1).view.soon_since = jobs.now;
    jobs.of(1).view.soon_until = jobs.now + 10ms;
    jobs.decide();
    EXPECT_FALSE(jobs.of(1).view.held);
    jobs.advance(10ms + 2s); // nothing came
    EXPECT_TRUE(jobs.of(1).view.held);
}

TEST(PropertiesOfPark, a_job_that_others_hold_is_left_to_them) {
    VirtualJobs jobs(IdleParking{});
    jobs.add(1).view.held_by_others = true;
    jobs.decide();
    jobs.advance(1h);
    EXPECT_FALSE(jobs.of(1).view.held);
}

} // namespace
