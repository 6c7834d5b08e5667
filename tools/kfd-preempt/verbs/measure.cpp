// SPDX-License-Identifier: MIT
// measure: stops all compute queues of a process and resumes them at once, COUNT times.
//
// The holds are those of an operator's file: however this command ends, the kernel closes the file
// and the driver resumes the queues.
#include "verbs/measure.hpp"

#include "driver/driver.hpp"
#include "output/interrupt.hpp"
#include "output/latency.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "processes/error_messages.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/target_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <span>
#include <thread>

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A stop that the hardware hasn't confirmed can't be resumed before it is.
constexpr auto resume_patience = 10s;
constexpr auto resume_interval = 20ms;

std::uint64_t ns_since(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

kfd_preempt_switch_entry entry_for(std::uint32_t queue_id, std::uint16_t op,
                                   std::uint16_t preempt_type = 0) {
    kfd_preempt_switch_entry entry{};
    entry.queue_id = queue_id;
    entry.op = op;
    entry.preempt_type = preempt_type;
    return entry;
}

class Measuring {
public:
    Measuring(const Context& context, const Driver& driver, const Target& target)
        : context_(context), driver_(driver), target_(target) {}

    // False: nothing more can be measured, and ended() says why.
    bool round();
    void interrupted() { ended_ = "interrupted"; }
    [[nodiscard]] Report report(const MeasureOptions& options) const;

private:
    struct Times {
        std::vector<std::uint64_t> call, driver, hardware;
    };
    using Entries = std::vector<kfd_preempt_switch_entry>;

    // Calls with at most max_batch entries each. Their time is summed up, and sent_ entries have an
    // answer.
    bool send(Verb verb, std::span<kfd_preempt_switch_entry> entries, std::uint64_t& call_ns,
              std::uint64_t& hw_ns);
    bool stop(Entries& entries);
    bool resume(Entries entries);
    bool give_up(std::string message, int errno_value);
    bool refused(Verb verb, const kfd_preempt_switch_entry& entry) {
        return give_up(driver_sentence(context_, verb, -entry.result, target_, entry.queue_id),
                       -entry.result);
    }

    const Context& context_;
    const Driver& driver_;
    const Target& target_;
    Times stops_, resumes_;
    std::uint64_t rounds_ = 0, without_stop_ = 0;
    std::size_t queues_ = 0, sent_ = 0;
    const char* ended_ = "done";
    std::optional<Failure> failure_;
};

bool Measuring::give_up(std::string message, int errno_value) {
    ended_ = "failed";
    failure_ = Failure{exit_of(errno_value), errno_value, std::move(message)};
    return false;
}

bool Measuring::send(Verb verb, std::span<kfd_preempt_switch_entry> entries, std::uint64_t& call_ns,
                     std::uint64_t& hw_ns) {
    const std::size_t batch = std::max<std::size_t>(driver_.query.max_batch, 1);
    sent_ = 0;
    for (std::size_t first = 0; first < entries.size(); first += batch) {
        const auto part = entries.subspan(first, std::min(batch, entries.size() - first));
        const auto begin = Clock::now();
        const auto done = driver_.device.switch_queues_of(target_.pid, 0, part);
        call_ns += ns_since(begin);
        if (!done) {
            const Failure failure = driver_failure(context_, verb, done.error(), target_);
            return give_up(failure.message, failure.errno_value);
        }
        hw_ns += done->hw_ns;
        sent_ += part.size();
    }
    return true;
}

// Leaves in `entries` those that this file holds now.
bool Measuring::stop(Entries& entries) {
    std::uint64_t call_ns = 0, hw_ns = 0, slowest_ns = 0;
    bool good = send(Verb::suspend, entries, call_ns, hw_ns);
    entries.resize(sent_);
    for (const kfd_preempt_switch_entry& entry : entries) {
        slowest_ns = std::max<std::uint64_t>(slowest_ns, entry.latency_ns);
        if (good && entry.result != 0 && entry.result != -ENOENT)
            good = refused(Verb::suspend, entry);
    }
    // An unconfirmed stop is a hold as well.
    std::erase_if(entries,
                  [](const auto& entry) { return entry.result != 0 && entry.result != -ETIME; });
    if (!good)
        return false;
    if (slowest_ns == 0) {
        ++without_stop_;
        return true;
    }
    stops_.call.push_back(call_ns);
    stops_.driver.push_back(slowest_ns);
    stops_.hardware.push_back(hw_ns);
    return true;
}

bool Measuring::resume(Entries entries) {
    const auto deadline = Clock::now() + resume_patience;
    for (bool first = true; !entries.empty(); first = false) {
        std::uint64_t call_ns = 0, hw_ns = 0;
        for (kfd_preempt_switch_entry& entry : entries)
            entry = entry_for(entry.queue_id, KFD_PREEMPT_OP_RESUME);
        if (!send(Verb::resume, entries, call_ns, hw_ns))
            return false;
        std::erase_if(entries, [](const auto& entry) {
            return entry.result == 0 || entry.result == -ENOENT || entry.result == -EALREADY;
        });
        if (entries.empty() && first) {
            resumes_.call.push_back(call_ns);
            resumes_.hardware.push_back(hw_ns);
        }
        if (!entries.empty() && (entries[0].result != -EBUSY || Clock::now() > deadline))
            return refused(Verb::resume, entries[0]);
        if (!entries.empty())
            std::this_thread::sleep_for(
                resume_interval); // signals are blocked: the round ends first
    }
    return true;
}

bool Measuring::round() {
    const auto process = kfd_process(context_, target_.pid);
    if (!process)
        return give_up(fmt::format("{}: has ended after {} rounds", target_.name(), rounds_),
                       ESRCH);
    Entries entries;
    for (const kfd::Queue& queue : process->queues) {
        if (queue.type == kfd::QueueType::compute)
            entries.push_back(
                entry_for(queue.queue_id, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_TYPE_SAVE));
    }
    if (entries.empty())
        return give_up(
            fmt::format("{}: has no compute queue after {} rounds", target_.name(), rounds_),
            ENOENT);
    queues_ = entries.size();
    const bool stopped = stop(entries);
    const std::optional<Failure> why = failure_;
    const bool resumed = resume(std::move(entries));
    if (why)
        failure_ = why;
    rounds_ += stopped && resumed ? 1 : 0;
    return stopped && resumed;
}

Report Measuring::report(const MeasureOptions& options) const {
    Report report = failure_ ? report_of(*failure_) : Report{};
    report.json["pid"] = target_.pid;
    report.json["comm"] = target_.comm_json();
    report.json["scheduler"] = sched_mode_name(driver_.query.sched_mode);
    report.json["requested"] = options.count;
    report.json["rounds"] = rounds_;
    report.json["rounds_without_stop"] = without_stop_;
    report.json["queues"] = queues_;
    report.json["interval_ms"] = options.interval.count();
    report.json["ended"] = ended_;

    Table table({"", "P50", "P90", "P99", "MAX", "SAMPLES"});
    const auto add = [&](const char* op, const char* what, const char* label,
                         const std::vector<std::uint64_t>& samples) {
        const auto times = percentiles(samples);
        report.json[op][what] = json_of(times);
        table.add(row_of(label, times));
    };
    add("stop", "call", "stop: call", stops_.call);
    add("stop", "driver", "stop: driver, slowest queue", stops_.driver);
    add("stop", "hardware", "stop: wait for the hardware", stops_.hardware);
    add("resume", "call", "resume: call", resumes_.call);
    add("resume", "hardware", "resume: wait for the hardware", resumes_.hardware);
    report.text = fmt::format("{}: {} of {} rounds, {} compute queues, scheduler {}\n{}",
                              target_.name(), rounds_, options.count, queues_,
                              sched_mode_name(driver_.query.sched_mode), table.text());
    if (without_stop_ > 0)
        report.text += fmt::format("{} rounds are not counted: the queues were off the hardware "
                                   "for another reason (another hold, eviction)\n",
                                   without_stop_);
    return report;
}

} // namespace

Report measure(const Context& context, pid_t pid, const MeasureOptions& options) {
    const auto selected = queues_of(context, pid);
    if (!selected)
        return report_of(selected.error());
    const Target& target = selected->target;
    const auto compute =
        std::ranges::count(selected->queues, kfd::QueueType::compute, &kfd::Queue::type);
    if (compute == 0)
        return report_of({Exit::failed, ENOENT,
                          fmt::format("{}: has no compute queue to measure", target.name())});
    const Outcome<Driver> driver = connect(context);
    if (!driver)
        return report_of(driver.error());

    Measuring work(context, *driver, target);
    for (std::uint64_t done = 0; done < options.count; ++done) {
        if (told_to_end(options.interval)) {
            work.interrupted();
            break;
        }
        if (!work.round())
            break;
    }
    return work.report(options);
}

} // namespace cli
