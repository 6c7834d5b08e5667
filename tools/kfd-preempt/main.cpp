// SPDX-License-Identifier: MIT
// kfd-preempt: stop the GPU queues of any process mid-kernel, and let them go on.
#include "kfd/attribute.hpp"
#include "output.hpp"
#include "verbs.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <sys/utsname.h>

namespace {

namespace kfd = xpreempt::kfd;

struct Arguments {
    bool json = false;
    bool force = false;
    std::string pid;
    std::vector<std::string> pids;
    std::vector<std::string> queue_ids;
};

// Names the word that is wrong and where a right one comes from.
std::string check_pid(const std::string& word) {
    const auto pid = kfd::parse_unsigned<pid_t>(word);
    if (pid && *pid > 0)
        return {};
    return fmt::format("'{}' is not a pid: give a number as `kfd-preempt list` shows it", word);
}

std::string check_queue_id(const std::string& word) {
    if (kfd::parse_unsigned<std::uint32_t>(word))
        return {};
    return fmt::format("'{}' is not a queue id: give a number as `kfd-preempt list PID` shows it",
                       word);
}

cli::QueueSelection selection_of(const Arguments& arguments) {
    cli::QueueSelection selection{kfd::parse_unsigned<pid_t>(arguments.pid).value_or(0), {}};
    for (const std::string& word : arguments.queue_ids)
        selection.queue_ids.push_back(kfd::parse_unsigned<std::uint32_t>(word).value_or(0));
    return selection;
}

std::vector<pid_t> pids_of(const Arguments& arguments) {
    std::vector<pid_t> pids;
    for (const std::string& word : arguments.pids) {
        const pid_t pid = kfd::parse_unsigned<pid_t>(word).value_or(0);
        if (std::find(pids.begin(), pids.end(), pid) == pids.end())
            pids.push_back(pid);
    }
    return pids;
}

using Run = std::function<cli::Report(const cli::Context&)>;

void add_queue_arguments(CLI::App* verb, Arguments& arguments, const std::string& what) {
    verb->add_option("PID", arguments.pid, "the process")->required()->check(check_pid);
    verb->add_option("QID", arguments.queue_ids, what)->check(check_queue_id);
}

void add_verbs(CLI::App& app, Arguments& arguments, Run& run) {
    const auto verb = [&](const char* name, const char* what, Run body) {
        CLI::App* added = app.add_subcommand(name, what);
        added->callback([&run, body = std::move(body)] { run = body; });
        return added;
    };

    CLI::App* doctor =
        verb("doctor", "What works on this machine, and what to do about what does not",
             [&](const cli::Context& context) {
                 return cli::doctor(context, kfd::parse_unsigned<pid_t>(arguments.pid));
             });
    doctor->add_option("PID", arguments.pid, "also how far each queue of it can be stopped")
        ->check(check_pid);

    CLI::App* list =
        verb("list", "Queues of all processes, or of those named",
             [&](const cli::Context& context) { return cli::list(context, pids_of(arguments)); });
    list->add_option("PID", arguments.pids, "only these processes")->check(check_pid);

    CLI::App* suspend = verb("suspend", "Stop queues mid-kernel; they stay stopped until resume",
                             [&](const cli::Context& context) {
                                 return cli::suspend(context, selection_of(arguments));
                             });
    add_queue_arguments(suspend, arguments, "only these queues (default: all compute queues)");

    CLI::App* resume =
        verb("resume", "Let suspended queues go on", [&](const cli::Context& context) {
            return cli::resume(context, selection_of(arguments), arguments.force);
        });
    add_queue_arguments(resume, arguments, "only these queues (default: all compute queues)");
    resume->add_flag("-f,--force", arguments.force, "drop the holds of every operator");

    CLI::App* status =
        verb("status", "State, holds and counters of queues", [&](const cli::Context& context) {
            return cli::status(context, selection_of(arguments));
        });
    add_queue_arguments(status, arguments, "only these queues (default: all)");

    verb("version", "Versions of the command, of the ABI and of the loaded driver", cli::version);
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
    } else if (!unknown.empty()) {
        message = fmt::format("'{}' is not an option", unknown[0]);
    } else if (app.get_subcommands().empty()) {
        message = "a verb is missing";
    }
    fmt::print(stderr, "kfd-preempt: {}\nTry `kfd-preempt --help`.\n", message);
    return static_cast<int>(cli::Exit::usage);
}

cli::Context make_context() {
    cli::Context context;
    context.roots = kfd::roots_from_environment();
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
    CLI::App app("Stop the GPU queues of any process mid-kernel, and let them go on.",
                 "kfd-preempt");
    app.require_subcommand(1);
    app.fallthrough();
    app.footer("Exit: 0 done, 1 failed, 2 usage, 3 no preemption on this kernel, 4 not allowed.\n"
               "More: man kfd-preempt");

    Arguments arguments;
    Run run;
    app.add_flag("-j,--json", arguments.json, "print one JSON object, errors included");
    app.set_version_flag("--version", "kfd-preempt " KFD_PREEMPT_VERSION);
    add_verbs(app, arguments, run);

    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) { // --help, --version
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        return usage_error(app, error);
    }
    return static_cast<int>(cli::write_report(run(make_context()), arguments.json));
}

} // namespace

int main(int argc, char** argv) {
    // Errors are values in here; what still throws is the standard library, out of memory.
    try {
        return run_command(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kfd-preempt: %s\n", error.what());
        return static_cast<int>(cli::Exit::failed);
    }
}
