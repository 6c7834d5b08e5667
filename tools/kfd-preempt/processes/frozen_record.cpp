// SPDX-License-Identifier: MIT
// The file of frozen queues: a lock beside it, JSON in it.
#include "processes/frozen_record.hpp"

#include "kfd/attribute.hpp"
#include "output/names.hpp"
#include "xpreemptd/jobs/process_facts.hpp"
#include "xpreemptd/system/replace_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace cli {

using xpreempt::UniqueFd;

namespace {

constexpr std::size_t file_bytes_max = std::size_t{64} << 20U;

std::filesystem::path directory_of(const Context& context) {
    return context.roots.system / "run/kfd-preempt";
}

tl::unexpected<Failure> cannot(const char* what, const std::filesystem::path& path, int reason) {
    const bool permission = reason == EACCES || reason == EPERM || reason == EROFS;
    return tl::make_unexpected(
        Failure{permission ? Exit::permission : Exit::failed, reason,
                fmt::format("{}: cannot be {}, and thaw needs it to find the queues: {} "
                            "({}){}",
                            path.string(), what, std::strerror(reason), errno_name(reason),
                            permission ? "; run kfd-preempt as root (sudo)" : "")});
}

template <typename T> std::optional<T> number(const Json& item, const char* key) {
    const auto found = item.find(key);
    if (found == item.end() || !found->is_number_unsigned())
        return std::nullopt;
    const auto value = found->get<std::uint64_t>();
    return value > static_cast<std::uint64_t>(std::numeric_limits<T>::max())
               ? std::nullopt
               : std::optional<T>(static_cast<T>(value));
}

std::optional<FrozenQueue> queue_from(const Json& item) {
    if (!item.is_object())
        return std::nullopt;
    const auto pid = number<pid_t>(item, "pid");
    const auto queue_id = number<std::uint32_t>(item, "queue");
    const auto uid = number<std::uint64_t>(item, "uid");
    if (!pid || *pid <= 0 || !queue_id || !uid)
        return std::nullopt;
    return FrozenQueue{*pid, *queue_id, *uid};
}

std::optional<std::uint64_t> start_of(const kfd::Roots& roots, pid_t pid) {
    const auto origin = xpreemptd::origin_of(roots, pid);
    return origin ? std::optional(origin->start_ticks) : std::nullopt;
}

// The part of the file that older versions did not write.
std::map<pid_t, std::uint64_t> parse_starts(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    std::map<pid_t, std::uint64_t> starts;
    if (!json.is_object() || !json.contains("starts") || !json["starts"].is_object())
        return starts;
    for (const auto& [word, ticks] : json["starts"].items())
        if (const auto pid = kfd::parse_unsigned<pid_t>(word); pid && ticks.is_number_unsigned())
            starts[*pid] = ticks.get<std::uint64_t>();
    return starts;
}

// nullopt: not what save() writes.
std::optional<std::map<std::string, std::set<FrozenQueue>>> parse(const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("cgroups") || !json["cgroups"].is_object())
        return std::nullopt;
    std::map<std::string, std::set<FrozenQueue>> cgroups;
    for (const auto& [path, queues] : json["cgroups"].items()) {
        if (!queues.is_array())
            return std::nullopt;
        for (const Json& item : queues) {
            const auto queue = queue_from(item);
            if (!queue)
                return std::nullopt;
            cgroups[path].insert(*queue);
        }
    }
    return cgroups;
}

} // namespace

Outcome<FrozenRecord> FrozenRecord::open(const Context& context) {
    const std::filesystem::path directory = directory_of(context);
    // Pids and queue numbers of other users: for root alone.
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        return cannot("made", directory, errno);
    const std::filesystem::path lock = directory / "frozen.lock";
    UniqueFd fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid())
        return cannot("opened", lock, errno);
    int locked = 0;
    do {
        locked = ::flock(fd.get(), LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0)
        return cannot("locked", lock, errno);
    FrozenRecord record(context.roots, directory / "frozen.json", std::move(fd));
    if (Outcome<void> loaded = record.load(); !loaded)
        return tl::make_unexpected(std::move(loaded.error()));
    return record;
}

// Drops queues whose process has left KFD, or whose pid is another process' by now. Jobs that are
// killed while frozen are never thawed.
void FrozenRecord::forget_ended() {
    const std::filesystem::path processes = roots_.kfd_class() / "proc";
    std::set<pid_t> ended;
    for (auto& [path, queues] : cgroups_)
        for (const FrozenQueue& queue : queues) {
            std::error_code error;
            const auto noted = starts_.find(queue.pid);
            const auto start = noted != starts_.end() ? start_of(roots_, queue.pid) : std::nullopt;
            if (!std::filesystem::exists(processes / std::to_string(queue.pid), error) ||
                (start && *start != noted->second))
                ended.insert(queue.pid);
        }
    for (auto& [path, queues] : cgroups_)
        std::erase_if(queues, [&](const FrozenQueue& queue) { return ended.contains(queue.pid); });
    for (const pid_t pid : ended)
        starts_.erase(pid);
}

// Reads the starts of the processes that have entries now.
void FrozenRecord::note_starts() {
    std::map<pid_t, std::uint64_t> starts;
    for (const auto& [path, queues] : cgroups_)
        for (const FrozenQueue& queue : queues) {
            if (starts.contains(queue.pid))
                continue;
            const auto noted = starts_.find(queue.pid);
            const auto start = noted != starts_.end() ? noted->second : start_of(roots_, queue.pid);
            if (start)
                starts[queue.pid] = *start;
        }
    starts_ = std::move(starts);
}

Outcome<void> FrozenRecord::load() {
    const Result<std::string> text = kfd::read_text(file_, Op::read_proc, file_bytes_max);
    if (!text && text.error().errno_value == ENOENT)
        return {};
    if (!text)
        return cannot("read", file_, text.error().errno_value);
    auto cgroups = parse(*text);
    if (!cgroups)
        return tl::make_unexpected(Failure{
            Exit::failed, EINVAL,
            fmt::format("{}: is damaged: remove it, and resume the queues that are still held "
                        "by `kfd-preempt resume PID` (`kfd-preempt list` shows STICKY)",
                        file_.string())});
    cgroups_ = std::move(*cgroups);
    starts_ = parse_starts(*text);
    forget_ended();
    return {};
}

const std::string* FrozenRecord::other_holder(const std::string& cgroup,
                                              const FrozenQueue& queue) const {
    for (const auto& [path, queues] : cgroups_)
        if (path != cgroup && queues.contains(queue))
            return &path;
    return nullptr;
}

Outcome<void> FrozenRecord::save() {
    note_starts();
    Json json;
    json["schema"] = 1;
    json["cgroups"] = Json::object();
    for (const auto& [path, queues] : cgroups_) {
        for (const FrozenQueue& queue : queues)
            json["cgroups"][path].push_back(
                {{"pid", queue.pid}, {"queue", queue.queue_id}, {"uid", queue.uid}});
    }
    json["starts"] = Json::object();
    for (const auto& [pid, start] : starts_)
        json["starts"][std::to_string(pid)] = start;
    const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (const int failed = xpreemptd::replace_file(file_, text, 0600); failed != 0)
        return cannot("written", file_, failed);
    return {};
}

std::vector<std::string> FrozenRecord::cgroups(const Context& context) {
    const Result<std::string> text =
        kfd::read_text(directory_of(context) / "frozen.json", Op::read_proc, file_bytes_max);
    const auto cgroups = text ? parse(*text) : std::nullopt;
    std::vector<std::string> paths;
    if (cgroups)
        for (const auto& [path, queues] : *cgroups)
            paths.push_back(path);
    return paths;
}

} // namespace cli
