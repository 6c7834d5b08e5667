// SPDX-License-Identifier: MIT
// Record of the queues that freeze holds for each cgroup: written before they are stopped, so that
// thaw finds them whatever became of the freeze.
#pragma once

#include "base/unique_fd.hpp"
#include "output/context.hpp"
#include "output/outcome.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace cli {

// Queue ids are reused, uids aren't: an entry never names another queue than it was made for. The
// record has the start of each process, for the entries that name a whole one.
struct FrozenQueue {
    pid_t pid;
    std::uint32_t queue_id;
    std::uint64_t uid;
    auto operator<=>(const FrozenQueue&) const = default;
};

// The driver knows one sticky hold, whoever set it; this file below /run tells those of freeze
// from those of suspend. It goes with a reboot, as the holds do.
class FrozenRecord {
public:
    // Waits for another freeze or thaw, and keeps others waiting as long as this lives.
    static Outcome<FrozenRecord> open(const Context& context);

    // Returns the entries of one cgroup, by its path; an empty set is added if there is none.
    [[nodiscard]] std::set<FrozenQueue>& of(const std::string& cgroup) { return cgroups_[cgroup]; }
    // The other cgroup that has this queue frozen, nullptr: none.
    [[nodiscard]] const std::string* other_holder(const std::string& cgroup,
                                                  const FrozenQueue& queue) const;
    // All of it is replaced at once: a reader, or a death in here, never sees half of it.
    [[nodiscard]] Outcome<void> save();

    // For completion; doesn't wait, and prints nothing when it can't be read.
    static std::vector<std::string> cgroups(const Context& context);

private:
    FrozenRecord(kfd::Roots roots, std::filesystem::path file, xpreempt::UniqueFd lock)
        : roots_(std::move(roots)), file_(std::move(file)), lock_(std::move(lock)) {}
    Outcome<void> load();
    void forget_ended();
    void note_starts();

    kfd::Roots roots_;
    std::filesystem::path file_;
    xpreempt::UniqueFd lock_;
    std::map<pid_t, std::uint64_t> starts_; // ticks since boot; without those that /proc hides
    std::map<std::string, std::set<FrozenQueue>> cgroups_;
};

} // namespace cli
