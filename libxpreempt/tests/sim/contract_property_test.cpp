// SPDX-License-Identifier: MIT
// Properties of all policies: contract, replay, ids, nodes that are alone, work conservation.
#include "sim/properties.hpp"

namespace {

using namespace test;
using xpreempt::sched::HoldReason;

using Names = std::set<std::string_view>;

class EveryPolicy : public ::testing::TestWithParam<std::string_view> {
protected:
    [[nodiscard]] static Policy policy() { return policy_named(GetParam()).value(); }
    [[nodiscard]] static bool is_one_of(const Names& names) { return names.contains(GetParam()); }
};
class NodesAlone : public EveryPolicy {};
class Conserving : public EveryPolicy {};

auto all_but(const Names& names) {
    std::vector<std::string_view> others;
    std::ranges::copy_if(policy_names, std::back_inserter(others),
                         [&](std::string_view name) { return !names.contains(name); });
    return ::testing::ValuesIn(others);
}

std::string test_name(const ::testing::TestParamInfo<std::string_view>& policy) {
    std::string name(policy.param);
    std::erase(name, '-');
    return name;
}

// VirtualJobs and RandomRun check each decision: order of jobs, ids, timers, idle jobs, settled at
// once.
TEST_P(EveryPolicy, keeps_its_contract) {
    for_events(policy(), {}, nullptr, [](const RandomRun& run) {
        EXPECT_LT(run.timers, 10'000U * static_cast<unsigned>(1 + run.elapsed() / 1s));
        run.jobs.expect_replays();
    });
}

// The daemon ejects a policy that does. BAND may for a resume_grace, others while a job lingers.
TEST_P(EveryPolicy, holds_no_job_for_long_without_the_reason_that_it_claims) {
    const HoldReason reason = hold_reason_of(policy());
    std::map<std::uint64_t, Time> since; // without a reason
    const auto check = [&](RandomRun& run, const std::vector<Verdict>& verdicts) {
        for (std::size_t i = 0; i < verdicts.size(); ++i) {
            const JobView& job = run.job(i).view;
            bool has_reason =
                verdicts[i] == Verdict::run || !job.ready ||
                (reason == HoldReason::reserved_time && run.jobs.next != at_next_event);
            for (std::size_t j = 0; j < verdicts.size(); ++j)
                has_reason |= runs_after(run.job(j).view, verdicts[j]) &&
                              (reason == HoldReason::job_on_any_node ||
                               (run.job(j).view.nodes & job.nodes) != 0);
            if (has_reason)
                since.erase(job.id);
            else
                EXPECT_LE(run.jobs.now - since.try_emplace(job.id, run.jobs.now).first->second, 5ms)
                    << "job " << job.id;
        }
    };
    for_events(policy(), {}, check, [&](const RandomRun& /*run*/) { since.clear(); });
}

TEST_P(EveryPolicy, lets_a_job_run_that_is_alone_on_its_nodes) {
    for_events(policy(), {.nodes = 4}, [](RandomRun& run, const auto& verdicts) {
        for (std::size_t i = 0; i < verdicts.size(); ++i) {
            const JobView& job = run.job(i).view;
            // A fixed part is fixed also for a job that is alone.
            // Under BAND, jobs that left may have been busy less than resume_grace ago.
            bool alone = job.schedulable() && !is_one_of({"BAND", "SPUP"});
            for (std::size_t j = 0; j < verdicts.size(); ++j)
                alone &= j == i || (job.nodes & run.job(j).view.nodes) == 0;
            if (is_one_of({"HHPF"}))
                alone &= verdicts.size() == 1;
            EXPECT_TRUE(!alone || verdicts[i] == Verdict::run) << "job " << job.id;
        }
    });
}

// Jobs on one node each: what happens on other nodes changes no verdict. HHPF is by definition for
// all nodes, SPUP has frames for all.
TEST_P(NodesAlone, have_the_same_decisions) {
    Bands::Parameters bounded;
    bounded.max_rate = 1; // full windows are frequent then
    const Policy tested = is_one_of({"BAND"}) ? Policy{Bands(bounded)} : policy();
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events / 4 && !HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        RandomRun run(tested, seed, {.gangs = false}, nullptr);
        std::map<std::uint64_t, Policy> of_node;
        run.jobs.asked = [&](const auto& views, const auto& verdicts) {
            for (std::uint64_t node = 1; node <= 4; node *= 2) {
                std::vector<JobView> there;
                std::vector<Verdict> expected, made;
                for (std::size_t i = 0; i < views.size(); ++i)
                    if (views[i].nodes == node) {
                        there.push_back(views[i]);
                        expected.push_back(verdicts[i]);
                    }
                made.resize(there.size());
                Policy& alone = of_node.try_emplace(node, tested).first->second;
                (void)xpreempt::sched::decide(alone, {run.jobs.now, there}, made);
                EXPECT_EQ(expected, made) << "node " << node;
            }
        };
        run.go();
        decisions += run.decisions;
    }
}

// The others say in their headers why they don't.
TEST_P(Conserving, policies_let_no_ready_job_wait_for_idle_nodes) {
    for_events(policy(), {}, [](RandomRun& run, const auto& verdicts) {
        expect_work_conserved(run.jobs.jobs, verdicts);
    });
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, ::testing::ValuesIn(policy_names), test_name);
INSTANTIATE_TEST_SUITE_P(Policies, NodesAlone, all_but({"HHPF", "SPUP"}), test_name);
INSTANTIATE_TEST_SUITE_P(Policies, Conserving,
                         all_but({"BAND", "HPF", "HHPF", "CHPF", "AWF", "K-EDF", "SPUP"}),
                         test_name);

} // namespace
