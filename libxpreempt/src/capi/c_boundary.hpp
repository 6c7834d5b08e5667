// SPDX-License-Identifier: MIT
// The border to C: exceptions and errors become negative errnos, structs keep their size.
#pragma once

#include "base/caller_state.hpp"
#include "base/error.hpp"
#include "capi/arguments.hpp"
#include "capi/library.hpp"
#include "control/wire.hpp"

#include <cerrno>
#include <new>
#include <system_error>
#include <type_traits>
#include <xpreempt/xqueue.h>

namespace xpreempt::capi {

// Remembers the error for xp_last_detail(), and returns what the C function returns.
int record_and_return(const Error& error);

// Turns errors and exceptions into an errno. For a body that has a CallerState of its own when it
// waits or calls other code.
template <typename Body> int quick_c_call(Body body) noexcept {
    // The parent's queues and threads aren't the child's.
    if (Library::forked())
        return record_and_return({EBADF, Op::fork_child});
    try {
        const Result<void> result = body();
        return result ? 0 : record_and_return(result.error());
    } catch (const std::bad_alloc&) {
        return record_and_return({ENOMEM, Op::allocate});
    } catch (const std::system_error& error) {
        return record_and_return(
            {error.code().value() > 0 ? error.code().value() : EIO, Op::start_thread});
    } catch (...) {
        return record_and_return({EIO, Op::internal});
    }
}

// For a body that needs no object of the library, which is therefore not made.
template <typename Body> int bare_c_call(Body body) noexcept {
    const CallerState state;
    return quick_c_call(body);
}

template <typename Body> int c_call(Body body) noexcept {
    return bare_c_call([&]() -> Result<void> { return body(Library::instance()); });
}

// Calls body with the xqueue of the handle, and before it with the library if it takes both.
template <typename Body> int with_xqueue(xp_xqueue_t handle, Body body) noexcept {
    return c_call([&](Library& library) -> Result<void> {
        const auto found = TRY(library.xqueues.find(handle.handle));
        if constexpr (std::is_invocable_v<Body, xqueue::XQueue&>)
            return body(*found);
        else
            return body(library, *found);
    });
}

using control::wire::put_text;

} // namespace xpreempt::capi
