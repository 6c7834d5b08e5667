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

using Answer = control::DaemonLink::Answer;

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

Result<void> as_result(const Answer& answer) {
    return answer ? Result<void>() : refuse_as(answer.error().error, answer.error().text);
}

} // namespace

// With these errors the daemon has not looked at the value: it has too many hints or connections.
GlobalScheduling::State GlobalScheduling::state_after(const Answer& answer) {
    if (answer)
        return State::taken;
    const auto& [error, text, is_reply] = answer.error();
    const bool is_busy = error == EAGAIN || error == EMFILE || error == EUSERS;
    return is_reply && !is_busy ? State::rejected : State::due;
}

// One of both is enough: which of them counts is the policy's business.
Answer GlobalScheduling::send_priority(control::DaemonLink& link,
                                       std::optional<std::int32_t> priority) {
    auto banded = link.set_band(band_of(priority));
    auto ranked = link.set_priority(priority);
    return ranked ? std::move(ranked) : std::move(banded);
}

Answer GlobalScheduling::send_attributes(control::DaemonLink& link,
                                         const xqueue::Attributes& attributes) {
    return link.set_attributes(numbers_of(attributes));
}

Result<void> GlobalScheduling::start(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    if (link_)
        return fail(EALREADY, Op::configure);
    auto link = std::make_unique<control::DaemonLink>(control::daemon_socket_from_environment(),
                                                      control::DaemonLink::patience_of_settings);
    TRY(as_result(send_priority(*link, wanted.priority)));
    // The process is scheduled without them, too. An older daemon knows none.
    Answer set;
    if (wanted.attributes != xqueue::Attributes{})
        set = send_attributes(*link, wanted.attributes);
    if (!set)
        log::report(log::Level::warning,
                    "the attributes of this process' streams do not all count: %s",
                    set.error().text.c_str());
    priority_ = State::taken;
    attributes_ = state_after(set);
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

Result<void> GlobalScheduling::update(const Wanted& wanted, Part set) {
    const std::lock_guard lock(mutex_);
    if (!link_)
        return {};
    // A rejected value is sent again only by a call that sets it: the rules may be others by then.
    const auto is_to_send = [set](State state, Part part) {
        return state == State::due || (state == State::rejected && set == part);
    };
    Answer ranked, attributed;
    if (sent_.priority != wanted.priority || is_to_send(priority_, Part::priority)) {
        ranked = send_priority(*link_, wanted.priority);
        priority_ = state_after(ranked);
    }
    if (sent_.attributes != wanted.attributes || is_to_send(attributes_, Part::attributes)) {
        attributed = send_attributes(*link_, wanted.attributes);
        attributes_ = state_after(attributed);
    }
    sent_ = wanted;
    if (set == Part::attributes || (set == Part::both && ranked))
        return as_result(attributed);
    return as_result(ranked);
}

} // namespace xpreempt::capi
