// SPDX-License-Identifier: MIT
// Stops and resumes random queues of a program that knows nothing of it, at random times.
#include "kfd_queues.hpp"
#include "random.hpp"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern "C" {
#include "preempt.h"
#include "wait.h"
}

namespace storm {

namespace {

constexpr int exit_too_few = 120;
constexpr int exit_driver = 121;
constexpr int exit_no_sdma = 122;
constexpr int exit_usage = 64;

struct Options {
    std::uint64_t seed = now_ns();
    std::uint64_t count = 100;
    Range hold_us{0, 5000};
    Range gap_us{0, 20000};
    bool busy = false;
    bool all = false;
    bool sdma = false;
    bool yield = false;
    bool end = false;
    bool quiet = false;
    pid_t pid = 0;
    char** command = nullptr;
};

constexpr const char* usage_text =
    R"(usage: preempt_storm [OPTION]... --pid PID
       preempt_storm [OPTION]... -- PROGRAM [ARGUMENT]...

Stops random compute queues of a process mid-kernel and resumes them, at random
times, until --count stops are made; then lets the process end by itself.

  --seed S        of the random numbers (default: the clock; always printed)
  --count N       stops to make (default 100)
  --hold-us A..B  how long a queue is held (default 0..5000)
  --gap-us A..B   pause between a resume and the next stop (default 0..20000)
  --busy          count only stops that saved running waves (needs debugfs)
  --all           every compute queue at each stop, not some
  --yield         every compute queue at each stop, and the process' memory leaves VRAM until
                  the resume; count only stops that moved memory
  --sdma          stop SDMA queues as well, and count only their stops (needs preempt_sdma=1)
  --end           when the count is reached, send the process SIGRTMIN (--until-told)
  --quiet         no output of our own but errors and the closing line

Exit status: that of PROGRAM (128+N when signal N killed it; 0 with --pid).
120: the process ended before --count stops were made. 121: the driver refused.
122: with --sdma, the driver stops no SDMA queues.
64: usage. However we end, the driver resumes what we hold.

The closing line counts the errors of calls on queues that were destroyed meanwhile:
ENOENT, or ESTALE when another queue has the id by now.
)";

[[noreturn]] void usage(const std::string& what) {
    std::fprintf(stderr, "preempt_storm: %s\n\n%s", what.c_str(), usage_text);
    std::_Exit(exit_usage);
}

std::uint64_t number(std::string_view option, std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        usage(std::string(option) + " needs a number, got '" + std::string(text) + "'");
    return value;
}

Range range(std::string_view option, std::string_view text) {
    constexpr std::uint64_t most_us = 600'000'000;
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos)
        usage(std::string(option) + " needs A..B, got '" + std::string(text) + "'");
    const Range found{number(option, text.substr(0, dots)), number(option, text.substr(dots + 2))};
    if (found.from > found.to || found.to > most_us)
        usage(std::string(option) + " needs A <= B <= 600000000, got '" + std::string(text) + "'");
    return found;
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        const auto value = [&]() -> std::string_view {
            if (++i >= argc)
                usage(std::string(option) + " needs a value");
            return argv[i];
        };
        if (option == "--seed") {
            options.seed = number(option, value());
        } else if (option == "--count") {
            options.count = number(option, value());
        } else if (option == "--hold-us") {
            options.hold_us = range(option, value());
        } else if (option == "--gap-us") {
            options.gap_us = range(option, value());
        } else if (option == "--pid") {
            const std::uint64_t pid = number(option, value());
            if (pid == 0 || pid > 0x7fffffff)
                usage("--pid " + std::string(argv[i]) + ": not a pid");
            options.pid = static_cast<pid_t>(pid);
        } else if (option == "--busy") {
            options.busy = true;
        } else if (option == "--all") {
            options.all = true;
        } else if (option == "--sdma") {
            options.sdma = true;
        } else if (option == "--yield") {
            options.yield = options.all = true;
        } else if (option == "--end") {
            options.end = true;
        } else if (option == "--quiet") {
            options.quiet = true;
        } else if (option == "--help" || option == "-h") {
            std::fputs(usage_text, stdout);
            std::_Exit(0);
        } else if (option == "--") {
            options.command = argv + i + 1;
            break;
        } else {
            usage("unknown option '" + std::string(option) + "'; a program comes after --");
        }
    }
    const bool program = options.command != nullptr && *options.command != nullptr;
    if (program == (options.pid != 0))
        usage("give either --pid PID or -- PROGRAM");
    return options;
}

// The process under the storm: our child, or another process'.
class Target {
public:
    explicit Target(const Options& options) : pid_(options.pid) {
        if (pid_ != 0)
            return;
        child_ = true;
        pid_ = fork();
        if (pid_ < 0) {
            std::perror("preempt_storm: fork");
            std::_Exit(exit_driver);
        }
        if (pid_ == 0) {
            // No program without its storm, also when we are killed outright.
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            execvp(options.command[0], options.command);
            std::fprintf(stderr, "preempt_storm: %s: %s\n", options.command[0],
                         std::strerror(errno));
            std::_Exit(127);
        }
    }
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool ended() {
        if (ended_)
            return true;
        if (child_)
            ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
        else
            ended_ = kill(pid_, 0) != 0 && errno == ESRCH;
        return ended_;
    }
    int wait() {
        if (child_ && !ended_ && waitpid(pid_, &status_, 0) == pid_)
            ended_ = true;
        if (!child_)
            return 0;
        return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
    }

private:
    pid_t pid_ = 0;
    bool child_ = false;
    bool ended_ = false;
    int status_ = 0;
};

struct Counts {
    std::uint64_t stops = 0;
    std::uint64_t busy = 0;   // of them with waves
    std::uint64_t sdma = 0;   // of them of SDMA queues
    std::uint64_t yields = 0; // calls that moved memory
    std::uint64_t unknown = 0;
    std::map<int, std::uint64_t> refused; // by errno
};

constexpr unsigned poll_us = 10000;

class Storm {
public:
    Storm(const Options& options, Target& target, int kfd)
        : options_(options), target_(target), kfd_(kfd), random_(options.seed) {}

    // 0 when the count was reached, else our exit status.
    int run();
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    [[nodiscard]] std::vector<Queue> choose(const std::vector<Queue>& all);
    // False: the driver refused in a way that no storm causes.
    bool stop(const std::vector<Queue>& chosen);
    bool resume();
    bool resume_held();
    void count(const std::vector<Queue>& all);
    [[nodiscard]] bool reached() const {
        // The program has SDMA queues only from its first copy on.
        if (options_.sdma && sdma_possible_)
            return counts_.sdma >= options_.count;
        if (options_.yield)
            return counts_.yields >= options_.count;
        return (options_.busy ? counts_.busy : counts_.stops) >= options_.count;
    }
    [[nodiscard]] bool refused(const char* what, int result, std::uint32_t queue);

    const Options& options_;
    Target& target_;
    int kfd_;
    Random random_;
    Counts counts_;
    std::vector<Queue> held_;
    bool sdma_possible_ = true;
};

std::vector<Queue> Storm::choose(const std::vector<Queue>& all) {
    std::vector<Queue> candidates;
    for (const Queue& queue : all) {
        if (queue.compute || (options_.sdma && sdma_possible_))
            candidates.push_back(queue);
    }
    if (candidates.empty() || options_.all)
        return candidates;
    // One queue half of the time, else any number of them in one call.
    if (random_.below(2) == 0)
        return {candidates[random_.below(candidates.size())]};
    std::vector<Queue> chosen;
    const std::uint64_t bits = random_.next();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (((bits >> (i % 64)) & 1) != 0)
            chosen.push_back(candidates[i]);
    }
    return chosen;
}

// Counts the error. Returns false if a process that creates and destroys queues and ends as it
// likes explains it; ESTALE is a queue that was destroyed and whose id another queue has now.
bool Storm::refused(const char* what, int result, std::uint32_t queue) {
    ++counts_.refused[-result];
    if (result == -ENOENT || result == -ESTALE || result == -ESRCH || result == -EBUSY)
        return false;
    std::fprintf(stderr, "preempt_storm: cannot %s queue %u of pid %d: %s\n", what, queue,
                 target_.pid(), std::strerror(-result));
    return true;
}

bool Storm::stop(const std::vector<Queue>& chosen) {
    std::vector<kfd_preempt_switch_entry> entries(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        entries[i].queue_id = chosen[i].id;
        entries[i].op = KFD_PREEMPT_OP_PREEMPT;
        entries[i].preempt_type = KFD_PREEMPT_TYPE_SAVE;
        entries[i].queue_uid = chosen[i].uid;
    }
    const std::uint32_t flags =
        KFD_PREEMPT_SWITCH_MATCH_UID | (options_.yield ? KFD_PREEMPT_SWITCH_YIELD_MEMORY : 0U);
    const int ret = preempt_switch(kfd_, target_.pid(), flags, entries.data(),
                                   static_cast<std::uint32_t>(entries.size()));
    if (ret != 0)
        return !refused("stop", ret, chosen[0].id);
    bool good = true;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const int result = entries[i].result;
        if (result == 0) {
            held_.push_back(chosen[i]);
        } else if (result == -EOPNOTSUPP && !chosen[i].compute) {
            ++counts_.refused[EOPNOTSUPP];
            sdma_possible_ = false; // a driver that can't says so once
        } else if (refused("stop", result, chosen[i].id)) {
            good = false;
        }
    }
    return good;
}

void Storm::count(const std::vector<Queue>& all) {
    kfd_ioctl_preempt_status_args status;
    if (options_.yield && preempt_status(kfd_, target_.pid(), held_[0].id, &status) == 0 &&
        (status.status & KFD_PREEMPT_STATUS_YIELDED) != 0)
        ++counts_.yields;
    const auto waves = SavedWaves().read(target_.pid(), all);
    for (const Queue& queue : held_) {
        ++counts_.stops;
        counts_.sdma += queue.compute ? 0 : 1;
        if (!queue.compute)
            continue;
        if (!waves) {
            ++counts_.unknown;
            continue;
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].uid == queue.uid && (*waves)[i])
                ++counts_.busy;
        }
    }
}

bool Storm::resume() {
    // A busy process keeps its queues held, so they are resumed again.
    for (; !held_.empty() && !target_.ended(); sleep_us(poll_us))
        if (!resume_held())
            return false;
    held_.clear();
    return true;
}

bool Storm::resume_held() {
    std::vector<kfd_preempt_switch_entry> entries(held_.size());
    for (std::size_t i = 0; i < held_.size(); ++i) {
        entries[i].queue_id = held_[i].id;
        entries[i].op = KFD_PREEMPT_OP_RESUME;
        entries[i].queue_uid = held_[i].uid;
    }
    const std::vector<Queue> queues = std::move(held_);
    held_.clear();
    const int ret = preempt_switch(kfd_, target_.pid(), KFD_PREEMPT_SWITCH_MATCH_UID,
                                   entries.data(), static_cast<std::uint32_t>(entries.size()));
    if (ret != 0)
        return !refused("resume", ret, queues[0].id);
    bool good = true;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const int result = entries[i].result;
        // Another process has the VRAM that this one has yielded.
        const bool has_no_room = options_.yield && result == -ENOSPC;
        if (has_no_room)
            ++counts_.refused[ENOSPC];
        else if (result != 0 && refused("resume", result, entries[i].queue_id))
            good = false;
        if (result == -EBUSY || has_no_room)
            held_.push_back(queues[i]);
    }
    return good;
}

int Storm::run() {
    while (!reached()) {
        if (target_.ended())
            return exit_too_few;
        const Listing listing = queues_of(kfd_, target_.pid());
        const std::vector<Queue>& all = listing.queues;
        if (listing.error == -EBUSY) { // the process is in a call that takes long
            sleep_us(poll_us);
            continue;
        }
        if (listing.error != 0) {
            std::fprintf(stderr, "preempt_storm: cannot read the queues of pid %d: %s\n",
                         target_.pid(), std::strerror(-listing.error));
            return exit_driver;
        }
        const std::vector<Queue> chosen = choose(all);
        if (chosen.empty()) {
            sleep_us(poll_us);
            continue;
        }
        if (!stop(chosen))
            return exit_driver;
        if (held_.empty())
            continue;
        count(all);
        sleep_us(static_cast<unsigned>(random_.in(options_.hold_us)));
        if (!resume())
            return exit_driver;
        sleep_us(static_cast<unsigned>(random_.in(options_.gap_us)));
    }
    return 0;
}

std::string summary(const Options& options, const Counts& counts) {
    std::string text = "preempt_storm: seed " + std::to_string(options.seed) + ": " +
                       std::to_string(counts.stops) + " stops, " + std::to_string(counts.busy) +
                       " with running waves";
    if (counts.unknown > 0)
        text += ", " + std::to_string(counts.unknown) + " nobody knows";
    if (options.sdma)
        text += ", " + std::to_string(counts.sdma) + " of SDMA queues";
    if (options.yield)
        text += ", " + std::to_string(counts.yields) + " with memory moved";
    for (const auto& [error, times] : counts.refused)
        text += ", " + std::to_string(times) + " times " + strerrorname_np(error);
    return text;
}

int main_of(int argc, char** argv) {
    const Options options = parse(argc, argv);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (!options.quiet)
        std::printf("preempt_storm: seed %llu\n", static_cast<unsigned long long>(options.seed));
    const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    kfd_ioctl_preempt_query_args query;
    const int ret = kfd < 0 ? -errno : preempt_query(kfd, 0, &query);
    if (ret != 0 || (query.caps & KFD_PREEMPT_CAP_OPERATOR) == 0) {
        std::fprintf(stderr,
                     "preempt_storm: this driver cannot preempt queues of others (%s); "
                     "`kfd-preempt doctor` says why\n",
                     ret != 0 ? std::strerror(-ret) : "no operator mode");
        return exit_driver;
    }
    if (options.yield && (query.caps & KFD_PREEMPT_CAP_YIELD_MEMORY) == 0) {
        std::fputs("preempt_storm: this driver moves no memory\n", stderr);
        return exit_driver;
    }
    Target target(options);
    Storm storm(options, target, kfd);
    int status = storm.run();
    // Closing the file ends every hold of ours.
    close(kfd);
    if (status == 0 && options.end)
        kill(target.pid(), SIGRTMIN);
    // A program that waits for our SIGTERM would wait for ever.
    if (status == exit_driver && options.command != nullptr)
        kill(target.pid(), SIGKILL);
    const int program_status = target.wait();
    std::printf("%s\n", summary(options, storm.counts()).c_str());
    if (status == 0 && options.sdma && storm.counts().sdma == 0) {
        status = exit_no_sdma;
        std::fprintf(stderr, "preempt_storm: the driver stops no SDMA queues; load amdgpu with "
                             "preempt_sdma=1\n");
    }
    if (status == exit_too_few)
        std::fprintf(stderr,
                     "preempt_storm: the process ended (status %d) before %llu stops were made\n",
                     program_status, static_cast<unsigned long long>(options.count));
    return program_status != 0 && status != exit_driver ? program_status : status;
}

} // namespace

} // namespace storm

int main(int argc, char** argv) {
    return storm::main_of(argc, argv);
}
