// SPDX-License-Identifier: MIT
// A policy of a plug-in, as a value: the bytes of its state, and the checks of what it decides.
#pragma once

#include "sched/seats.hpp"
#include "sched/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): of the C interface
struct xp_policy_plugin;

namespace xpreempt::sched {

// How a decision broke the rules of xpreempt/policy_plugin.h.
struct PluginFault {
    enum class Kind : std::uint8_t {
        wrong_verdict,
        held_idle,
        held_of_others,
        no_next_time,
        wrote_behind_state,
        wrote_behind_job_states,
        wrote_behind_verdicts
    };
    Kind kind{};
    std::uint64_t job = 0;  // id, if one job is to blame
    std::int64_t value = 0; // the verdict, or the time in ns

    bool operator==(const PluginFault&) const = default;
    // The rule that it broke, as the end of a sentence that begins with its name.
    [[nodiscard]] std::string text() const;
};

struct PluginParameter {
    std::string_view name, meaning;
    bool is_duration = false; // in ns
    std::int64_t value = 0, least = 0, most = 0;
};

// As the alternatives of Policy, see policy.hpp. The plug-in sees the jobs by their ids, so the
// order in the snapshot can't matter. After a fault every job runs and the plug-in isn't called.
class Plugin {
public:
    // Without a library it never holds a job.
    Plugin() = default;
    // The pointer keeps the library loaded; what it points to was checked.
    explicit Plugin(std::shared_ptr<const xp_policy_plugin> library);

    [[nodiscard]] std::string_view name() const;
    // With the values that this policy has.
    [[nodiscard]] std::vector<PluginParameter> parameters() const;
    void set_value(std::size_t parameter, std::int64_t value) { values_.at(parameter) = value; }

    void admit(std::span<const JobView> jobs);
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const std::optional<PluginFault>& fault() const { return fault_; }

    bool operator==(const Plugin& other) const;

private:
    // Where the state of a job lies in job_states_, counted in states.
    struct Slot {
        static constexpr std::uint32_t none = UINT32_MAX;
        std::uint32_t at = none;
        bool operator==(const Slot&) const = default;
    };
    using Bytes = std::vector<std::byte>; // a state and the canary behind it

    void show(std::span<const JobView> jobs);
    [[nodiscard]] std::optional<PluginFault> find_overrun() const;
    [[nodiscard]] std::optional<PluginFault> take(const Snapshot& snapshot,
                                                  std::span<Verdict> verdicts) const;

    std::shared_ptr<const xp_policy_plugin> library_;
    std::vector<std::int64_t> values_;
    Seats<Slot> seats_;
    Bytes state_, job_states_;
    std::optional<PluginFault> fault_;
    // Shown to the plug-in, and its answer: of the call under way.
    Bytes jobs_, verdicts_;
};

} // namespace xpreempt::sched
