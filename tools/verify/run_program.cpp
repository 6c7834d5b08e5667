// SPDX-License-Identifier: MIT
// Stage program: a program of the user's, alone and under stops.
#include "alone.hpp"
#include "bench.hpp"

#include "kfd-preempt/output/latency.hpp"
#include "kfd-preempt/output/names.hpp"
#include "kfd/attribute.hpp"
#include "kfd/sysfs.hpp"
#include "operator.hpp"
#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <random>
#include <thread>

namespace verify {

namespace kfd = xpreempt::kfd;
using std::chrono::steady_clock;

namespace {

pid_t parent_of(pid_t pid) {
    const auto stat = kfd::read_text(fmt::format("/proc/{}/stat", pid), xpreempt::Op::read_proc);
    // The name in parentheses may have any character: the numbers come after the last of them.
    const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
    if (name_end == std::string::npos || name_end + 4 > stat->size())
        return 0;
    const std::string_view rest = std::string_view(*stat).substr(name_end + 4); // "PARENT ..."
    return kfd::parse_unsigned<pid_t>(rest.substr(0, rest.find(' '))).value_or(0);
}

bool descends_from(pid_t pid, pid_t ancestor) {
    while (pid > 1 && pid != ancestor)
        pid = parent_of(pid);
    return pid == ancestor;
}

// The program may be a script that starts what uses the GPU.
std::vector<pid_t> gpu_processes_of(const Program& program) {
    std::vector<pid_t> pids = kfd::kfd_pids(kfd::Roots{}).value_or(std::vector<pid_t>{});
    std::erase_if(pids, [&](pid_t pid) { return !descends_from(pid, program.pid()); });
    return pids;
}

std::vector<std::uint32_t> compute_queues_of(pid_t pid) {
    const auto process = kfd::process_queues(kfd::Roots{}, pid);
    return process ? process->compute_queue_ids() : std::vector<std::uint32_t>{};
}

// True for the errors that a call on a destroyed queue or on an ended process returns.
bool is_gone(int error) {
    return error == -ENOENT || error == -ESRCH;
}

class Stopper {
public:
    // Returns false if the driver refused something.
    bool stop_and_resume(pid_t pid) {
        const std::vector<std::uint32_t> ids = compute_queues_of(pid);
        if (ids.empty())
            return true;
        Entries stops = stops_of(ids), resumes = resumes_of(ids);
        const bool stopped = sent(pid, stops, stop_ns_);
        pause(20);
        return sent(pid, resumes, resume_ns_) && stopped;
    }
    void pause(int ms_max) {
        std::uniform_int_distribution<int> ms(0, ms_max);
        std::this_thread::sleep_for(std::chrono::milliseconds(ms(random_)));
    }
    [[nodiscard]] bool usable() const { return by_.fd() >= 0; }
    [[nodiscard]] const std::vector<std::uint64_t>& stop_ns() const { return stop_ns_; }
    [[nodiscard]] const std::vector<std::uint64_t>& resume_ns() const { return resume_ns_; }
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    [[nodiscard]] bool forbidden() const { return forbidden_; }

private:
    bool sent(pid_t pid, Entries& entries, std::vector<std::uint64_t>& ns) {
        const auto begin = steady_clock::now();
        const int error = preempt_switch(by_.fd(), pid, 0, entries.data(),
                                         static_cast<std::uint32_t>(entries.size()));
        const auto took = steady_clock::now() - begin;
        forbidden_ = error == -EPERM;
        if (error != 0 && !is_gone(error)) {
            refusal_ = text_of(error);
            return false;
        }
        bool any = false;
        for (const kfd_preempt_switch_entry& entry : entries) {
            any = any || (error == 0 && entry.result == 0);
            // The stop of a queue that went meanwhile has left nothing to resume.
            if (entry.result != 0 && !is_gone(entry.result) && entry.result != -EALREADY) {
                refusal_ = fmt::format("queue {}: {}", entry.queue_id, text_of(entry.result));
                return false;
            }
        }
        if (any)
            ns.push_back(static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
        return true;
    }

    Operator by_;
    std::mt19937 random_{std::random_device{}()};
    std::vector<std::uint64_t> stop_ns_, resume_ns_;
    std::string refusal_;
    bool forbidden_ = false;
};

// Until it ends or the time is over.
void stop_all_the_time(Program& program, steady_clock::time_point deadline, Stopper& stopper) {
    while (!program.ended() && steady_clock::now() < deadline) {
        for (const pid_t pid : gpu_processes_of(program))
            if (!stopper.stop_and_resume(pid))
                return;
        stopper.pause(50);
    }
}

void record_latencies(const Stopper& stopper, Checks& checks) {
    const auto stop = cli::percentiles(stopper.stop_ns());
    const auto resume = cli::percentiles(stopper.resume_ns());
    checks.data = {{"stop", cli::json_of(stop)}, {"resume", cli::json_of(resume)}};
    if (stop)
        checks.note(fmt::format("{} stops: p50 {} p90 {} p99 {}", stop->samples,
                                cli::duration_text(stop->p50), cli::duration_text(stop->p90),
                                cli::duration_text(stop->p99)));
}

} // namespace

void run_given_program(Bench& bench, Checks& checks) {
    const std::vector<std::string>& words = bench.options().program;
    if (words.empty())
        return checks.skip("no program was given: give one, kfd-preempt verify ... -- PROGRAM");
    const auto alone = run_alone(words, checks);
    if (!alone)
        return;
    const auto program = Program::start(words);
    Stopper stopper;
    if (!program || !stopper.usable()) {
        checks.check(false, "the program starts once more", program ? "" : program.error());
        return;
    }
    // A stop costs time, and the program runs a part of it only.
    const auto patience = 20 * *alone + std::chrono::milliseconds(patience_ms);
    stop_all_the_time(**program, steady_clock::now() + patience, stopper);
    record_latencies(stopper, checks);
    if (stopper.forbidden())
        return checks.skip("not allowed to stop queues of another process: run as root "
                           "(CAP_SYS_PTRACE)");
    // A program that was never stopped proves nothing, however it ended.
    const bool ended = (*program)->ended();
    if (stopper.stop_ns().empty() && stopper.refusal().empty() && ended)
        return checks.skip("the program had no compute queue when its queues were scanned");
    if (!checks.check(stopper.refusal().empty(), "every stop and every resume is done",
                      stopper.refusal()))
        return;
    if (!checks.check(ended, "the program ends in twenty times its time", "it is killed now"))
        return note_output(**program, checks);
    if (!checks.check((*program)->succeeded(), "it ends with exit status 0 as it does alone",
                      (*program)->end()))
        note_output(**program, checks);
}

} // namespace verify
