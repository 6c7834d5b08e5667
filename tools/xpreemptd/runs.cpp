// SPDX-License-Identifier: MIT
// A run ends with its first process, or with the last process of its job on a GPU.
#include "runs.hpp"

#include <algorithm>

namespace xpreemptd {

const Run* Runs::find(std::string_view key) const {
    const auto found = std::ranges::find(processes_, key, key_of_run);
    return found == processes_.end() ? nullptr
                                     : &runs_[static_cast<std::size_t>(found - processes_.begin())];
}

void Runs::add(Run run) {
    const auto again = std::ranges::find(processes_, run.process);
    if (again != processes_.end()) {
        runs_[static_cast<std::size_t>(again - processes_.begin())] = std::move(run);
        return;
    }
    processes_.push_back(run.process);
    runs_.push_back(std::move(run));
}

void Runs::forget_ended(const OriginOf& origin_of,
                        const std::function<bool(const std::string& key)>& has_job) {
    constexpr std::size_t visited = 8;
    for (std::size_t i = std::min(visited, runs_.size()); i > 0; --i) {
        checked_ = checked_ == 0 ? runs_.size() - 1 : checked_ - 1;
        const ProcessName process = processes_[checked_];
        const auto origin = origin_of(process.pid);
        if ((origin && origin->start_ticks == process.start_ticks) || has_job(key_of_run(process)))
            continue;
        const auto at = static_cast<std::ptrdiff_t>(checked_);
        processes_.erase(processes_.begin() + at);
        runs_.erase(runs_.begin() + at);
    }
    checked_ = std::min(checked_, runs_.size());
}

} // namespace xpreemptd
