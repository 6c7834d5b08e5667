// SPDX-License-Identifier: MIT
// kfd-preempt: stop the GPU queues of any process mid-kernel, and resume them.
#include "daemon/daemon.hpp"
#include "output/output.hpp"
#include "streams/streams.hpp"
#include "verbs/attached.hpp"
#include "verbs/complete.hpp"
#include "verbs/container_verbs.hpp"
#include "verbs/measuring_arguments.hpp"
#include "verbs/number_checks.hpp"
#include "verbs/scheduling_arguments.hpp"
#include "verbs/top.hpp"
#include "verbs/verbs.hpp"
#include "verbs/verify.hpp"
#include "verbs/wait.hpp"
#include "xpreemptd/protocol/decimal.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <sstream>
#include <sys/utsname.h>

namespace {

namespace kfd = xpreempt::kfd;

struct Arguments {
    bool json = false;
    bool force = false;
    bool yield_memory = false;
    cli::SuspendOptions suspend;
    bool shared = false;
    bool once = false;
    bool partial = false;
    bool wait_for_new = false;
    double wait_timeout_s = 0;
    cli::CgroupName group;
    std::string container; // of the verbs for processes
    std::string pid;
    std::vector<std::string> pids;
    std::vector<std::string> words; // [queue|stream|xqueue] ID...
    cli::TopOptions top;
    cli::MeasuringArguments measuring;
    cli::SchedulingArguments scheduling;
};

// Names the word that is wrong and where a right one comes from.
std::string check_pid(const std::string& word) {
    const auto pid = xpreemptd::decimal<pid_t>(word);
    if (pid && *pid > 0)
        return {};
    return fmt::format("'{}' is not a pid: give a number as `kfd-preempt list` shows it", word);
}

std::string check_queue_id(const std::string& word) {
    if (xpreemptd::decimal<std::uint32_t>(word))
        return {};
    return fmt::format("'{}' is not a queue id: give a number as `kfd-preempt list PID` shows it",
                       word);
}

std::string check_cgroup(const std::string& word) {
    return word.empty() ? "--cgroup is empty: name a directory below /sys/fs/cgroup" : "";
}

constexpr const char* container_help = "select the processes of a container by its id or its name";

std::string check_container(const std::string& word) {
    return word.empty() ? "--container is empty: give the id or the name of a container" : "";
}

bool names_objects(const Arguments& arguments) {
    return !arguments.words.empty() &&
           (arguments.words[0] == "stream" || arguments.words[0] == "xqueue");
}

cli::ObjectSelection objects_of(const Arguments& arguments) {
    return {xpreemptd::decimal<pid_t>(arguments.pid).value_or(0),
            arguments.words[0] == "stream" ? cli::wire::Object::stream : cli::wire::Object::xqueue,
            {arguments.words.begin() + 1, arguments.words.end()}};
}

cli::QueueSelection selection_of(const Arguments& arguments) {
    cli::QueueSelection selection{xpreemptd::decimal<pid_t>(arguments.pid).value_or(0), {}};
    for (const std::string& word : arguments.words)
        if (word != "queue")
            selection.queue_ids.push_back(xpreemptd::decimal<std::uint32_t>(word).value_or(0));
    return selection;
}

// As the library takes names; what begins with 0x is a handle, whose digits are looked at.
std::string check_object(const std::string& kind, const std::string& word) {
    const bool handle = word.starts_with("0x");
    const bool digits = word.size() > 2 && word.size() <= 18 &&
                        word.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string::npos;
    if (handle ? digits
               : !word.empty() && word.size() < cli::wire::name_bytes &&
                     (word[0] < '0' || word[0] > '9'))
        return {};
    return fmt::format("'{}' is neither the name nor the handle of {} {}: give one as `kfd-preempt "
                       "status PID {}` shows it",
                       word, kind == "stream" ? "a" : "an", kind, kind);
}

// Checks that need all words, because the first word sets the meaning of the others.
void check_words(const Arguments& arguments, bool may_be_all) {
    const std::vector<std::string>& words = arguments.words;
    if (words.empty())
        return;
    const bool objects = names_objects(arguments);
    const std::size_t first = objects || words[0] == "queue" ? 1 : 0;
    if (words.size() == first && !may_be_all)
        throw CLI::ValidationError(fmt::format(
            "no {0} is given after '{0}': `kfd-preempt status PID{1}` shows those there are",
            words[0], objects ? " " + words[0] : ""));
    for (std::size_t i = first; i < words.size(); ++i) {
        const std::string wrong =
            objects ? check_object(words[0], words[i]) : check_queue_id(words[i]);
        if (!wrong.empty())
            throw CLI::ValidationError(wrong);
    }
}

// Checks that need the verb and all of its words.
void check_which(const CLI::App& app, const Arguments& arguments) {
    const bool pid = !arguments.pid.empty() || !arguments.pids.empty();
    const bool container = !arguments.container.empty();
    if (pid && container)
        throw CLI::ValidationError("give either a PID or --container, not both");
    const auto got = [&app](const char* verb) { return app.got_subcommand(verb); };
    if (got("wait") && pid == arguments.wait_for_new)
        throw CLI::ValidationError("wait needs either a PID or --new");
    if (!pid && !container && (got("suspend") || got("resume") || got("status")))
        throw CLI::ValidationError("no process is named: give a PID as `kfd-preempt list` shows "
                                   "it, or --container with an id or a name");
    const cli::SuspendOptions& how = arguments.suspend;
    if (how.drain && how.kill)
        throw CLI::ValidationError("give either --drain or --kill, not both");
    if (names_objects(arguments) &&
        (how.drain || how.kill || how.all_or_nothing || how.timeout_ms != 0))
        throw CLI::ValidationError(
            "--drain, --kill, --all-or-nothing and --timeout are for queues, not for streams");
    if (got("freeze") || got("thaw")) {
        const bool by_cgroup = !arguments.group.cgroup.empty();
        const bool by_container = !arguments.group.container.empty();
        if (by_cgroup && by_container)
            throw CLI::ValidationError("give either --cgroup or --container, not both");
        if (!by_cgroup && !by_container)
            throw CLI::ValidationError("no cgroup is named: give --cgroup with a path or "
                                       "--container with an id or a name");
    }
}

std::vector<pid_t> pids_of(const Arguments& arguments) {
    std::vector<pid_t> pids;
    for (const std::string& word : arguments.pids) {
        const pid_t pid = xpreemptd::decimal<pid_t>(word).value_or(0);
        if (std::find(pids.begin(), pids.end(), pid) == pids.end())
            pids.push_back(pid);
    }
    return pids;
}

using Run = std::function<cli::Report(const cli::Context&)>;

// Runs the verb for the process that was named, or for each of the container.
template <typename Verb>
cli::Report of_processes(const cli::Context& context, const Arguments& arguments,
                         const Verb& verb) {
    if (arguments.container.empty())
        return verb(selection_of(arguments));
    return cli::for_container(context, arguments.container,
                              [&](pid_t pid) { return verb(cli::QueueSelection{pid, {}}); });
}

// Its table doesn't name the process, so of several each has a heading.
cli::Report status_of_processes(const cli::Context& context, const Arguments& arguments) {
    return of_processes(context, arguments, [&](const cli::QueueSelection& selection) {
        cli::Report report = cli::status(context, selection);
        if (!arguments.container.empty())
            report.text =
                fmt::format("{}:\n{}", cli::target_of(context, selection.pid).name(), report.text);
        return report;
    });
}

void add_container(CLI::App* verb, std::string& container, const char* help = container_help) {
    verb->add_option("--container", container, help)->check(check_container);
}

void add_target(CLI::App* verb, Arguments& arguments, const std::string& what) {
    verb->add_option("PID", arguments.pid, "pid of the process")->check(check_pid);
    verb->add_option("[queue|stream|xqueue] ID", arguments.words, what);
    add_container(verb, arguments.container);
}

void add_pids(CLI::App* verb, Arguments& arguments) {
    verb->add_option("PID", arguments.pids, "show only these processes (default: all)")
        ->check(check_pid);
    add_container(verb, arguments.container);
}

void add_top(CLI::App* top, Arguments& arguments) {
    add_pids(top, arguments);
    top->add_option("-d,--delay", arguments.top.interval_s, "seconds between updates (default: 2)")
        ->check(cli::seconds_between(0.1, 86400));
    top->add_option("-n,--count", arguments.top.count, "exit after COUNT updates")
        ->check(cli::number_between(1, std::uint64_t{1} << 62U));
    top->add_flag("-b,--batch", arguments.top.batch, "print plain text, for scripts");
    top->add_flag("--once", arguments.once, "print one update as plain text and exit (-b -n 1)");
}

void add_cgroup_verbs(const cli::AddVerb& verb, Arguments& arguments) {
    CLI::App* freeze = verb(
        "freeze", "Stop all compute queues of a cgroup; they stay stopped until thaw",
        [&](const cli::Context& context) {
            return cli::freeze(context, arguments.group, arguments.partial, arguments.yield_memory);
        });
    freeze->add_flag("-y,--yield-memory", arguments.yield_memory,
                     "also move the VRAM of its processes to system memory, until thaw");
    freeze->add_flag("--partial", arguments.partial,
                     "if some queues cannot be stopped, keep the others stopped");
    CLI::App* thaw =
        verb("thaw", "Resume queues stopped by freeze",
             [&](const cli::Context& context) { return cli::thaw(context, arguments.group); });
    for (CLI::App* of_cgroup : {freeze, thaw}) {
        of_cgroup
            ->add_option("--cgroup", arguments.group.cgroup,
                         "directory below /sys/fs/cgroup, or path in the hierarchy")
            ->check(check_cgroup);
        add_container(of_cgroup, arguments.group.container);
    }
}

void add_wait(const cli::AddVerb& verb, Arguments& arguments) {
    CLI::App* wait = verb(
        "wait", "Wait until a process has a compute queue, and print its pid",
        [&](const cli::Context& context) {
            return cli::wait(context,
                             {xpreemptd::decimal<pid_t>(arguments.pid), arguments.container,
                              arguments.wait_timeout_s > 0 ? std::optional(arguments.wait_timeout_s)
                                                           : std::nullopt});
        });
    wait->add_option("PID", arguments.pid, "pid of the process to wait for")->check(check_pid);
    wait->add_flag("--new", arguments.wait_for_new,
                   "wait for the next process that has no compute queue yet");
    add_container(wait, arguments.container,
                  "with --new: wait for a process of this container (id or name), which need not "
                  "run yet");
    wait->add_option("-t,--timeout", arguments.wait_timeout_s,
                     "seconds until wait fails (default: none)")
        ->check(cli::seconds_between(0.001, 86400.0 * 365));
}

// suspend and resume.
void add_switch_verbs(const cli::AddVerb& verb, Arguments& arguments) {
    CLI::App* suspend =
        verb("suspend", "Stop queues, streams or xqueues; they stay stopped until resume",
             [&](const cli::Context& context) {
                 if (names_objects(arguments))
                     return cli::switch_objects(context, objects_of(arguments),
                                                {true, arguments.suspend.attach, arguments.shared});
                 return of_processes(context, arguments, [&](const auto& selection) {
                     return cli::suspend(context, selection, arguments.suspend);
                 });
             });
    add_target(suspend, arguments, "suspend only these (default: all compute queues)");
    cli::SuspendOptions& options = arguments.suspend;
    suspend->add_flag("-a,--attach", options.attach,
                      "keep running, and resume them when this command ends");
    suspend->add_flag("-y,--yield-memory", options.yield,
                      "also move its VRAM to system memory, until resume");
    suspend->add_flag("--all-or-nothing", options.all_or_nothing,
                      "if a queue cannot be stopped, stop none; queues of one GPU");
    suspend->add_flag("--drain", options.drain, "let running waves end, instead of saving them");
    suspend->add_flag("--kill", options.kill, "kill running waves: their work is lost");
    suspend
        ->add_option("-t,--timeout", options.timeout_ms,
                     "milliseconds until a stop counts as not confirmed")
        ->check(cli::number_between(1, KFD_PREEMPT_MAX_TIMEOUT_MS));
    suspend->add_flag("--shared", arguments.shared, "also stop other streams on the same queue");

    CLI::App* resume = verb("resume", "Resume suspended queues, streams or xqueues",
                            [&](const cli::Context& context) {
                                cli::ObjectSwitch how{false};
                                how.force = arguments.force;
                                if (names_objects(arguments))
                                    return cli::switch_objects(context, objects_of(arguments), how);
                                return of_processes(context, arguments, [&](const auto& selection) {
                                    return cli::resume(context, selection, arguments.force);
                                });
                            });
    add_target(resume, arguments, "resume only these (default: all compute queues)");
    resume->add_flag("-f,--force", arguments.force, "drop the holds of every operator");
}

void add_verbs(CLI::App& app, Arguments& arguments, Run& run) {
    const auto verb = [&](const char* name, const char* what, Run body) {
        CLI::App* added = app.add_subcommand(name, what);
        added->callback([&run, body = std::move(body)] { run = body; });
        return added;
    };

    CLI::App* doctor =
        verb("doctor", "Check this machine: what works, and how to fix the rest",
             [&](const cli::Context& context) {
                 return cli::doctor(context, xpreemptd::decimal<pid_t>(arguments.pid));
             });
    doctor
        ->add_option("PID", arguments.pid,
                     "also report how far each queue of this process can be stopped")
        ->check(check_pid);

    CLI::App* list =
        verb("list", "List the queues of all processes, or of those named",
             [&](const cli::Context& context) {
                 if (arguments.container.empty())
                     return cli::list(context, pids_of(arguments));
                 const auto found = cli::gpu_processes_of_container(context, arguments.container);
                 return found ? cli::list(context, found->pids) : cli::report_of(found.error());
             });
    add_pids(list, arguments);

    add_switch_verbs(verb, arguments);

    add_cgroup_verbs(verb, arguments);

    CLI::App* status =
        verb("status", "Show state, holds and counters of queues, streams and xqueues",
             [&](const cli::Context& context) {
                 if (names_objects(arguments))
                     return cli::status_of_objects(context, objects_of(arguments));
                 return status_of_processes(context, arguments);
             });
    add_target(status, arguments, "show only these (default: all)");

    add_wait(verb, arguments);

    // Writes by itself, as often as requested.
    add_top(verb("top", "Show states, counts and latencies, updated continuously", nullptr),
            arguments);

    cli::add_measuring_verbs(verb, arguments.measuring, check_pid);

    cli::add_scheduling_verbs(verb, arguments.scheduling);

    // Has a command line of its own, see main(). Here for the help, and for what comes before it.
    verb("verify", "Test on this machine's GPU what the driver promises (verify --help)",
         [](const cli::Context&) {
             return cli::report_of({cli::Exit::usage, 0,
                                    "verify must be the first word, and writes JSON into its "
                                    "report: kfd-preempt verify [options]"});
         })
        ->allow_extras();

    verb("version", "Print the versions of the command, of the ABI and of the loaded driver",
         cli::version);
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app.remaining();
    std::string message = error.what();
    if (app.get_subcommands().empty() && !unknown.empty() && unknown[0][0] != '-') {
        std::vector<std::string> verbs;
        for (const CLI::App* verb : app.get_subcommands({}))
            verbs.push_back(verb->get_name());
        message =
            fmt::format("'{}' is not a verb; the verbs are {}", unknown[0], fmt::join(verbs, ", "));
    } else if (!unknown.empty() && unknown[0][0] != '-' && app.got_subcommand("run")) {
        message =
            fmt::format("'{0}': the command comes after --: kfd-preempt run -- {0}", unknown[0]);
    } else if (!unknown.empty()) {
        message = fmt::format("'{}' is not an option", unknown[0]);
    } else if (app.get_subcommands().empty()) {
        message = "a verb is missing";
    }
    cli::print_message(message + "\nTry `kfd-preempt --help`.");
    // The command of `run` may return 2, too.
    return static_cast<int>(app.got_subcommand("run") ? cli::Exit::not_started : cli::Exit::usage);
}

cli::Context make_context() {
    cli::Context context;
    context.roots = kfd::roots_from_environment();
    context.daemon_socket = cli::daemon_socket_from_environment();
    struct utsname name{};
    if (::uname(&name) == 0)
        context.kernel_release = name.release;
    // From CMake: the directories of kernel/amdkfd-patches.
    context.kernel_series = KFD_PREEMPT_SERIES;
    context.open_device = [roots = context.roots] {
        return kfd::Device::open(roots.device, kfd::plain_ioctl);
    };
    return context;
}

int run_command(int argc, char** argv) {
    CLI::App app("Stop the GPU queues of any process mid-kernel, and resume them.", "kfd-preempt");
    app.require_subcommand(1);
    app.fallthrough();
    app.footer("Exit: 0 done, 1 failed, 2 usage, 3 no preemption on this kernel, 4 not allowed;\n"
               "of run: that of its command, or 125 to 127 as env(1).\n"
               "More: man kfd-preempt");

    Arguments arguments;
    Run run;
    app.add_flag("-j,--json", arguments.json, "print one JSON object, errors included");
    app.set_version_flag("--version", "kfd-preempt " KFD_PREEMPT_VERSION);
    add_verbs(app, arguments, run);

    try {
        app.parse(cli::take_command(argc, argv, arguments.scheduling), argv);
        check_words(arguments, app.got_subcommand("status"));
        check_which(app, arguments);
        cli::check_scheduling(app, arguments.scheduling);
    } catch (const CLI::Success& wanted) { // --help, --version
        std::ostringstream text;
        app.exit(wanted, text, text);
        cli::Report report;
        report.text = text.str();
        return static_cast<int>(cli::write_report(report, false));
    } catch (const CLI::ParseError& error) {
        return usage_error(app, error);
    }
    if (app.got_subcommand("top")) {
        arguments.top.pids = pids_of(arguments);
        arguments.top.container = arguments.container;
        arguments.top.json = arguments.json;
        if (arguments.once) {
            arguments.top.batch = true;
            arguments.top.count = 1;
        }
        return static_cast<int>(cli::top(make_context(), arguments.top));
    }
    const cli::Report report = run(make_context());
    const cli::Exit exit = cli::write_report(report, arguments.json);
    return static_cast<int>(exit == cli::Exit::ok ? cli::stay_attached(report) : exit);
}

// Not a verb for people: the completion of the shells asks it.
int run_complete(int argc, char** argv) {
    CLI::App app;
    Arguments arguments;
    Run run;
    app.add_flag("-j,--json", arguments.json);
    app.add_flag("--version");
    add_verbs(app, arguments, run);
    cli::Grammar grammar;
    const auto options_of = [](const CLI::App& of) {
        std::vector<std::string> words;
        for (const CLI::Option* option : of.get_options())
            for (const std::string& name : option->get_lnames())
                words.push_back("--" + name);
        return words;
    };
    grammar[""] = options_of(app);
    for (const CLI::App* verb : app.get_subcommands({}))
        grammar[verb->get_name()] = options_of(*verb);
    cli::Report report;
    for (const std::string& word : cli::complete(make_context(), grammar, {argv + 2, argv + argc}))
        report.text += word + "\n";
    return static_cast<int>(cli::write_report(report, false));
}

} // namespace

int main(int argc, char** argv) {
    xpreemptd::reserve_standard_streams();
    // Errors are values in here; what still throws is the standard library, out of memory.
    try {
        if (argc >= 2 && std::string_view(argv[1]) == "complete")
            return run_complete(argc, argv);
        if (argc >= 2 && std::string_view(argv[1]) == "verify")
            return static_cast<int>(cli::write_report(cli::run_verify(argv + 1), false));
        return run_command(argc, argv);
    } catch (const std::exception& error) {
        cli::print_message(error.what());
        return static_cast<int>(cli::Exit::failed);
    }
}
