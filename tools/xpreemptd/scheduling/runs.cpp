// SPDX-License-Identifier: MIT
// A run ends with its first process, or with the last process of its job on a GPU. One with a mark
// is kept as long as there is room.
#include "scheduling/runs.hpp"

#include <algorithm>

namespace xpreemptd {

const Run* Runs::find(std::string_view key) const {
    const auto found = std::ranges::find(processes_, key, key_of_run);
    return found == processes_.end() ? nullptr
                                     : &runs_[static_cast<std::size_t>(found - processes_.begin())];
}

const Run* Runs::find_marked(const ProcessFacts& facts) const {
    for (auto mark = facts.run_marks.rbegin(); mark != facts.run_marks.rend(); ++mark) {
        const auto found = std::ranges::find_if(
            runs_, [&](const Run& run) { return run.mark == *mark && run.uid == facts.uid; });
        if (found != runs_.end())
            return &*found;
    }
    return nullptr;
}

bool Runs::has_mark_of_other(const Run& run) const {
    return !run.mark.empty() && std::ranges::any_of(runs_, [&](const Run& other) {
        return other.mark == run.mark && other.process != run.process;
    });
}

bool Runs::has_own_room(uid_t uid) const {
    return std::ranges::count(runs_, uid, &Run::uid) < static_cast<std::ptrdiff_t>(most_of_user);
}

bool Runs::has_room(uid_t uid) const {
    return (uid == 0 || runs_.size() < most) && has_own_room(uid);
}

bool Runs::add(Run run) {
    const auto again = std::ranges::find(processes_, run.process);
    if (again != processes_.end()) {
        runs_[static_cast<std::size_t>(again - processes_.begin())] = std::move(run);
        return true;
    }
    if (!has_room(run.uid))
        return false;
    processes_.push_back(run.process);
    runs_.push_back(std::move(run));
    return true;
}

void Runs::remove(std::size_t at) {
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(at));
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(at));
}

void Runs::forget_ended(uid_t uid, const OriginOf& origin_of,
                        const std::function<bool(const std::string& key)>& has_job) {
    const auto has_ended = [&](const Run& run) {
        return !lives(run.process, origin_of) && !has_job(key_of_run(run.process));
    };
    const bool needs_room = !has_room(uid);
    for (std::size_t i = 0; needs_room && i < runs_.size(); ++i)
        if (runs_[i].uid == uid && has_ended(runs_[i]))
            return remove(i);
    // Another user's run makes no room for this one's, unless there are too many of all.
    if (needs_room && !has_own_room(uid))
        return;
    constexpr std::size_t visited = 8;
    for (std::size_t left = std::min(needs_room ? most_of_user : visited, runs_.size()); left > 0;
         --left) {
        checked_ = checked_ < runs_.size() ? checked_ : 0;
        const Run& run = runs_[checked_];
        if ((!run.mark.empty() && !needs_room) || !has_ended(run)) {
            ++checked_;
            continue;
        }
        remove(checked_);
        if (needs_room)
            return;
    }
}

} // namespace xpreemptd
