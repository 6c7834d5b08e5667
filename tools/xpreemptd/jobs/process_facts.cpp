// SPDX-License-Identifier: MIT
// Reads stat, status, exe and cgroup of a process.
#include "jobs/process_facts.hpp"

#include "base/unique_fd.hpp"
#include "jobs/cgroup_path.hpp"
#include "kfd/attribute.hpp"
#include "protocol/run_mark.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <string_view>
#include <system_error>

namespace xpreemptd {

namespace {

using xpreempt::Op;
using xpreempt::Result;

// Words of /proc/PID/stat after the name, from 1.
constexpr int parent_word = 2, nice_word = 17, start_word = 20, real_time_word = 38,
              policy_word = 39;
// Words of the line Uid: real, effective, saved, of file accesses.
constexpr int effective_word = 2;

// Empty if there aren't so many.
std::string_view word(std::string_view text, char separator, int number) {
    for (; number > 1; --number) {
        const std::size_t end = text.find(separator);
        if (end == std::string_view::npos)
            return {};
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find(separator));
}

// Reads the main thread's. The policy counts, not the field `priority`, which a lock may raise for
// a while.
std::int32_t cpu_priority_of(std::string_view words) {
    constexpr std::int32_t real_time = 100, of_deadlines = 200;
    switch (kfd::parse_unsigned<unsigned>(word(words, ' ', policy_word)).value_or(SCHED_OTHER)) {
    case SCHED_FIFO:
    case SCHED_RR:
        return real_time + kfd::parse_unsigned<std::uint8_t>(word(words, ' ', real_time_word))
                               .value_or(std::uint8_t{0});
    case SCHED_DEADLINE: return of_deadlines;
    default: break;
    }
    const std::string_view text = word(words, ' ', nice_word);
    std::int32_t nice = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), nice);
    return error == std::errc{} && end == text.data() + text.size() ? -std::clamp(nice, -20, 19)
                                                                    : 0;
}

struct Stat {
    std::string comm;
    ProcessOrigin origin;
    bool has_ended = false; // the thread
};

std::optional<Stat> parse_stat(std::string_view text) {
    // The name may contain anything, ") (" too; after it there are numbers and one letter.
    const std::size_t begin = text.find('('), end = text.rfind(") ");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        return std::nullopt;
    const std::string_view words = text.substr(end + 2);
    const auto parent = kfd::parse_unsigned<pid_t>(word(words, ' ', parent_word));
    const auto start = kfd::parse_unsigned<std::uint64_t>(word(words, ' ', start_word));
    if (!parent || !start)
        return std::nullopt;
    return Stat{std::string(text.substr(begin + 1, end - begin - 1)),
                {*parent, *start, cpu_priority_of(words)},
                words.starts_with('Z') || words.starts_with('X')};
}

std::string without_deleted(std::string text) {
    constexpr std::string_view mark = " (deleted)"; // of a file or a cgroup that was removed
    if (text.ends_with(mark))
        text.resize(text.size() - mark.size());
    return text;
}

// Whether `path` is `below` or above it.
bool is_at_or_above(std::string_view path, std::string_view below) {
    return path == "/" || path == below ||
           (below.starts_with(path) && below.substr(path.size()).starts_with('/'));
}

bool tracks_jobs(std::string_view controllers) {
    constexpr std::array<std::string_view, 4> tracking{"freezer", "memory", "devices", "pids"};
    while (!controllers.empty()) {
        const std::string_view name = controllers.substr(0, controllers.find(','));
        if (std::ranges::find(tracking, name) != tracking.end())
            return true;
        controllers.remove_prefix(std::min(controllers.size(), name.size() + 1));
    }
    return false;
}

// Version 2 has no controllers in its line. On version 1, and where both are mounted, systemd has a
// hierarchy without controllers, "name=systemd". Docker leaves the process in the engine's own
// cgroup of version 2 then, so systemd's comes first. Slurm on version 1 leaves it in
// slurmd.service there, and puts it into hierarchies with controllers. systemd itself uses these
// down to some slice or unit only, so a path that leads elsewhere is another job's.
std::string cgroup_of(std::string_view text) {
    const std::vector<CgroupLine> lines = cgroup_lines(text);
    std::string_view unified, systemd, elsewhere;
    for (const auto& [controllers, path] : lines) {
        if (controllers.empty())
            unified = path;
        else if (controllers == "name=systemd")
            systemd = path;
    }
    const std::string_view base = systemd.empty() ? unified : systemd;
    for (const auto& [controllers, path] : lines)
        if (tracks_jobs(controllers) && !is_at_or_above(path, base) &&
            path.size() > elsewhere.size())
            elsewhere = path;
    return without_deleted(std::string(elsewhere.empty() ? base : elsewhere));
}

// Root's directory: a user can't write there, as he can into his environment.
std::string slurm_partition_of(const kfd::Roots& roots, std::string_view cgroup) {
    const auto job = slurm_job_of(cgroup);
    if (!job)
        return {};
    const auto text = kfd::read_text(roots.system / "run/kfd-preempt/slurm" / *job, Op::read_proc);
    return text ? text->substr(0, text->find('\n')) : std::string();
}

// Opened once: the files below it are those of one process, also if it ends and its pid is reused.
xpreempt::UniqueFd open_process(const kfd::Roots& roots, pid_t pid) {
    return xpreempt::UniqueFd(
        ::open((roots.proc / std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

tl::unexpected<xpreempt::Error> gone(pid_t pid) {
    return xpreempt::fail(ESRCH, Op::read_proc, static_cast<std::uint32_t>(pid));
}

// The directory of a thread that runs. The main thread may end before the others; then the kernel
// shows "/" for its cgroup on version 1, and no executable.
std::filesystem::path running_thread(const std::filesystem::path& process, const Stat& main) {
    if (!main.has_ended)
        return process;
    for (const std::string& name : kfd::entries_of(process / "task")) {
        const std::filesystem::path thread = process / "task" / name;
        const auto text = kfd::read_text(thread / "stat", Op::read_proc);
        const auto stat = text ? parse_stat(*text) : std::nullopt;
        if (stat && !stat->has_ended)
            return thread;
    }
    return process;
}

// The names alone: nothing is opened that the process could make block. `run` passes over a number
// that is taken, so a mark may be behind one.
std::vector<std::string> run_marks_of(const std::filesystem::path& process) {
    std::vector<std::string> marks;
    for (int i = 0; i < most_run_marks; ++i) {
        std::error_code error;
        std::string mark = std::filesystem::read_symlink(
                               process / "fd" / std::to_string(first_run_mark + i), error)
                               .string();
        if (mark.starts_with("pipe:["))
            marks.push_back(std::move(mark));
    }
    return marks;
}

} // namespace

Result<ProcessFacts> facts_of(const kfd::Roots& roots, pid_t pid) {
    const xpreempt::UniqueFd process = open_process(roots, pid);
    if (!process.valid())
        return gone(pid);
    const std::filesystem::path directory = "/proc/self/fd/" + std::to_string(process.get());
    const Result<std::string> stat_text = kfd::read_text(directory / "stat", Op::read_proc);
    const Result<std::string> status = kfd::read_text(directory / "status", Op::read_proc, 16384);
    if (!stat_text || !status)
        return gone(pid);
    const std::optional<Stat> stat = parse_stat(*stat_text);
    const std::string uids = kfd::field_of(*status, "Uid").value_or("");
    const auto uid = kfd::parse_unsigned<uid_t>(word(uids, '\t', effective_word));
    if (!stat || !uid)
        return gone(pid);

    ProcessFacts facts{pid, stat->origin.start_ticks, stat->origin.parent, *uid, stat->comm, {}, {},
                       {}};
    std::error_code error;
    const std::filesystem::path thread = running_thread(directory, *stat);
    facts.executable =
        without_deleted(std::filesystem::read_symlink(thread / "exe", error).string());
    if (const auto text = kfd::read_text(thread / "cgroup", Op::read_proc, 1U << 16U))
        facts.cgroup = cgroup_of(*text);
    facts.slurm_partition = slurm_partition_of(roots, facts.cgroup);
    facts.cpu_priority = stat->origin.cpu_priority;
    facts.run_marks = run_marks_of(thread);
    return facts;
}

Result<ProcessOrigin> origin_of(const kfd::Roots& roots, pid_t pid) {
    const Result<std::string> text =
        kfd::read_text(roots.proc / std::to_string(pid) / "stat", Op::read_proc);
    const std::optional<Stat> stat = text ? parse_stat(*text) : std::nullopt;
    if (!stat)
        return gone(pid);
    return stat->origin;
}

} // namespace xpreemptd
