// SPDX-License-Identifier: MIT
// Candidates by verb and position.
#include "verbs/complete.hpp"

#include "daemon/daemon.hpp"
#include "processes/cgroup.hpp"
#include "processes/container.hpp"
#include "processes/frozen_record.hpp"
#include "processes/kfd_processes.hpp"
#include "sched/policy.hpp"
#include "streams/streams.hpp"
#include "xpreemptd/protocol/decimal.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cli {

namespace {

using Words = std::vector<std::string>;
using xpreempt::sched::policy_names;

constexpr std::array<std::string_view, 3> options_with_words{"--cgroup", "--container", "--band"};

// Those with queues: this command, and others that only look, are no targets.
Words pids(const Context& context) {
    Words words;
    const auto all = kfd_pids(context);
    for (std::size_t i = 0; all && i < all->size(); ++i)
        if (const auto process = kfd_process(context, (*all)[i]);
            process && !process->queues.empty())
            words.push_back(std::to_string((*all)[i]));
    return words;
}

Words queue_ids(const Context& context, pid_t pid) {
    Words words;
    if (const auto process = kfd_process(context, pid))
        for (const kfd::Queue& queue : process->queues)
            words.push_back(std::to_string(queue.queue_id));
    return words;
}

// Names, and handles of what has none.
template <typename Record> Words labels(const std::vector<Record>& records) {
    Words words;
    for (const Record& record : records) {
        const std::string name(wire::text_of(record.name));
        words.push_back(name.empty() ? hex(record.handle) : name);
    }
    return words;
}

Words objects(const Context& context, pid_t pid, const std::string& kind) {
    const auto views = ask_sockets(context, {target_of(context, pid)}, socket_patience);
    const auto& answer = views.front().answer;
    if (!answer)
        return {};
    return kind == "stream" ? labels(answer->streams) : labels(answer->xqueues);
}

void append(Words& to, const Words& more) {
    to.insert(to.end(), more.begin(), more.end());
}

// Those of processes with queues for freeze, those that are frozen for thaw.
Words cgroups(const Context& context, const std::string& verb) {
    if (verb == "thaw")
        return FrozenRecord::cgroups(context);
    Words words;
    for (const std::string& pid : pids(context))
        words.push_back(cgroup_path_of(context, xpreemptd::decimal<pid_t>(pid).value_or(0)));
    return words;
}

Words containers(const Context& context) {
    Words words;
    for (const std::string& pid : pids(context))
        if (const auto container =
                container_of(context, xpreemptd::decimal<pid_t>(pid).value_or(0)))
            words.push_back(container->short_id());
    return words;
}

// Names, and the first process of each.
Words jobs_of_daemon(const Context& context) {
    Words words;
    const auto daemon = Daemon::connect(context);
    if (!daemon)
        return words;
    const auto jobs = daemon->jobs();
    for (std::size_t i = 0; jobs && i < jobs->size(); ++i) {
        words.push_back((*jobs)[i].report.name);
        if (!(*jobs)[i].report.pids.empty())
            words.push_back(std::to_string((*jobs)[i].report.pids[0]));
    }
    return words;
}

// Candidates for a verb that takes PID [queue|stream|xqueue] ID...
Words of_target(const Context& context, const Words& given) {
    if (given.empty())
        return pids(context);
    const pid_t pid = xpreemptd::decimal<pid_t>(given[0]).value_or(0);
    if (pid <= 0)
        return {};
    if (given.size() == 1) {
        Words words = {"queue", "stream", "xqueue"};
        append(words, queue_ids(context, pid));
        return words;
    }
    if (given[1] == "stream" || given[1] == "xqueue")
        return objects(context, pid, given[1]);
    return queue_ids(context, pid);
}

// Those of "--option=VALUE", as of "--option VALUE".
Words values_of(const Context& context, const Grammar& grammar, Words words,
                const std::string& option, const std::string& value) {
    if (std::ranges::find(options_with_words, option) == options_with_words.end())
        return {};
    words.back() = option;
    words.push_back(value);
    Words found = complete(context, grammar, words);
    for (std::string& word : found)
        word.insert(0, option + "=");
    return found;
}

} // namespace

std::vector<std::string> complete(const Context& context, const Grammar& grammar,
                                  const std::vector<std::string>& words) {
    const std::string prefix = words.empty() ? "" : words.back();
    if (const std::size_t at = prefix.find('=');
        prefix.starts_with("--") && at != std::string::npos)
        return values_of(context, grammar, words, prefix.substr(0, at), prefix.substr(at + 1));
    Words given;
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (!words[i].starts_with('-'))
            given.push_back(words[i]);
    const auto verb = given.empty() ? grammar.end() : grammar.find(given[0]);
    const auto of_all = grammar.find("");
    Words candidates;
    if (given.empty())
        for (const auto& [name, options] : grammar)
            candidates.push_back(name);
    if (words.size() >= 2 && words[words.size() - 2] == "--cgroup") {
        if (verb != grammar.end())
            append(candidates, cgroups(context, given[0]));
    } else if (words.size() >= 2 && words[words.size() - 2] == "--container") {
        append(candidates, containers(context));
    } else if (words.size() >= 2 && words[words.size() - 2] == "--band") {
        append(candidates, {"realtime", "high", "normal", "idle"});
    } else if (prefix.starts_with('-')) {
        if (of_all != grammar.end())
            append(candidates, of_all->second);
        if (verb != grammar.end())
            append(candidates, verb->second);
    } else if (verb != grammar.end()) {
        const Words arguments(given.begin() + 1, given.end());
        if (given[0] == "list" || given[0] == "top" ||
            ((given[0] == "measure" || given[0] == "wait") && arguments.empty()))
            append(candidates, pids(context));
        else if (given[0] == "suspend" || given[0] == "resume" || given[0] == "status")
            append(candidates, of_target(context, arguments));
        else if (given[0] == "renice")
            append(candidates, jobs_of_daemon(context));
        else if (given[0] == "focus") {
            append(candidates, pids(context));
            candidates.emplace_back("none");
        } else if (given[0] == "policy")
            append(candidates, {policy_names.begin(), policy_names.end()});
    }
    // Drop empty names, and words that were given already.
    std::erase_if(candidates, [&](const std::string& word) {
        return word.empty() || !word.starts_with(prefix) ||
               std::ranges::find(given, word) != given.end();
    });
    std::ranges::sort(candidates);
    const auto again = std::ranges::unique(candidates);
    candidates.erase(again.begin(), again.end());
    return candidates;
}

} // namespace cli
