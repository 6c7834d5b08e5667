// SPDX-License-Identifier: MIT
// Attributes are written as requests have them; a key is the rest of its line.
#include "scheduling/kept_state.hpp"

#include "kfd/attribute.hpp"
#include "protocol/requests.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace xpreemptd {

namespace {

using xpreempt::kfd::parse_unsigned;

constexpr std::string_view no_mark = "-";

// Words between single blanks; the rest may have blanks itself.
class Words {
public:
    explicit Words(std::string_view line) : rest_(line) {}
    std::string_view next() {
        const std::string_view word = rest_.substr(0, rest_.find(' '));
        rest_.remove_prefix(std::min(rest_.size(), word.size() + 1));
        return word;
    }
    [[nodiscard]] std::string rest() const { return std::string(rest_); }

private:
    std::string_view rest_;
};

std::string text_of(const AttributeChange& change) {
    return text_of(Request(AdoptRequest{change}));
}

std::optional<AttributeChange> parse_change(std::string_view text) {
    const Answer<Request> request = parse_request(text);
    const auto* adopt = request ? std::get_if<AdoptRequest>(&*request) : nullptr;
    return adopt != nullptr ? std::optional(adopt->change) : std::nullopt;
}

// "UID:REST"; without a user the whole word is the rest.
std::pair<std::optional<uid_t>, std::string_view> parse_of_user(std::string_view word) {
    const auto colon = word.find(':');
    const auto uid = parse_unsigned<uid_t>(word.substr(0, colon));
    if (colon == std::string_view::npos || !uid)
        return {std::nullopt, word};
    return {uid, word.substr(colon + 1)};
}

std::string text_of(const Choices& choices) {
    return fmt::format("{} {}:{}", text_of(choices.by_root), choices.owner,
                       text_of(choices.by_owner));
}

// older_owner: of choices that name no user; nothing: they are left out.
std::optional<Choices> parse_choices(std::string_view of_root, std::string_view of_owner,
                                     std::optional<uid_t> older_owner) {
    const auto [uid, text] = parse_of_user(of_owner);
    const auto by_root = parse_change(of_root);
    const auto by_owner = parse_change(text);
    if (!by_root || !by_owner)
        return std::nullopt;
    const std::optional<uid_t> owner = uid ? uid : older_owner;
    return owner ? Choices{*by_root, *by_owner, *owner} : Choices{*by_root, {}};
}

std::optional<ProcessName> parse_process(Words& words) {
    const auto pid = parse_unsigned<pid_t>(words.next());
    const auto start = parse_unsigned<std::uint64_t>(words.next());
    return pid && start ? std::optional(ProcessName{*pid, *start}) : std::nullopt;
}

void parse_line(std::string_view line, KeptState& state) {
    Words words(line);
    const std::string_view what = words.next();
    if (what == "run") {
        const auto process = parse_process(words);
        const auto by_root = words.next(), by_owner = words.next();
        const auto uid = parse_unsigned<uid_t>(words.next());
        const auto choices = parse_choices(by_root, by_owner, uid);
        std::string mark(words.next());
        if (process && choices && uid && !mark.empty())
            state.runs.push_back(
                {*process, *choices, *uid, mark == no_mark ? "" : std::move(mark)});
    } else if (what == "job") {
        const auto focus_of = parse_of_user(words.next()).first;
        const auto by_root = words.next(), by_owner = words.next();
        if (const auto choices = parse_choices(by_root, by_owner, {}))
            state.jobs[words.rest()] = {*choices, focus_of};
    } else if (what == "member") {
        if (const auto process = parse_process(words))
            state.members[*process] = words.rest();
    }
}

} // namespace

KeptState state_of(const Runs& runs, const JobTable& table) {
    KeptState state;
    state.runs.assign(runs.all().begin(), runs.all().end());
    for (const auto& job : table.jobs()) {
        if (job->focus_of || job->choices != Choices{})
            state.jobs[job->key] = {job->choices, job->focus_of};
        if (!identity_of_key(job->key))
            continue;
        for (const auto& process : job->processes)
            state.members[{process->facts.pid, process->facts.start_ticks}] = job->key;
    }
    return state;
}

std::string text_of(const KeptState& state) {
    std::string text;
    const auto to = std::back_inserter(text);
    for (const Run& run : state.runs)
        fmt::format_to(to, "run {} {} {} {} {}\n", run.process.pid, run.process.start_ticks,
                       text_of(run.choices), run.uid, run.mark.empty() ? no_mark : run.mark);
    for (const auto& [key, job] : state.jobs)
        fmt::format_to(to, "job {} {} {}\n",
                       job.focus_of ? fmt::format("{}:focused", *job.focus_of) : "-",
                       text_of(job.choices), key);
    for (const auto& [process, key] : state.members)
        fmt::format_to(to, "member {} {} {}\n", process.pid, process.start_ticks, key);
    return text;
}

KeptState parse_state(std::string_view text) {
    KeptState state;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        parse_line(line, state);
    }
    return state;
}

tl::expected<KeptState, std::string> read_state(const std::filesystem::path& file) {
    // As many runs as there may be, each in a cgroup with a path of 4 KiB, and as many jobs.
    constexpr std::size_t most = std::size_t{1} << 26;
    struct stat status{};
    if (::lstat(file.c_str(), &status) != 0) {
        if (errno == ENOENT)
            return KeptState{};
        return tl::make_unexpected(std::string(std::strerror(errno)));
    }
    // In a directory of others anyone could have made it.
    if (!S_ISREG(status.st_mode))
        return tl::make_unexpected(std::string("it is no regular file"));
    if (status.st_uid != ::geteuid())
        return tl::make_unexpected(fmt::format("it is user {}'s", status.st_uid));
    const auto text = xpreempt::kfd::read_text(file, xpreempt::Op::argument, most);
    if (!text)
        return tl::make_unexpected(std::string(std::strerror(text.error().errno_value)));
    return parse_state(*text);
}

} // namespace xpreemptd
