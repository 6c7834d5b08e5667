// SPDX-License-Identifier: MIT
// The border to C: exceptions and errors become negative errnos, structs keep their size.
#pragma once

#include "base/error.hpp"
#include "capi/arguments.hpp"
#include "capi/library.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

namespace xpreempt::capi {

// Remembers the error for xp_last_detail(), and returns what the C function returns.
int told(const Error& error);

// For what needs nothing of the library, which is therefore not made.
template <typename Body> int bare_fence(Body body) noexcept {
    // The parent's queues and threads are not the child's.
    if (Library::forked())
        return told({EBADF, Op::fork_child});
    try {
        const Result<void> result = body();
        return result ? 0 : told(result.error());
    } catch (const std::bad_alloc&) {
        return told({ENOMEM, Op::allocate});
    } catch (const std::system_error& error) {
        return told({error.code().value() > 0 ? error.code().value() : EIO, Op::start_thread});
    } catch (...) {
        return told({EIO, Op::internal});
    }
}

template <typename Body> int fence(Body body) noexcept {
    return bare_fence([&]() -> Result<void> { return body(Library::instance()); });
}

template <std::size_t Bytes> void copy_text(char (&to)[Bytes], std::string_view from) {
    const std::size_t length = std::min(from.size(), Bytes - 1);
    std::memcpy(to, from.data(), length);
    to[length] = '\0';
}

} // namespace xpreempt::capi
