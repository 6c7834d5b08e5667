// SPDX-License-Identifier: MIT
// A daemon that schedules nothing, for tests of its clients: a server with a fake Control.
// usage: xpreemptd_test_server SOCKET   (runs until its standard input ends; says "ready")
#include "fake_control.hpp"
#include "server/server.hpp"

#include <algorithm>
#include <cstdio>

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;

// Two jobs that are always there, what was adopted, and a root's policy, which EJECTED ejects.
class ListedJobs : public test::FakeControl {
public:
    ListedJobs() {
        JobReport batch;
        batch.id = 1;
        batch.name = "/batch.slice";
        batch.attributes = {sched::Band::idle, 100, {}};
        batch.state = JobState::held;
        batch.pids = {11, 12};
        batch.queues = 5;
        batch.gpu_ids = {7, 8};
        batch.compute_queues = {3, 0};
        batch.account = {9s, 4s, 5s, 3s, 17, 10s};
        batch.ready_edges = 2;
        JobReport forged = batch;
        forged.id = 2;
        forged.name = "/tmp\x1b[2J\nx";
        forged.attributes.band = sched::Band::normal;
        forged.state = JobState::not_schedulable;
        forged.reason = "stock driver,\x1b no hook";
        forged.pids.assign(5000, 13);
        listed = {batch, forged};
        reported = {"BAND", "",   "watch", 10, 8, 0, 21, 1, {7, 700us, 50us, 180us, 210us},
                    {},     250us};
    }
    // A reader gets four records, then it is too late for those that follow, then nothing comes.
    [[nodiscard]] TracePage trace(std::optional<std::uint64_t> from) const override {
        constexpr std::uint64_t early = 100, late = 200;
        if (!from) {
            late_ = !late_;
            return late_ ? TracePage{5ms, late, late, 0, {}} : TracePage{1ms, early, early, 0, {}};
        }
        const ShownRecord waits{{.at = 3250750ns, .job = 1, .phase = Phase::waiting, .nodes = 3},
                                {7, 8}};
        if (*from == early)
            return {4ms,
                    early,
                    early + 4,
                    0,
                    {{{.at = 2000500ns, .job = 1, .phase = Phase::running, .nodes = 3}, {7, 8}},
                     {{.at = 3ms, .what = Happening::decision, .job = 2, .cause = Cause::ring}, {}},
                     {{.at = 3ms,
                       .what = Happening::stop,
                       .job = 1,
                       .for_job = 2,
                       .queues = 5,
                       .failed = 1,
                       .took = 250750ns},
                      {}},
                     waits}};
        if (*from < late)
            return {5ms, *from + 42, *from + 43, 42, {waits}};
        return {6ms, *from, *from, 0, {}};
    }
    Answer<void> adopt(const Caller& caller, const Change& change) override {
        JobReport job;
        job.id = listed.size() + 1;
        job.name = "run " + std::to_string(caller.pid);
        change.apply_to(job.attributes);
        if (job.attributes.band == sched::Band::realtime)
            return tl::make_unexpected(Refusal{EPERM, "band realtime needs a rule of the admin's"});
        job.pids = {caller.pid};
        listed.push_back(job);
        return {};
    }
    Answer<void> change(const Caller& /*caller*/, const JobSelector& selector,
                        const Change& change) override {
        for (JobReport& job : listed) {
            const auto* pid = std::get_if<pid_t>(&selector);
            if (pid != nullptr ? std::ranges::find(job.pids, *pid) == job.pids.end()
                               : job.name != std::get<std::string>(selector))
                continue;
            change.apply_to(job.attributes);
            return {};
        }
        return tl::make_unexpected(Refusal{ESRCH, "no such job"});
    }
    Answer<void> set_policy(const Caller& caller, std::string_view name) override {
        if (caller.uid != 0)
            return tl::make_unexpected(Refusal{EPERM, "only root may change the policy"});
        if (name == "EJECTED") {
            reported.policy = "none";
            return {};
        }
        if (name != "BAND" && name != "RR")
            return tl::make_unexpected(Refusal{EINVAL, "the policies are BAND and RR"});
        reported.policy = name;
        return {};
    }

private:
    mutable bool late_ = true;
};

} // namespace

int main(int argc, char** argv) {
    auto loop = Loop::make();
    if (argc != 2 || !loop)
        return 2;
    ListedJobs control;
    const auto server = Server::open(*loop, control, {.path = argv[1]});
    if (!server) {
        std::fprintf(stderr, "%s\n", server.error().c_str());
        return 1;
    }
    bool ended = false;
    if (!loop->watch(0, [&] { ended = true; }))
        return 1;
    std::puts("ready");
    std::fflush(stdout);
    while (!ended && loop->wait_until(Loop::Time::max())) {
    }
    return 0;
}
