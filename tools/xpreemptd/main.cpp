// SPDX-License-Identifier: MIT
// xpreemptd: shares the GPUs of this machine between programs, the important ones first.
#include "driver/kfd_provider.hpp"
#include "protocol/printable.hpp"
#include "protocol/standard_streams.hpp"
#include "rules/rules_reader.hpp"
#include "scheduling/daemon.hpp"
#include "server/loop.hpp"
#include "server/server.hpp"
#include "system/log_stream.hpp"
#include "system/real_time.hpp"
#include "system/service_manager.hpp"
#include "system/surroundings.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace {

using namespace xpreemptd;

constexpr int exit_usage = 2;
constexpr const char* default_file = "/etc/xpreemptd.toml";

struct Options {
    std::filesystem::path config;
    bool check = false;
    bool verbose = false;
};

LogStream& log_stream() {
    static LogStream stream(STDERR_FILENO);
    return stream;
}

void write_line(LogLevel level, const std::string& line) {
    log_stream().write(level, line);
}

// A line for each error of the rules.
void write_lines(LogLevel level, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find('\n');
        write_line(level, std::string(text.substr(0, end)));
        if (end == std::string_view::npos)
            return;
        text.remove_prefix(end + 1);
    }
}

int fail(const std::string& why) {
    write_lines(LogLevel::error, why);
    return 1;
}

int print(std::string_view text) {
    const std::string lost = write_output(text);
    return lost.empty() ? 0 : fail(lost);
}

xpreempt::UniqueFd block_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
        sigaddset(&set, signal);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0)
        return {};
    return xpreempt::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// A descriptor each for a thousand clients.
void allow_many_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

// An event must not wait for a CPU on which a job spins. Without the right the daemon runs as it
// is.
void run_before_others() {
    if (const int error = become_real_time())
        write_line(LogLevel::notice,
                   fmt::format("no real-time priority ({}): reactions take longer on a busy CPU; "
                               "CAP_SYS_NICE allows it",
                               std::strerror(error)));
}

class Signals {
public:
    explicit Signals(xpreempt::UniqueFd fd) : fd_(std::move(fd)) {}
    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] bool end() const { return end_; }

    void take(RulesReader& reader) {
        signalfd_siginfo info{};
        while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
            if (info.ssi_signo == SIGHUP)
                reader.begin();
            else
                end_ = true;
        }
    }

private:
    xpreempt::UniqueFd fd_;
    bool end_ = false;
};

void reload(Daemon& daemon, RulesReader& reader) {
    auto rules = reader.take();
    if (rules && *rules)
        daemon.reload(std::move(**rules));
    else if (rules)
        write_lines(LogLevel::error,
                    fmt::format("not reloaded, the old rules apply: {}", rules->error()));
}

// Only the plug-in of these rules is used, so no name is looked up.
RulesReader::Answer read_for_plugin(const Options& options) {
    const auto any = [](const std::string&) { return FoundUser(std::optional<uid_t>(0)); };
    return read_rules(options.config, {.user_lookup = any, .group_lookup = any});
}

// systemd's, when it asks for one. The scans wake us often enough.
class Watchdog {
public:
    void kick() {
        const auto now = std::chrono::steady_clock::now();
        if (interval_ == std::chrono::microseconds{} || now < next_)
            return;
        notify_service_manager("WATCHDOG=1");
        next_ = now + interval_;
    }

private:
    std::chrono::microseconds interval_ = watchdog_timeout() / 2;
    std::chrono::steady_clock::time_point next_;
};

// A program that cleans up in /run may remove the socket of a daemon that runs.
class SocketGuard {
public:
    explicit SocketGuard(Server& server) : server_(server) {}

    void restore() {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_)
            return;
        next_ = now + std::chrono::seconds{1};
        const auto restored = server_.keep_listening();
        if (restored.value_or(false))
            write_line(LogLevel::warning,
                       fmt::format("{} was removed: listens there again", server_.path().string()));
        else if (!restored && !failed_)
            write_line(LogLevel::error, fmt::format("the socket was removed, and {}; trying again",
                                                    restored.error()));
        failed_ = !restored;
    }

private:
    Server& server_;
    std::chrono::steady_clock::time_point next_;
    bool failed_ = false;
};

int run(const Options& options, Rules rules) {
    const kfd::Roots roots = kfd::roots_from_environment();
    const SocketFile socket = rules.socket_file();
    log_stream().stop_waiting(); // no job on a GPU waits for the reader of the log
    allow_many_descriptors();
    const auto warnings = check_surroundings(roots);
    if (!warnings)
        return fail(warnings.error());
    for (const std::string& warning : *warnings)
        write_line(LogLevel::warning, warning);
    auto provider = KfdProvider::open(roots);
    if (!provider)
        return fail(provider.error());
    Signals signals(block_signals());
    auto loop = Loop::make();
    auto reader = RulesReader::make([config = options.config] { return read_rules(config); });
    if (!loop || !reader || signals.fd() < 0)
        return fail(fmt::format("starting: {}", std::strerror(errno)));
    run_before_others();

    Daemon daemon(
        **provider, std::move(rules), [&](pid_t pid) { return facts_of(roots, pid); },
        [&](pid_t pid) -> std::optional<ProcessOrigin> {
            const auto origin = origin_of(roots, pid);
            return origin ? std::optional(*origin) : std::nullopt;
        },
        std::chrono::steady_clock::now, write_line);
    if (options.verbose)
        daemon.log_each_switch();
    daemon.keep_state_in(socket.path.parent_path() / "state");
    daemon.set_read_again([&] { return read_for_plugin(options); });
    bool ok = loop->watch(signals.fd(), [&] { signals.take(*reader); }).has_value();
    ok = ok && loop->watch(reader->fd(), [&] { reload(daemon, *reader); });
    if ((*provider)->event_fd() >= 0)
        ok = ok && loop->watch((*provider)->event_fd(), [&] { daemon.on_events(); });
    if ((*provider)->moved_fd() >= 0)
        ok = ok && loop->watch((*provider)->moved_fd(), [&] { daemon.on_moved(); });
    if (!ok)
        return fail(fmt::format("starting: {}", std::strerror(errno)));
    auto server = Server::open(*loop, daemon, socket);
    if (!server)
        return fail(server.error());
    daemon.start();
    if (const int error = notify_service_manager("READY=1"))
        write_line(
            LogLevel::warning,
            fmt::format("systemd was not told that the daemon is ready: {}", std::strerror(error)));
    Watchdog watchdog;
    SocketGuard socket_guard(**server);
    while (!signals.end()) {
        if (auto waited = loop->wait_until(daemon.next()); !waited)
            return fail(fmt::format("waiting: {}", std::strerror(waited.error().errno_value)));
        if (std::chrono::steady_clock::now() >= daemon.next())
            daemon.on_time();
        if (regain_real_time())
            write_line(LogLevel::warning,
                       fmt::format("a turn took more than {} ms of CPU time, as where memory is "
                                   "short: it ended without real-time priority",
                                   longest_turn_us / 1000));
        watchdog.kick();
        socket_guard.restore();
    }
    notify_service_manager("STOPPING=1");
    return 0; // the driver resumes what the provider has stopped
}

std::string result_of_check(const Rules& rules, const std::string& file) {
    const std::size_t count = rules.rules.size();
    std::string text =
        fmt::format("{}: correct, {} {}\n", file, count, count == 1 ? "rule" : "rules");
    if (const std::string ignored = ignored_by(rules.policy_name, rules.set_by_any());
        !ignored.empty())
        text += fmt::format("{}: {}\n", file, ignored);
    return text;
}

int run_command(int argc, char** argv) {
    CLI::App app("Shares the GPUs of this machine between programs, the important ones first.",
                 "xpreemptd");
    Options options;
    app.add_option("-c,--config", options.config,
                   "rules file (default: none; with --check /etc/xpreemptd.toml)")
        ->check([](const std::string& word) { // of a variable that is not set
            return word.empty() ? "the name of the file is empty: give a path" : "";
        });
    app.add_flag("--check", options.check, "check the rules file and exit");
    app.add_flag("-v,--verbose", options.verbose, "report each stop and resume");
    app.set_version_flag("--version", "xpreemptd " KFD_PREEMPT_VERSION);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {
        std::ostringstream text;
        app.exit(wanted, text, text);
        return print(text.str());
    } catch (const CLI::ParseError& error) {
        write_message(fmt::format("xpreemptd: {}\nTry `xpreemptd --help`.\n",
                                  printable_message(error.what())));
        return exit_usage;
    }
    if (options.check && options.config.empty())
        options.config = default_file;
    auto rules = read_rules(options.config, {.leaves_out_after_crash = !options.check});
    if (!rules)
        return fail(rules.error());
    if (options.check)
        return print(result_of_check(*rules, printable_line(options.config.string())));
    return run(options, std::move(*rules));
}

} // namespace

int main(int argc, char** argv) {
    reserve_standard_streams();
    std::signal(SIGPIPE, SIG_IGN); // of the program that reads the log
    // Errors are values in here; what still throws is the standard library, out of memory.
    try {
        return run_command(argc, argv);
    } catch (const std::exception& error) {
        write_message(fmt::format("xpreemptd: {}\n", error.what()));
        return 1;
    }
}
