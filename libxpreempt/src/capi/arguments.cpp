// SPDX-License-Identifier: MIT
// Sentences of refused arguments.
#include "capi/arguments.hpp"

#include <cstdarg>
#include <cstdio>

namespace xpreempt::capi {

namespace {

thread_local char sentence[256];

[[gnu::format(printf, 2, 3)]] tl::unexpected<Error> say(int errno_value, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return fail(errno_value, Op::argument);
}

} // namespace

const char* refusal() {
    return sentence;
}

tl::unexpected<Error> refuse(const char* name, std::uint64_t value, const std::string& range) {
    return say(EINVAL, "%s is %llu: it must be %s", name, static_cast<unsigned long long>(value),
               range.c_str());
}

Result<void> check_priority(std::int32_t priority) {
    if (priority >= XP_PRIORITY_MIN && priority <= XP_PRIORITY_MAX)
        return {};
    return say(EINVAL, "priority is %d: it must be from %d to %d", priority, XP_PRIORITY_MIN,
               XP_PRIORITY_MAX);
}

tl::unexpected<Error> refuse_size(const char* name, std::size_t bytes, std::size_t first) {
    return say(bytes > most_bytes ? E2BIG : EINVAL,
               "sz of struct %s is %zu: it must be sizeof(struct %s), at least %zu", name, bytes,
               name, first);
}

tl::unexpected<Error> refuse_tail(const char* name, std::size_t bytes, std::size_t known) {
    return say(E2BIG,
               "struct %s has %zu bytes, of which this library knows %zu and the rest is not 0: "
               "a newer libxpreempt is needed",
               name, bytes, known);
}

tl::unexpected<Error> refuse_as(int errno_value, const std::string& text) {
    return say(errno_value, "%s", text.c_str());
}

Result<void> check_given(const char* name, bool given) {
    if (given)
        return {};
    return say(EINVAL, "%s is NULL", name);
}

Result<void> check_flags(const char* name, std::uint32_t flags, std::uint32_t known) {
    if ((flags & ~known) == 0)
        return {};
    return say(EINVAL, "%s is 0x%x: this library supports only 0x%x", name, flags, known);
}

Result<void> check_range(const char* name, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most) {
    if (value >= least && value <= most)
        return {};
    return refuse(name, value, "from " + std::to_string(least) + " to " + std::to_string(most));
}

} // namespace xpreempt::capi
