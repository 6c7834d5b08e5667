// SPDX-License-Identifier: MIT
// Arguments of the C interface: structs that grow with the library, and sentences that name field,
// value and range of those that are refused.
#pragma once

#include "base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <xpreempt/xpreempt.h>

namespace xpreempt::capi {

// Bytes of a struct in the first version that had it. A program that was built then must work for
// ever, so these numbers never change.
template <typename Struct> constexpr std::size_t first_bytes = 0;
template <> constexpr std::size_t first_bytes<struct xp_command> = 32;
template <> constexpr std::size_t first_bytes<struct xp_control_options> = 16;
template <> constexpr std::size_t first_bytes<struct xp_prediction> = 264;
template <> constexpr std::size_t first_bytes<struct xp_probe_info> = 224;
template <> constexpr std::size_t first_bytes<struct xp_sched_attributes> = 32;
template <> constexpr std::size_t first_bytes<struct xp_sched_parameters> = 24;
template <> constexpr std::size_t first_bytes<struct xp_sched_state> = 64;
template <> constexpr std::size_t first_bytes<struct xp_stream_info> = 248;
template <> constexpr std::size_t first_bytes<struct xp_xqueue_options> = 40;
template <> constexpr std::size_t first_bytes<struct xp_xqueue_state> = 264;
template <> constexpr std::size_t first_bytes<struct xp_xqueue_stats> = 128;

// More than any version will have: who gives more hasn't set sz.
constexpr std::size_t most_bytes = 4096;

// The error, of which xp_last_detail() then says: "NAME is VALUE: it must be RANGE".
tl::unexpected<Error> refuse(const char* name, std::uint64_t value, const std::string& range);
tl::unexpected<Error> refuse_size(const char* name, std::size_t bytes, std::size_t first);
tl::unexpected<Error> refuse_tail(const char* name, std::size_t bytes, std::size_t known);

// Another errno, with a sentence of its own.
tl::unexpected<Error> refuse_as(int errno_value, const std::string& sentence);

// Empty unless the error was one of the above, in this thread.
const char* refusal();

Result<void> check_given(const char* name, bool given); // false: it is null
Result<void> check_priority(std::int32_t priority);
Result<void> check_flags(const char* name, std::uint32_t flags, std::uint32_t known);
Result<void> check_range(const char* name, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most);

// name: of the struct, for the refusal.
template <typename Struct> Result<void> check_size(const Struct* user, const char* name) {
    static_assert(first_bytes<Struct> != 0 && first_bytes<Struct> <= sizeof(Struct));
    TRY(check_given(name, user != nullptr));
    if (user->sz < first_bytes<Struct> || user->sz > most_bytes)
        return refuse_size(name, user->sz, first_bytes<Struct>);
    return {};
}

// Members that an older program doesn't know read as 0. Members that we don't know must be 0.
template <typename Struct>
Result<void> copy_in(Struct& ours, const Struct* user, const char* name) {
    TRY(check_size(user, name));
    ours = {};
    std::memcpy(&ours, user, std::min(user->sz, sizeof ours));
    const auto* bytes = reinterpret_cast<const unsigned char*>(user);
    for (std::size_t i = sizeof ours; i < user->sz; ++i)
        if (bytes[i] != 0)
            return refuse_tail(name, user->sz, sizeof ours);
    return {};
}

// Nothing behind what the caller has room for, and 0 in what we don't know; sz stays the caller's.
template <typename Struct> void copy_out(Struct* user, Struct ours) {
    const std::size_t bytes = user->sz;
    ours.sz = bytes;
    std::memcpy(user, &ours, std::min(bytes, sizeof ours));
    if (bytes > sizeof ours)
        std::memset(reinterpret_cast<unsigned char*>(user) + sizeof ours, 0, bytes - sizeof ours);
}

} // namespace xpreempt::capi
