// SPDX-License-Identifier: MIT
// Errors as values: what failed, on what, with which errno.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace kfd {

enum class Op : std::uint8_t {
    open_device,
    query,
    switch_queues,
    status,
    read_sysfs,
    read_proc,
};

struct Error {
    int errno_value;
    Op op;
    std::string subject; // the path or thing the call was about
};

template <typename T> using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(int errno_value, Op op, std::string subject) {
    return tl::make_unexpected(Error{errno_value, op, std::move(subject)});
}

} // namespace kfd
