// SPDX-License-Identifier: MIT
// Options and their checks; each error names the word and a right one.
#include "verbs/scheduling_arguments.hpp"

#include "verbs/number_checks.hpp"
#include "xpreemptd/protocol/decimal.hpp"

#include <cstring>
#include <fmt/format.h>

namespace cli {

namespace {

namespace attribute = xpreempt::attribute;

// The value of an option, and how to say which ones there are.
std::optional<xpreemptd::sched::Band> parse(const xpreemptd::Attribute<attribute::Bands>& /*each*/,
                                            const std::string& word) {
    return xpreemptd::band_named(word);
}
std::string range_of(const xpreemptd::Attribute<attribute::Bands>& /*each*/) {
    return "realtime, high, normal or idle";
}

std::optional<std::uint32_t> parse(const xpreemptd::Attribute<attribute::Count>& each,
                                   const std::string& word) {
    const auto number = xpreemptd::decimal<std::uint32_t>(word);
    return number && *number >= each.least && *number <= each.most ? number : std::nullopt;
}

std::optional<std::int32_t> parse(const xpreemptd::Attribute<attribute::Signed>& /*each*/,
                                  const std::string& word) {
    return parse_priority(word);
}

template <typename Kind> std::string range_of(const xpreemptd::Attribute<Kind>& each) {
    return fmt::format("{} to {}", each.least, each.most);
}

std::optional<std::chrono::microseconds>
parse(const xpreemptd::Attribute<attribute::Time>& /*each*/, const std::string& word) {
    return parse_deadline(word);
}
std::string range_of(const xpreemptd::Attribute<attribute::Time>& /*each*/) {
    return "a number with us, ms or s, such as 20ms, up to an hour";
}

bool is_number(const std::string& word) {
    return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

std::string check_job(const std::string& word) {
    const auto pid = xpreemptd::decimal<pid_t>(word);
    if (word.empty() || (is_number(word) && (!pid || *pid <= 0)))
        return fmt::format("'{}' is neither a pid nor the name of a job: give one as `kfd-preempt "
                           "jobs` shows it",
                           word);
    return {};
}

std::string check_focus(const std::string& word) {
    const auto pid = xpreemptd::decimal<pid_t>(word);
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
    xpreemptd::AttributeChange change;
    xpreemptd::for_each_attribute([&](const auto& each) {
        change.*each.change = parse(each, arguments.attributes.at(each.name));
    });
    return change;
}

void add_attributes(CLI::App* verb, SchedulingArguments& arguments) {
    xpreemptd::for_each_attribute([&](const auto& each) {
        const auto check = [each](const std::string& word) {
            return parse(each, word)
                       ? std::string()
                       : fmt::format("'{}' is not a {}: give {}", word, each.noun, range_of(each));
        };
        verb->add_option(fmt::format("--{}", each.name), arguments.attributes[each.name], each.help)
            ->check(check);
    });
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
        const auto pid = xpreemptd::decimal<pid_t>(arguments.job);
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
            return focus(context, xpreemptd::decimal<pid_t>(arguments.focus));
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
        throw CLI::ValidationError(fmt::format(
            "nothing to change: give {}", xpreemptd::one_of(xpreemptd::attribute_names(), "--")));
}

} // namespace cli
