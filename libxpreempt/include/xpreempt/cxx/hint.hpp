// SPDX-License-Identifier: MIT
// xpreempt/hint.h in C++: hints to xpreemptd, and owners of a request and of a band.
#pragma once

#include <xpreempt/cxx/owned.hpp>
#include <xpreempt/hint.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace xpreempt::inline v0_tl {

// A handle for hints, closed at the end of its scope. Hints are advice: a program may ignore their
// errors.
class Hint {
public:
    // xp_hint_open() with XPREEMPTD_SOCKET or the default, or with the path of a socket.
    [[nodiscard]] static Expected<Hint> open() { return open(nullptr); }
    [[nodiscard]] static Expected<Hint> open(const std::string& socket) {
        return open(socket.c_str());
    }

    // Handle 0, which is EBADF in every call, if it was closed or moved from.
    [[nodiscard]] xp_hint_t get() const noexcept {
        return hint_.get() != nullptr ? *hint_.get() : xp_hint_t{};
    }

    // xp_hint_begin(); 0 is no deadline. A negative one is EINVAL.
    Expected<void> begin(std::chrono::microseconds deadline = {}) const {
        return detail::as_expected(
            xp_hint_begin(get(), static_cast<std::uint64_t>(deadline.count())));
    }
    Expected<void> end() const { return detail::as_expected(xp_hint_end(get())); }
    Expected<void> soon(std::chrono::microseconds within) const {
        const auto us = within.count();
        const bool fits = us >= 0 && us <= XP_HINT_MAX_SOON_US;
        return detail::as_expected(
            xp_hint_soon(get(), fits ? static_cast<std::uint32_t>(us) : UINT32_MAX));
    }
    Expected<void> set_band(xp_band band) const {
        return detail::as_expected(xp_hint_set_band(get(), band));
    }
    Expected<void> set_priority(std::int32_t priority) const {
        return detail::as_expected(xp_hint_set_priority(get(), priority));
    }

    // xp_hint_close(), as the destructor does.
    Expected<void> close() { return hint_.end(); }

private:
    explicit Hint(xp_hint_t hint) : hint_(hint) {}
    [[nodiscard]] static Expected<Hint> open(const char* socket) {
        return detail::value_of<xp_hint_t>([=](xp_hint_t* hint) {
                   return xp_hint_open(socket, hint);
               }).map([](xp_hint_t hint) { return Hint(hint); });
    }
    detail::Owned<xp_hint_t, xp_hint_close> hint_;
};

// A request, from here to the end of the scope. The hint must outlive it.
class HintedRequest {
public:
    // xp_hint_begin()
    [[nodiscard]] static Expected<HintedRequest> begin(const Hint& hint,
                                                       std::chrono::microseconds deadline = {}) {
        return hint.begin(deadline).map([&] { return HintedRequest(hint.get()); });
    }
    // xp_hint_end(), as the destructor does.
    Expected<void> end() { return hint_.end(); }

private:
    explicit HintedRequest(xp_hint_t hint) : hint_(hint) {}
    detail::Owned<xp_hint_t, xp_hint_end> hint_;
};

} // namespace xpreempt::inline v0_tl
