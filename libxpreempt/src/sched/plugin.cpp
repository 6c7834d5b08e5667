// SPDX-License-Identifier: MIT
// Shows the jobs to the plug-in in C, and takes nothing that it says on trust.
#include "sched/plugin.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <xpreempt/policy_plugin.h>

namespace xpreempt::sched {

namespace {

constexpr std::size_t canary_bytes = 64;
constexpr std::byte canary{0xa5};

static_assert(at_next_event.time_since_epoch().count() == XP_PLUGIN_NEVER);
static_assert(static_cast<int>(Band::realtime) == XP_PLUGIN_REALTIME);
static_assert(static_cast<int>(Band::idle) == XP_PLUGIN_IDLE);
static_assert(std::is_trivially_copyable_v<xp_plugin_job> && sizeof(xp_plugin_job) == 104);

std::vector<std::byte> with_canary(std::size_t size) {
    std::vector<std::byte> bytes(size + canary_bytes);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), canary);
    return bytes;
}

bool is_overrun(const std::vector<std::byte>& bytes) {
    return std::any_of(bytes.end() - canary_bytes, bytes.end(),
                       [](std::byte byte) { return byte != canary; });
}

std::int64_t ns_of(Time time) {
    return time.time_since_epoch().count();
}

std::uint8_t flag(bool truth) {
    return truth ? 1 : 0;
}

// An attribute as C has it.
template <typename Value> auto plain(Value value) {
    if constexpr (std::is_same_v<Value, Duration>)
        return value.count();
    else if constexpr (std::is_same_v<Value, Band>)
        return static_cast<std::uint32_t>(value);
    else if constexpr (std::is_same_v<Value, bool>)
        return flag(value);
    else
        return value;
}

xp_plugin_job c_job_of(const JobView& job) {
    xp_plugin_job shown{};
    shown.id = job.id;
    shown.nodes = job.nodes;
    shown.ready_since = ns_of(job.ready_since);
    shown.ready_edges = job.ready_edges;
    shown.deadline = ns_of(job.deadline);
    shown.soon_since = ns_of(job.soon_since);
    shown.soon_until = ns_of(job.soon_until);
#define JOB_ATTRIBUTE(kind, name, least, most, initial, view, ...) shown.view = plain(job.view);
#define ATTRIBUTE JOB_ATTRIBUTE
#define VIEW_ATTRIBUTE(type, view, initial) shown.view = plain(job.view);
#include "base/attributes.def"
    shown.schedulable = flag(job.schedulable());
    shown.ready = flag(job.ready);
    shown.held = flag(job.held);
    shown.held_by_others = flag(job.held_by_others);
    shown.finished = flag(job.finished);
    return shown;
}

} // namespace

std::string PluginFault::text() const {
    switch (kind) {
    case Kind::wrong_verdict:
        return "gave job " + std::to_string(job) + " the verdict " + std::to_string(value) +
               ", expected 0 (run) or 1 (hold)";
    case Kind::held_idle: return "held job " + std::to_string(job) + ", which has no work";
    case Kind::held_of_others:
        return "held job " + std::to_string(job) + ", which others hold already";
    case Kind::no_next_time:
        return "returned " + std::to_string(value) +
               " ns as the time until its next call, expected more than 0";
    case Kind::wrote_behind_state: return "wrote past the end of its state";
    case Kind::wrote_behind_job_states: return "wrote past the end of the states of the jobs";
    case Kind::wrote_behind_verdicts: return "wrote past the end of the verdicts";
    }
    return "broke a rule";
}

Plugin::Plugin(std::shared_ptr<const xp_policy_plugin> library) : library_(std::move(library)) {
    state_ = with_canary(library_->state_bytes);
    for (std::uint64_t i = 0; i < library_->num_parameters; ++i)
        values_.push_back(library_->parameters[i].value);
    admit({});
}

std::string_view Plugin::name() const {
    return library_ ? library_->name : "";
}

std::vector<PluginParameter> Plugin::parameters() const {
    std::vector<PluginParameter> parameters;
    for (std::size_t i = 0; i < values_.size(); ++i) {
        const xp_plugin_parameter& of = library_->parameters[i];
        parameters.push_back({of.name, of.meaning != nullptr ? of.meaning : "",
                              of.unit == XP_PLUGIN_DURATION, values_[i], of.least, of.most});
    }
    return parameters;
}

void Plugin::admit(std::span<const JobView> jobs) {
    seats_.admit(jobs);
    if (!library_)
        return;
    const std::size_t size = library_->job_state_bytes;
    Bytes states = with_canary(jobs.size() * size);
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
        const std::uint32_t old = seats_[rank].at;
        if (old != Slot::none)
            std::copy_n(job_states_.begin() + static_cast<std::ptrdiff_t>(old * size), size,
                        states.begin() + static_cast<std::ptrdiff_t>(rank * size));
        seats_[rank].at = static_cast<std::uint32_t>(rank);
    }
    job_states_ = std::move(states);
    jobs_.resize(jobs.size() * sizeof(xp_plugin_job));
    verdicts_ = with_canary(jobs.size());
}

void Plugin::show(std::span<const JobView> jobs) {
    for (const auto [rank, index, job, slot] : seats_.visit(jobs)) {
        const xp_plugin_job shown = c_job_of(job);
        std::memcpy(jobs_.data() + rank * sizeof shown, &shown, sizeof shown);
    }
    std::fill(verdicts_.begin(), verdicts_.end() - canary_bytes, std::byte{XP_PLUGIN_RUN});
}

std::optional<PluginFault> Plugin::find_overrun() const {
    using enum PluginFault::Kind;
    if (is_overrun(state_))
        return PluginFault{wrote_behind_state};
    if (is_overrun(job_states_))
        return PluginFault{wrote_behind_job_states};
    if (is_overrun(verdicts_))
        return PluginFault{wrote_behind_verdicts};
    return std::nullopt;
}

std::optional<PluginFault> Plugin::take(const Snapshot& snapshot,
                                        std::span<Verdict> verdicts) const {
    using enum PluginFault::Kind;
    for (const auto [rank, index, job, slot] : seats_.visit(snapshot.jobs)) {
        const auto verdict = std::to_integer<std::int64_t>(verdicts_[rank]);
        if (verdict != XP_PLUGIN_RUN && verdict != XP_PLUGIN_HOLD)
            return PluginFault{wrong_verdict, job.id, verdict};
        if (verdict == XP_PLUGIN_RUN)
            continue;
        if (!job.schedulable())
            return PluginFault{job.held_by_others ? held_of_others : held_idle, job.id, verdict};
        verdicts[index] = Verdict::hold;
    }
    return std::nullopt;
}

Time Plugin::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    std::ranges::fill(verdicts, Verdict::run);
    if (!library_ || fault_)
        return at_next_event;
    show(snapshot.jobs);
    xp_plugin_snapshot shown{};
    shown.size = sizeof shown;
    shown.job_size = sizeof(xp_plugin_job);
    shown.num_jobs = seats_.size();
    shown.now = ns_of(snapshot.now);
    // The allocator aligns the bytes for any type.
    shown.jobs = reinterpret_cast<const xp_plugin_job*>(jobs_.data());
    shown.values = values_.data();
    shown.switch_cost = snapshot.switch_cost.count();
    const std::int64_t wait = library_->decide(&shown, state_.data(), job_states_.data(),
                                               reinterpret_cast<std::uint8_t*>(verdicts_.data()));
    fault_ = find_overrun();
    if (!fault_)
        fault_ = take(snapshot, verdicts);
    if (!fault_ && wait <= 0)
        fault_ = PluginFault{PluginFault::Kind::no_next_time, 0, wait};
    if (fault_) {
        std::ranges::fill(verdicts, Verdict::run);
        return at_next_event;
    }
    const Duration longest = at_next_event - std::max(snapshot.now, Time{});
    return wait >= longest.count() ? at_next_event : snapshot.now + Duration{wait};
}

bool Plugin::operator==(const Plugin& other) const {
    return library_ == other.library_ && values_ == other.values_ && seats_ == other.seats_ &&
           state_ == other.state_ && job_states_ == other.job_states_ && fault_ == other.fault_;
}

} // namespace xpreempt::sched
