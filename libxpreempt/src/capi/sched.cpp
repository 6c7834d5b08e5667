// SPDX-License-Identifier: MIT
// xpreempt/sched.h
#include "base/log.hpp"
#include "capi/c_boundary.hpp"
#include "capi/policies.hpp"

#include <chrono>
#include <span>
#include <string_view>
#include <vector>
#include <xpreempt/sched.h>

using namespace xpreempt;
using namespace xpreempt::capi;

namespace {

// The program's function in the terms of the scheduler.
struct ProgramPolicy {
    xp_policy_fn policy;
    void* argument;

    sched::Time operator()(const sched::Snapshot& snapshot,
                           std::span<const sched::SourceName> names,
                           std::span<sched::Verdict> verdicts) const {
        std::vector<xp_sched_source> sources;
        sources.reserve(names.size());
        for (std::size_t i = 0; i < names.size(); ++i)
            sources.push_back({{names[i].xqueue},
                               names[i].stream,
                               names[i].device,
                               snapshot.jobs[i].priority,
                               snapshot.jobs[i].schedulable() ? 1U : 0U,
                               snapshot.jobs[i].held ? 1U : 0U,
                               {}});
        std::vector<std::uint8_t> suspend(names.size(), 0);
        const auto since_boot = std::chrono::nanoseconds(snapshot.now.time_since_epoch());
        std::uint64_t next = UINT64_MAX;
        try {
            next = policy(sources.data(), sources.size(),
                          static_cast<std::uint64_t>(since_boot.count()), suspend.data(), argument);
        } catch (...) {
            log::report(log::Level::error, "the policy threw an exception: all sources run");
            std::ranges::fill(suspend, std::uint8_t{0});
        }
        for (std::size_t i = 0; i < verdicts.size(); ++i)
            verdicts[i] = suspend[i] != 0 ? sched::Verdict::hold : sched::Verdict::run;
        constexpr auto most = std::chrono::nanoseconds::max().count();
        return next >= static_cast<std::uint64_t>(most)
                   ? sched::at_next_event
                   : sched::Time(std::chrono::nanoseconds(static_cast<std::int64_t>(next)));
    }
};

using std::chrono::microseconds;
using xqueue::Attributes;

// 0: the default.
Result<void> take(const char* name, std::uint32_t given, std::uint32_t most,
                  std::uint32_t& number) {
    if (given != 0)
        number = given;
    return given != 0 ? check_range(name, given, 1, most) : Result<void>();
}

Result<void> take(const char* name, std::uint64_t given, microseconds most,
                  std::chrono::nanoseconds& time) {
    if (given != 0 && given <= static_cast<std::uint64_t>(most.count()))
        time = microseconds(given);
    return check_range(name, given, 0, static_cast<std::uint64_t>(most.count()));
}

Result<Attributes> attributes_of(const struct xp_sched_attributes* user) {
    struct xp_sched_attributes given{};
    TRY(copy_in(given, user, "xp_sched_attributes"));
    Attributes attributes;
    const bool no_utilization = given.utilization == XP_NO_UTILIZATION;
    if (no_utilization)
        given.utilization = 0;
#define ATTRIBUTE(kind, name, least, most, initial, view, c, ...)                                  \
    TRY(take(#c, given.c, most, attributes.view));
#include "base/attributes.def"
    if (no_utilization)
        attributes.utilization = 0;
    return attributes;
}

std::uint32_t given_of(std::uint32_t number) {
    return number;
}

std::uint64_t given_of(std::chrono::nanoseconds time) {
    return time == Attributes::none ? 0 : static_cast<std::uint64_t>(time / microseconds(1));
}

Result<void> copy_attributes(const Attributes& attributes, struct xp_sched_attributes* user) {
    TRY(check_size(user, "xp_sched_attributes"));
    struct xp_sched_attributes ours{};
#define ATTRIBUTE(kind, name, least, most, initial, view, c, ...)                                  \
    ours.c = given_of(attributes.view);
#include "base/attributes.def"
    if (attributes.utilization == 0)
        ours.utilization = XP_NO_UTILIZATION;
    copy_out(user, ours);
    return {};
}

Result<void> copy_priority(std::int32_t priority, std::int32_t* user) {
    TRY(check_given("priority", user != nullptr));
    *user = priority;
    return {};
}

// find: of the xqueue or the stream, as Library::ensure_owner().
template <typename Find> int set_priority(std::int32_t priority, Find find) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_priority(priority));
        library.rank(TRY(find(library)), [=](auto& stream) { stream.set_priority(priority); });
        return library.update_daemon(GlobalScheduling::Part::priority);
    });
}

template <typename Find>
int set_attributes(const struct xp_sched_attributes* attributes, Find find) {
    return c_call([&](Library& library) -> Result<void> {
        const Attributes checked = TRY(attributes_of(attributes));
        library.rank(TRY(find(library)), [&](auto& stream) { stream.set_attributes(checked); });
        return library.update_daemon(GlobalScheduling::Part::attributes);
    });
}

Result<PolicySettings> settings_of(const struct xp_sched_parameters* user) {
    PolicySettings settings;
    if (user == nullptr)
        return settings;
    struct xp_sched_parameters given{};
    TRY(copy_in(given, user, "xp_sched_parameters"));
    if (given.slice_us != 0)
        TRY(check_range("slice_us", given.slice_us, least_slice_us, most_slice_us));
    if (given.k != 0)
        TRY(check_range("k", given.k, 1, most_k));
    if (given.linger_us != 0 && given.linger_us != XP_NO_LINGER)
        TRY(check_range("linger_us", given.linger_us, 1, most_linger_us));
    settings.slice = microseconds(given.slice_us);
    if (given.k != 0)
        settings.k = static_cast<std::uint32_t>(given.k);
    if (given.linger_us != 0)
        settings.linger = microseconds(given.linger_us == XP_NO_LINGER ? 0 : given.linger_us);
    return settings;
}

Result<void> start(Library& library, sched::Decide chosen, std::uint32_t policy) {
    if (library.global.runs())
        return fail(EALREADY, Op::configure);
    library.release_at_exit();
    return library.scheduling.start(std::move(chosen), policy);
}

Result<void> start(Library& library, std::uint32_t policy, const PolicySettings& settings) {
    if (policy == XP_POLICY_DAEMON) {
        if (library.scheduling.running())
            return fail(EALREADY, Op::configure);
        return library.global.start(library.wanted_of_daemon());
    }
    auto chosen = decide_of(policy, settings);
    if (!chosen)
        return fail(EOPNOTSUPP, Op::configure);
    return start(library, std::move(chosen), policy);
}

} // namespace

extern "C" {

int xp_xqueue_set_priority(xp_xqueue_t xqueue, int32_t priority) {
    return set_priority(priority,
                        [=](Library& library) { return library.find_xqueue(xqueue.handle); });
}

int xp_stream_set_priority(void* stream, int32_t priority) {
    return set_priority(priority, [=](Library& library) { return library.ensure_owner(stream); });
}

int xp_xqueue_get_priority(xp_xqueue_t xqueue, int32_t* priority) {
    return with_xqueue(
        xqueue, [&](xqueue::XQueue& found) { return copy_priority(found.priority(), priority); });
}

int xp_stream_get_priority(void* stream, int32_t* priority) {
    return c_call([&](Library& library) {
        const auto owner = library.owner_of(stream);
        return copy_priority(owner.stream ? owner.stream->priority() : XP_PRIORITY_DEFAULT,
                             priority);
    });
}

int xp_xqueue_set_attributes(xp_xqueue_t xqueue, const struct xp_sched_attributes* attributes) {
    return set_attributes(attributes,
                          [=](Library& library) { return library.find_xqueue(xqueue.handle); });
}

int xp_stream_set_attributes(void* stream, const struct xp_sched_attributes* attributes) {
    return set_attributes(attributes,
                          [=](Library& library) { return library.ensure_owner(stream); });
}

int xp_xqueue_get_attributes(xp_xqueue_t xqueue, struct xp_sched_attributes* attributes) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) {
        return copy_attributes(found.attributes(), attributes);
    });
}

int xp_stream_get_attributes(void* stream, struct xp_sched_attributes* attributes) {
    return c_call([&](Library& library) {
        const auto owner = library.owner_of(stream);
        return copy_attributes(owner.stream ? owner.stream->attributes() : Attributes{},
                               attributes);
    });
}

int xp_sched_start(uint32_t policy) {
    return c_call([&](Library& library) { return start(library, policy, {}); });
}

int xp_sched_start_with(uint32_t policy, const struct xp_sched_parameters* parameters) {
    return c_call([&](Library& library) -> Result<void> {
        return start(library, policy, TRY(settings_of(parameters)));
    });
}

int xp_sched_start_policy(xp_policy_fn policy, void* argument) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_given("policy", policy != nullptr));
        return start(library, ProgramPolicy{policy, argument}, XP_POLICY_PROGRAM);
    });
}

int xp_sched_stop(void) {
    return c_call([&](Library& library) {
        return library.global.runs() ? library.global.stop() : library.scheduling.stop();
    });
}

int xp_sched_query(struct xp_sched_state* state) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_size(state, "xp_sched_state"));
        struct xp_sched_state ours{};
        if (const auto scheduler = library.scheduling.running()) {
            const sched::Statistics now = scheduler->statistics();
            ours.policy = library.scheduling.kind();
            ours.num_xqueues = static_cast<std::uint32_t>(scheduler->size());
            ours.decisions = now.decisions;
            ours.suspends = now.suspends;
            ours.resumes = now.resumes;
            ours.failures = now.failures;
            ours.last_reaction_ns = now.last_reaction_ns;
            ours.max_reaction_ns = now.max_reaction_ns;
        } else if (library.global.runs()) {
            ours.policy = XP_POLICY_DAEMON;
        }
        copy_out(state, ours);
        return {};
    });
}
}
