// SPDX-License-Identifier: MIT
// Sums up the hints of a job's connections whenever one of them changes.
#include "jobs/hints.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <utility>

namespace xpreemptd {

namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds hint_interval = std::chrono::milliseconds{1};
constexpr int hints_at_once = 100;
constexpr int pause_of_waste = 9; // of the time that lower jobs waited for nothing

bool within_rate(UserHints& hints, Time now) {
    const Time next = std::max(hints.next_hint, now - hints_at_once * hint_interval);
    if (next > now)
        return false;
    hints.next_hint = next + hint_interval;
    return true;
}

// Notes an announcement that has brought no work, or ends one that would.
void settle_announcement(const Job& job, UserHints& hints, Time now) {
    if (hints.announced_at == job.ready_edges && hints.soon_until != Time{}) {
        const Time end = std::min(now, hints.soon_until);
        // Not if the job had work all the same.
        if (!job.ready && end > hints.soon_since)
            hints.no_soon_before = end + pause_of_waste * (end - hints.soon_since);
    }
    hints.soon_since = hints.soon_until = {};
}

// Each kind of a lasting hint has attributes of its own.
void set_lasting(AttributeChange& change, const Hint& hint) {
    if (const auto* band = std::get_if<BandHint>(&hint)) {
        change.band = band->band;
    } else if (const auto* priority = std::get_if<PriorityHint>(&hint)) {
        change.priority = priority->priority;
    } else if (const auto* others = std::get_if<AttributesHint>(&hint)) {
        const auto [band_kept, priority_kept] = std::pair(change.band, change.priority);
        change = others->change;
        change.band = band_kept;
        change.priority = priority_kept;
    }
}

} // namespace

void Hints::sum_up(Job& job) const {
    bool in_request = false;
    JobHints& hints = job.hints;
    hints.deadline = sched::at_next_event;
    hints.finished_at.reset();
    hints.change = {};
    for (const auto& [connection, client] : clients_) {
        // The job may have come to another user since.
        if (client.job != job.id || !counts_(client.caller, job, BeginHint{}))
            continue;
        in_request = in_request || client.in_request;
        hints.deadline = std::min(hints.deadline, client.deadline);
        hints.finished_at = std::max(hints.finished_at, client.finished_at);
        for_each_attribute([&](const auto& each) {
            AttributeChange alone;
            const auto& value = alone.*each.change = client.change.*each.change;
            auto& highest = hints.change.*each.change;
            if (value && counts_(client.caller, job, AttributesHint{alone}) &&
                (!highest || is_above(*value, *highest)))
                highest = value;
        });
    }
    if (in_request)
        hints.finished_at.reset();
}

Job* Hints::job_of(const Caller& caller, const JobTable& table) const {
    const auto client = clients_.find(caller.connection);
    if (client == clients_.end() || client->second.caller.pid != caller.pid ||
        client->second.caller.uid != caller.uid)
        return nullptr;
    return table.find_id(client->second.job);
}

Answer<bool> Hints::announce(Job& job, const Caller& caller, const SoonHint& soon, Time now) {
    UserHints& hints = job.hints.by_user[caller.uid];
    if (!job.announced(hints, now)) {
        settle_announcement(job, hints, now);
        if (now < hints.no_soon_before)
            return tl::make_unexpected(Refusal{
                EAGAIN,
                fmt::format("the work that was announced last did not come: announce "
                            "again in {} us",
                            std::chrono::ceil<std::chrono::microseconds>(hints.no_soon_before - now)
                                .count())});
        hints.soon_since = now;
        hints.announced_at = job.ready_edges;
    }
    hints.announcer = caller.connection;
    hints.soon_until = std::min<Time>(now + soon.within, hints.soon_since + max_soon);
    return true;
}

Answer<bool> Hints::take(Job& job, const Caller& caller, const Hint& hint, Time now) {
    UserHints& of_user = job.hints.by_user[caller.uid];
    if (!within_rate(of_user, now))
        return tl::make_unexpected(
            Refusal{EAGAIN, "the job sends more than 1000 hints a second: send fewer"});
    Client& client = clients_[caller.connection];
    if (client.job != job.id) // that one has ended, or not begun
        client = {.change = client.change};
    client.job = job.id;
    client.key = job.key;
    client.caller = caller;
    Answer<bool> due = true;
    if (const auto* begin = std::get_if<BeginHint>(&hint)) {
        client.in_request = true;
        client.finished_at.reset();
        client.deadline = begin->deadline ? now + *begin->deadline : sched::at_next_event;
    } else if (std::holds_alternative<EndHint>(hint)) {
        client.in_request = false;
        client.finished_at = job.ready_edges;
        client.deadline = sched::at_next_event;
        settle_announcement(job, of_user, now);
    } else if (const auto* soon = std::get_if<SoonHint>(&hint)) {
        client.finished_at.reset();
        due = announce(job, caller, *soon, now);
    } else {
        set_lasting(client.change, hint);
    }
    sum_up(job);
    return due;
}

void Hints::keep(const Caller& caller, const std::string& key, const Hint& hint) {
    Client& client = clients_[caller.connection];
    client.job = 0;
    client.key = key;
    client.caller = caller;
    kept_ = true;
    set_lasting(client.change, hint);
}

// The process itself may have no queues: a launcher hints for its workers. If they end, the next
// ones get its band.
void Hints::settle(const JobTable& table) {
    if (!std::exchange(kept_, false) && settled_ == table.changes())
        return;
    settled_ = table.changes();
    for (auto& [connection, client] : clients_) {
        if (client.job != 0 && table.find_id(client.job) != nullptr)
            continue;
        if (client.job != 0)
            client = {.key = client.key, .caller = client.caller, .change = client.change};
        Job* job = table.find_pid(client.caller.pid).job;
        if (job == nullptr)
            job = table.find_key(client.key);
        if (job == nullptr)
            continue;
        client.job = job->id;
        client.key = job->key;
        sum_up(*job);
    }
}

bool Hints::forget(JobTable& table, std::uint64_t connection, Time now) {
    const auto client = clients_.find(connection);
    if (client == clients_.end())
        return false;
    const std::uint64_t id = client->second.job;
    const uid_t uid = client->second.caller.uid;
    clients_.erase(client);
    const auto job = std::ranges::find(table.jobs(), id, [](const auto& of) { return of->id; });
    if (job == table.jobs().end())
        return false;
    UserHints& of_user = (*job)->hints.by_user[uid];
    if (of_user.announcer == connection)
        settle_announcement(**job, of_user, now);
    sum_up(**job);
    return true;
}

} // namespace xpreemptd
