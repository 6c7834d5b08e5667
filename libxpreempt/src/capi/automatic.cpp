// SPDX-License-Identifier: MIT
// Reads XSCHED_*, and makes hooked streams by it.
#include "capi/automatic.hpp"

#include "base/log.hpp"
#include "capi/arguments.hpp"
#include "capi/library.hpp"
#include "sched/snapshot.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <strings.h>
#include <xpreempt/sched.h>

namespace xpreempt::capi {

namespace {

// For a person who has set it: whether messages are wanted otherwise doesn't matter.
void complain(const char* name, const char* value, const char* instead) {
    std::fprintf(stderr, "libxpreempt: %s=%s: %s\n", name, value, instead);
}

std::string_view text_of(Environment environment, const char* name) {
    const char* value = environment(name);
    return value != nullptr ? value : "";
}

bool is_on(Environment environment, const char* name) {
    const std::string value(text_of(environment, name));
    if (value == "1" || ::strcasecmp(value.c_str(), "on") == 0)
        return true;
    if (!value.empty() && value != "0" && ::strcasecmp(value.c_str(), "off") != 0)
        complain(name, value.c_str(), "use ON or OFF; taken as OFF");
    return false;
}

// Nothing: the variable isn't set, or its value isn't such a number.
std::optional<long> read_number(Environment environment, const char* name, const std::string& kind,
                                long least, long most, const std::string& instead) {
    const std::string value(text_of(environment, name));
    if (value.empty())
        return std::nullopt;
    char* end = nullptr;
    errno = 0;
    const long number = std::strtol(value.c_str(), &end, 10);
    if (errno == 0 && *end == '\0' && number >= least && number <= most)
        return number;
    const std::string use = "use a number " + kind + "from " + std::to_string(least) + " to " +
                            std::to_string(most) + "; " + instead;
    complain(name, value.c_str(), use.c_str());
    return std::nullopt;
}

template <typename Number>
void read(Environment environment, const char* name, long least, long most, Number& number) {
    const std::string taken = "taken as " + std::to_string(static_cast<long>(number));
    if (const auto read = read_number(environment, name, "", least, most, taken))
        number = static_cast<Number>(*read);
}

void read(Environment environment, const char* name, std::chrono::microseconds /*least*/,
          std::chrono::microseconds most, std::chrono::nanoseconds& time) {
    const auto us = read_number(environment, name, "of microseconds ", 1, most.count(), "ignored");
    if (us)
        time = std::chrono::microseconds(*us);
}

StreamDefaults read_defaults(Environment environment) {
    constexpr long most = std::numeric_limits<std::int32_t>::max();
    StreamDefaults defaults;
    unsigned level = XP_LEVEL_BLOCK;
    read(environment, "XSCHED_AUTO_XQUEUE_LEVEL", XP_LEVEL_BLOCK, XP_LEVEL_INTERRUPT, level);
    defaults.level = static_cast<xqueue::Level>(level);
    read(environment, "XSCHED_AUTO_XQUEUE_THRESHOLD", 1, most, defaults.threshold);
    defaults.batch = std::min(defaults.batch, defaults.threshold);
    read(environment, "XSCHED_AUTO_XQUEUE_BATCH_SIZE", 1, static_cast<long>(defaults.threshold),
         defaults.batch);
    read(environment, "XSCHED_AUTO_XQUEUE_PRIORITY", XP_PRIORITY_MIN, XP_PRIORITY_MAX,
         defaults.priority);
#define ATTRIBUTE(kind, name, least, most, initial, view, c, xsched, ...)                          \
    if (*(xsched) != '\0')                                                                         \
        read(environment, "XSCHED_AUTO_XQUEUE_" xsched, least, most, defaults.attributes.view);
#include "base/attributes.def"
    return defaults;
}

// As in XSched, a policy means the local scheduler, whatever XSCHED_SCHEDULER says.
std::optional<std::uint32_t> read_policy(Environment environment) {
    const std::string policy(text_of(environment, "XSCHED_POLICY"));
    if (!policy.empty()) {
        const auto known = policy_kind_named(policy);
        if (!known)
            complain("XSCHED_POLICY", policy.c_str(),
                     "use HPF, HHPF, FIFO, RR, CFS, UP, PUP, KEDF, LAX or MLFQ; nothing is "
                     "scheduled");
        return known;
    }
    const std::string scheduler(text_of(environment, "XSCHED_SCHEDULER"));
    if (scheduler == "LCL")
        return XP_POLICY_HIGHEST_PRIORITY_FIRST;
    if (!scheduler.empty() && scheduler != "APP" && scheduler != "GLB")
        complain("XSCHED_SCHEDULER", scheduler.c_str(),
                 "use GLB, LCL or APP; nothing is scheduled");
    return std::nullopt;
}

PolicySettings read_policy_settings(Environment environment) {
    PolicySettings settings;
    if (!text_of(environment, "XSCHED_AUTO_XQUEUE_TIMESLICE").empty()) {
        long microseconds = 5000; // XSched's default
        read(environment, "XSCHED_AUTO_XQUEUE_TIMESLICE", least_slice_us, most_slice_us,
             microseconds);
        settings.slice = std::chrono::microseconds(microseconds);
    }
    read(environment, "XSCHED_AUTO_XQUEUE_KDEADLINE", 1, most_k, settings.k);
    return settings;
}

} // namespace

AutomaticSettings read_automatic_settings(Environment environment) {
    AutomaticSettings settings;
    if (is_on(environment, "XSCHED_AUTO_XQUEUE"))
        settings.streams = read_defaults(environment);
    settings.policy = read_policy(environment);
    settings.of_policy = read_policy_settings(environment);
    settings.by_daemon = text_of(environment, "XSCHED_POLICY").empty() &&
                         text_of(environment, "XSCHED_SCHEDULER") == "GLB";
    return settings;
}

void AutomaticStreams::start(const AutomaticSettings& settings) {
    if (settings.policy)
        if (const auto started = library_.scheduling.start(
                decide_of(*settings.policy, settings.of_policy), *settings.policy);
            !started)
            log::report(log::Level::warning, "XSCHED_POLICY: %s failed; nothing is scheduled",
                        phrase(started.error().op));
    if (settings.by_daemon)
        if (const auto started = library_.global.start({}); !started)
            std::fprintf(stderr, "libxpreempt: XSCHED_SCHEDULER=GLB: %s; nothing is scheduled\n",
                         refusal());
    if (!settings.streams)
        return;
    defaults_ = *settings.streams;
    library_.gates().watch_work([this](hip::Stream key) { return note_work(key); });
}

bool AutomaticStreams::note_work(hip::Stream key) {
    {
        const std::lock_guard lock(mutex_);
        const auto [known, is_new] = known_.try_emplace(key, false);
        if (!is_new)
            return known->second;
    }
    const bool added = add(key);
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(key);
    if (known == known_.end()) // destroyed meanwhile
        return false;
    known->second = added;
    if (!added)
        known_.erase(known);
    return added;
}

// False: nothing of the stream has reached a queue, or there is no memory.
bool AutomaticStreams::add(hip::Stream key) try {
    const auto owner = library_.ensure_owner_of(key);
    if (!owner || owner->is_xqueue())
        return owner.has_value(); // the program has made its own
    owner->hooked->limit_level(defaults_.level);
    if (defaults_.level == xqueue::Level::block)
        owner->hooked->pace(defaults_.threshold, defaults_.batch);
    library_.rank(*owner, [this](auto& stream) {
        stream.set_attributes(defaults_.attributes);
        stream.set_priority(defaults_.priority);
    });
    if (const auto updated = library_.update_daemon(GlobalScheduling::Part::both); !updated)
        log::report(log::Level::warning,
                    "the priority or the attributes of a stream do not count: %s", refusal());
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

void AutomaticStreams::note_end(hip::Stream key) {
    const std::lock_guard lock(mutex_);
    if (key == nullptr)
        std::erase_if(known_, [this](const auto& known) {
            return library_.mapping().birth_of(known.first) == 0;
        });
    else
        known_.erase(key);
}

} // namespace xpreempt::capi
