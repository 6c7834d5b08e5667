// SPDX-License-Identifier: MIT
// Options and their checks; each error names the word and a right one.
#include "verbs/scheduling_arguments.hpp"

#include "kfd/attribute.hpp"
#include "verbs/number_checks.hpp"

#include <cstring>
#include <fmt/format.h>

namespace cli {

namespace {

std::string check_band(const std::string& word) {
    if (xpreemptd::band_named(word))
        return {};
    return fmt::format("'{}' is not a band: give realtime, high, normal or idle", word);
}

std::string check_weight(const std::string& word) {
    const auto weight = kfd::parse_unsigned<std::uint32_t>(word);
    if (weight && *weight >= 1 && *weight <= xpreemptd::sched::max_weight)
        return {};
    return fmt::format("'{}' is not a weight: give 1 to {}", word, xpreemptd::sched::max_weight);
}

std::string check_priority(const std::string& word) {
    if (parse_priority(word))
        return {};
    return fmt::format("'{}' is not a priority: give {} to {}", word,
                       xpreemptd::sched::min_priority, xpreemptd::sched::max_priority);
}

std::string check_deadline(const std::string& word) {
    if (parse_deadline(word))
        return {};
    return fmt::format("'{}' is not a deadline: give a number with us, ms or s, as 20ms, up to an "
                       "hour",
                       word);
}

std::string check_lax(const std::string& word) {
    if (parse_deadline(word))
        return {};
    return fmt::format(
        "'{}' is not a time: give a number with us, ms or s, such as 20ms, up to an hour", word);
}

std::string check_utilization(const std::string& word) {
    const auto percent = kfd::parse_unsigned<std::uint32_t>(word);
    if (percent && *percent <= xpreemptd::sched::max_utilization)
        return {};
    return fmt::format("'{}' is not a utilization: give 0 to {}, in percent", word,
                       xpreemptd::sched::max_utilization);
}

bool is_number(const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

std::string check_job(const std::string& word) {
    const auto pid = kfd::parse_unsigned<pid_t>(word);
    if (word.empty() || (is_number(word) && (!pid || *pid <= 0)))
        return fmt::format("'{}' is neither a pid nor the name of a job: give one as `kfd-preempt "
                           "jobs` shows it",
                           word);
    return {};
}

std::string check_focus(const std::string& word) {
    const auto pid = kfd::parse_unsigned<pid_t>(word);
    if (word == "none" || (pid && *pid > 0))
        return {};
    return fmt::format(
        "'{}' is neither a pid nor none: give the process whose window has the focus", word);
}

std::string check_policy(const std::string& word) {
    return word.empty() ? "the name of the policy is empty: give one, such as BAND" : "";
}

std::string check_output(const std::string& word) {
    return word.empty() ? "the name of the file is empty: give a path" : "";
}

xpreemptd::AttributeChange change_of(const SchedulingArguments& arguments) {
    xpreemptd::AttributeChange change{
        xpreemptd::band_named(arguments.band), kfd::parse_unsigned<std::uint32_t>(arguments.weight),
        parse_deadline(arguments.deadline), parse_priority(arguments.priority)};
    change.utilization = kfd::parse_unsigned<std::uint32_t>(arguments.utilization);
    change.lax = parse_deadline(arguments.lax);
    return change;
}

void add_attributes(CLI::App* verb, SchedulingArguments& arguments) {
    verb->add_option("--band", arguments.band, "band under BAND: realtime, high, normal or idle")
        ->check(check_band);
    verb->add_option("--weight", arguments.weight, "share under CFS: 1 to 10000, 100 if never set")
        ->check(check_weight);
    verb->add_option("--priority", arguments.priority,
                     "priority under HPF: -255 to 255, the highest runs first, 0 if never set")
        ->check(check_priority);
    verb->add_option("--deadline", arguments.deadline,
                     "time from ready to done of a piece of work, such as 20ms")
        ->check(check_deadline);
    verb->add_option("--utilization", arguments.utilization,
                     "share of each GPU under UP, PUP and SPUP, in percent, 100 if never set")
        ->check(check_utilization);
    verb->add_option(
            "--lax", arguments.lax,
            "time under LAX that a piece of work may wait before it is critical, such as 20ms")
        ->check(check_lax);
}

bool changes_nothing(const SchedulingArguments& arguments) {
    return change_of(arguments) == xpreemptd::AttributeChange{};
}

} // namespace

int take_command(int argc, char** argv, SchedulingArguments& arguments) {
    int verb = 1;
    while (verb < argc && argv[verb][0] == '-')
        ++verb;
    if (verb >= argc || std::strcmp(argv[verb], "run") != 0)
        return argc;
    for (int i = verb + 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--") != 0)
            continue;
        arguments.command.assign(argv + i + 1, argv + argc);
        return i;
    }
    return argc;
}

void add_scheduling_verbs(const AddVerb& verb, SchedulingArguments& arguments) {
    CLI::App* run = verb("run", "Run a command as a job of xpreemptd: run [options] -- COMMAND...",
                         [&](const Context& context) {
                             return run_command_as_job(context, change_of(arguments),
                                                       arguments.if_possible, arguments.command);
                         });
    add_attributes(run, arguments);
    run->add_flag("--if-possible", arguments.if_possible,
                  "run it also if xpreemptd is not running or refuses");
    verb("jobs", "List the jobs of xpreemptd: GPU time, held time and added wait of each",
         [](const Context& context) { return jobs(context); });
    CLI::App* again = verb("renice", "Change the attributes of a job", [&](const Context& context) {
        const auto pid = kfd::parse_unsigned<pid_t>(arguments.job);
        return renice(context,
                      pid ? xpreemptd::JobSelector(*pid) : xpreemptd::JobSelector(arguments.job),
                      change_of(arguments));
    });
    again->add_option("PID|NAME", arguments.job, "pid of a process of the job, or the job's name")
        ->required()
        ->check(check_job);
    add_attributes(again, arguments);
    CLI::App* focused =
        verb("focus", "Name the job that policy AWF runs first", [&](const Context& context) {
            return focus(context, kfd::parse_unsigned<pid_t>(arguments.focus));
        });
    focused
        ->add_option("PID|none", arguments.focus,
                     "pid of a process of the job; none: no job of yours")
        ->required()
        ->check(check_focus);
    CLI::App* policies =
        verb("policy", "Show how xpreemptd schedules, or change it",
             [&](const Context& context) { return policy(context, arguments.policy); });
    policies->add_option("NAME", arguments.policy, "schedule by this policy from now on (root)")
        ->check(check_policy);
    CLI::App* tracing =
        verb("trace", "Record what xpreemptd does, for Perfetto", [&](const Context& context) {
            return trace(context, arguments.output, arguments.seconds);
        });
    tracing->add_option("-o,--output", arguments.output, "file to write (Chrome's JSON)")
        ->required()
        ->check(check_output);
    tracing
        ->add_option("--seconds", arguments.seconds, "end after SECONDS (default: at an interrupt)")
        ->check(seconds_between(0.1, 86400));
    CLI::App* figures =
        verb("metrics", "Print the figures of xpreemptd for Prometheus, as OpenMetrics",
             [&](const Context& context) { return metrics(context, arguments.output); });
    figures
        ->add_option("-o,--output", arguments.output,
                     "write to this file, which is replaced as a whole")
        ->check(check_output);
}

void check_scheduling(const CLI::App& app, const SchedulingArguments& arguments) {
    if (app.got_subcommand("run") && (arguments.command.empty() || arguments.command[0].empty()))
        throw CLI::ValidationError(
            "no command is given: put it after --: kfd-preempt run --band high -- COMMAND");
    if (app.got_subcommand("renice") && changes_nothing(arguments))
        throw CLI::ValidationError("nothing to change: give --band, --weight, --priority, "
                                   "--deadline, --utilization or --lax");
}

} // namespace cli
