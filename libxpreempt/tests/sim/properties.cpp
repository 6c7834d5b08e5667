// SPDX-License-Identifier: MIT
// Runs and their counters; main() of the property tests.
#include "sim/properties.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>

namespace test {

PropertyOptions property_options;

// Ids in the same order are as good as any.
void RandomRun::expect_same_for_other_ids(std::vector<JobView> views,
                                          const std::vector<Verdict>& verdicts) {
    for (JobView& view : views)
        view.id = view.id * 3 + 17;
    std::vector<Verdict> others(views.size(), Verdict::hold);
    const Time next = xpreempt::sched::decide(relabelled_, {jobs.now, views}, others);
    EXPECT_EQ(jobs.next, next) << "depends on the ids";
    EXPECT_EQ(verdicts, others) << "depends on the ids";
}

void RandomRun::note(const std::vector<Verdict>& verdicts) {
    ++decisions;
    bool ended = false;
    std::set<std::uint64_t> ready;
    for (const VirtualJob& job : jobs.jobs)
        if (job.view.ready)
            ready.insert(job.view.id);
    for (const std::uint64_t id : ready_)
        if (!ready.contains(id)) {
            ++ends;
            ended = true;
        }
    const bool timer = !happened_ && !ended;
    timers += timer ? 1 : 0;
    bool preempts = false;
    for (std::size_t i = 0; i < verdicts.size(); ++i)
        preempts |= verdicts[i] == Verdict::hold && ran(job(i)) && job(i).runs();
    preemptions += preempts ? 1 : 0;
    preemptions_by_timer += preempts && timer ? 1 : 0;
    if (check_)
        check_(*this, verdicts);
    happened_ = false;
    ready_ = std::move(ready);
    ran_.clear();
    for (std::size_t i = 0; i < verdicts.size(); ++i)
        if (runs_after(job(i).view, verdicts[i]))
            ran_.insert(job(i).view.id);
}

void for_events(const Policy& policy, const RandomRun::Shape& shape, const RandomRun::Check& check,
                const std::function<void(const RandomRun& run)>& at_end) {
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        RandomRun run(policy, seed, shape, check);
        run.go();
        decisions += run.decisions;
        if (at_end && !::testing::Test::HasFailure())
            at_end(run);
    }
}

void expect_held_by(const RandomRun& run, const std::vector<Verdict>& verdicts,
                    const Holds& holds) {
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        const JobView& job = run.job(i).view;
        bool reason = false;
        for (std::size_t j = 0; j < verdicts.size() && job.schedulable(); ++j)
            reason |= j != i && runs_after(run.job(j).view, verdicts[j]) &&
                      holds(job, run.job(j).view, run.jobs.now);
        EXPECT_EQ(reason ? Verdict::hold : Verdict::run, verdicts[i]) << "job " << job.id;
    }
}

} // namespace test

namespace {

// The value of "--name N" or "--name=N"; leaves `value` alone if the option is another one.
bool read_option(std::string_view name, int& i, int argc, char** argv, auto& value) {
    std::string_view text = argv[i];
    if (!text.starts_with(name))
        return false;
    text.remove_prefix(name.size());
    if (text.starts_with('='))
        text.remove_prefix(1);
    else if (text.empty() && i + 1 < argc)
        text = argv[++i];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value > 0;
}

} // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    for (int i = 1; i < argc; ++i) {
        const char* const option = argv[i];
        if (!read_option("--events", i, argc, argv, test::property_options.events) &&
            !read_option("--seed", i, argc, argv, test::property_options.seed)) {
            std::fprintf(stderr,
                         "%s: unknown option or value; usage: %s [--events N] [--seed N], with "
                         "whole numbers from 1 on, and the options of GoogleTest\n",
                         option, argv[0]);
            return 2;
        }
    }
    return RUN_ALL_TESTS();
}
