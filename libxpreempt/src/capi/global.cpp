// SPDX-License-Identifier: MIT
// One band and one priority for all sources of the process.
#include "capi/global.hpp"

#include "capi/arguments.hpp"

#include <cerrno>
#include <string>
#include <utility>

namespace xpreempt::capi {

namespace {

std::optional<std::string> band_of(std::optional<std::int32_t> priority) {
    const std::int32_t value = priority.value_or(0);
    if (value == 0)
        return std::nullopt;
    return value > 0 ? "high" : "idle";
}

} // namespace

// One of both is enough: which of them counts is the policy's business.
Result<void> GlobalScheduling::send(control::DaemonLink& link,
                                    std::optional<std::int32_t> highest) {
    const auto banded = link.set_band(band_of(highest));
    const auto ranked = link.set_priority(highest);
    if (banded || ranked)
        return {};
    return refuse_as(banded.error().error, banded.error().text);
}

Result<void> GlobalScheduling::start(std::optional<std::int32_t> highest) {
    const std::lock_guard lock(mutex_);
    if (link_)
        return fail(EALREADY, Op::configure);
    auto link = std::make_unique<control::DaemonLink>(control::daemon_socket_from_environment(),
                                                      control::DaemonLink::patience_of_settings);
    TRY(send(*link, highest));
    link_ = std::move(link);
    sent_ = highest;
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

Result<void> GlobalScheduling::update(std::optional<std::int32_t> highest) {
    const std::lock_guard lock(mutex_);
    if (!link_ || sent_ == highest)
        return {};
    auto sent = send(*link_, highest);
    if (sent)
        sent_ = highest;
    return sent;
}

} // namespace xpreempt::capi
