// SPDX-License-Identifier: MIT
// xpreempt/hint.h
#include "capi/c_boundary.hpp"
#include "control/daemon_link.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <xpreempt/hint.h>

using namespace xpreempt;
using namespace xpreempt::capi;

namespace {

using control::DaemonLink;
using std::chrono::microseconds;

// Never destroyed, as the library.
HandleTable<DaemonLink>& links() {
    static auto* const table = new HandleTable<DaemonLink>;
    return *table;
}

// A child of a fork has the table as a whole, and not locked by another thread of the parent.
const int watches_forks =
    pthread_atfork([] { links().lock(); }, [] { links().unlock(); }, [] { links().unlock(); });

template <typename Call> Result<void> with_link(xp_hint_t hint, Call call) {
    const auto link = TRY(links().find(hint.handle));
    if (link->owner() != ::getpid())
        return fail(EBADF, Op::fork_child);
    const DaemonLink::Answer answer = call(*link);
    return answer ? Result<void>() : refuse_as(answer.error().error, answer.error().text);
}

constexpr std::array<const char*, 5> bands{nullptr, "realtime", "high", "normal", "idle"};

} // namespace

extern "C" {

int xp_hint_open(const char* socket, xp_hint_t* hint) {
    return bare_c_call([&]() -> Result<void> {
        TRY(check_given("hint", hint != nullptr));
        hint->handle = links().insert(std::make_shared<DaemonLink>(
            socket != nullptr ? socket : control::daemon_socket_from_environment()));
        return {};
    });
}

int xp_hint_begin(xp_hint_t hint, uint64_t deadline_us) {
    return bare_c_call([&]() -> Result<void> {
        TRY(check_range("deadline_us", deadline_us, 0, XP_HINT_MAX_DEADLINE_US));
        return with_link(hint, [&](DaemonLink& link) {
            return link.begin(microseconds(static_cast<microseconds::rep>(deadline_us)));
        });
    });
}

int xp_hint_end(xp_hint_t hint) {
    return bare_c_call(
        [&] { return with_link(hint, [](DaemonLink& link) { return link.end(); }); });
}

int xp_hint_soon(xp_hint_t hint, uint32_t us) {
    return bare_c_call([&]() -> Result<void> {
        TRY(check_range("us", us, 1, XP_HINT_MAX_SOON_US));
        return with_link(hint, [&](DaemonLink& link) { return link.announce(microseconds(us)); });
    });
}

int xp_hint_set_band(xp_hint_t hint, uint32_t band) {
    return bare_c_call([&]() -> Result<void> {
        TRY(check_range("band", band, 0, bands.size() - 1));
        const char* name = bands.at(band);
        return with_link(hint, [&](DaemonLink& link) {
            return link.set_band(name != nullptr ? std::optional<std::string>(name) : std::nullopt);
        });
    });
}

int xp_hint_set_priority(xp_hint_t hint, int32_t priority) {
    return bare_c_call([&]() -> Result<void> {
        const bool none = priority == XP_HINT_DEFAULT_PRIORITY;
        if (!none)
            TRY(check_priority(priority));
        return with_link(hint, [&](DaemonLink& link) {
            return link.set_priority(none ? std::nullopt : std::optional(priority));
        });
    });
}

int xp_hint_close(xp_hint_t hint) {
    return bare_c_call(
        [&]() -> Result<void> { return links().remove(hint.handle).map([](const auto&) {}); });
}
}
