// SPDX-License-Identifier: MIT
// xpreempt/control.h in C++: the control socket of this process.
#pragma once

#include <xpreempt/control.h>
#include <xpreempt/cxx/owned.hpp>

#include <cstdint>

namespace xpreempt::inline v0_tl {

// struct xp_control_options
struct ControlOptions {
    std::uint32_t flags = 0; // XP_CONTROL_READ_ONLY
    std::uint32_t max_clients = 0;
};

// The open control socket, closed at the end of its scope. A process has one at most.
class Control {
public:
    // xp_control_open(). EALREADY if it is open, which then is not this object's to close.
    [[nodiscard]] static Expected<Control> open(const ControlOptions& options = {}) {
        const xp_control_options given{sizeof given, options.flags, options.max_clients};
        return detail::as_expected(xp_control_open(&given)).map([] { return Control(); });
    }

    // xp_control_close(), as the destructor does, with its error.
    Expected<void> close() { return opened_.end(); }

private:
    struct Opened {};

    Control() : opened_(Opened{}) {}
    static int close_opened(Opened) noexcept { return xp_control_close(); }
    detail::Owned<Opened, close_opened> opened_;
};

} // namespace xpreempt::inline v0_tl
