// SPDX-License-Identifier: MIT
// One band, one priority and one set of attributes for all sources of the process.
#include "capi/global.hpp"

#include "base/log.hpp"
#include "capi/arguments.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

namespace xpreempt::capi {

namespace {

std::optional<std::string> band_of(std::optional<std::int32_t> priority) {
    const std::int32_t value = priority.value_or(0);
    if (value == 0)
        return std::nullopt;
    return value > 0 ? "high" : "idle";
}

std::uint64_t number_of(std::uint32_t number) {
    return number;
}

std::uint64_t number_of(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(time / std::chrono::microseconds(1));
}

// Those that a source has set.
control::DaemonLink::Numbers numbers_of(const xqueue::Attributes& attributes) {
    const xqueue::Attributes initials;
    control::DaemonLink::Numbers numbers;
#define ATTRIBUTE(kind, name, least, most, initial, view, ...)                                     \
    if (attributes.view != initials.view)                                                          \
        numbers.emplace_back(std::is_same_v<attribute::kind, attribute::Time> ? #name "_us"        \
                                                                              : #name,             \
                             number_of(attributes.view));
#include "base/attributes.def"
    return numbers;
}

Result<void> as_result(const control::DaemonLink::Answer& answer) {
    return answer ? Result<void>() : refuse_as(answer.error().error, answer.error().text);
}

} // namespace

// One of both is enough: which of them counts is the policy's business.
Result<void> GlobalScheduling::send_priority(control::DaemonLink& link,
                                             std::optional<std::int32_t> priority) {
    const auto banded = link.set_band(band_of(priority));
    const auto ranked = link.set_priority(priority);
    return ranked ? Result<void>() : as_result(banded);
}

Result<void> GlobalScheduling::send_attributes(control::DaemonLink& link,
                                               const xqueue::Attributes& attributes) {
    return as_result(link.set_attributes(numbers_of(attributes)));
}

Result<void> GlobalScheduling::start(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    if (link_)
        return fail(EALREADY, Op::configure);
    auto link = std::make_unique<control::DaemonLink>(control::daemon_socket_from_environment(),
                                                      control::DaemonLink::patience_of_settings);
    TRY(send_priority(*link, wanted.priority));
    // The process is scheduled without them, too. An older daemon knows none.
    if (wanted.attributes != xqueue::Attributes{})
        if (const auto set = send_attributes(*link, wanted.attributes); !set)
            log::report(log::Level::warning,
                        "the attributes of this process' streams do not count: %s", refusal());
    sent_ = wanted;
    link_ = std::move(link);
    return {};
}

Result<void> GlobalScheduling::stop() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(link_, nullptr))
        return fail(ENOENT, Op::no_scheduler);
    return {};
}

bool GlobalScheduling::runs() const {
    const std::lock_guard lock(mutex_);
    return link_ != nullptr;
}

Result<void> GlobalScheduling::update(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    if (!link_)
        return {};
    const Result<void> ranked =
        sent_.priority == wanted.priority ? Result<void>() : send_priority(*link_, wanted.priority);
    if (ranked)
        sent_.priority = wanted.priority;
    const Result<void> set = sent_.attributes == wanted.attributes
                                 ? Result<void>()
                                 : send_attributes(*link_, wanted.attributes);
    // A rejected value is not sent again: a later change of the priority must not fail by it.
    if (set || set.error().errno_value == EPERM)
        sent_.attributes = wanted.attributes;
    return ranked ? set : ranked;
}

} // namespace xpreempt::capi
