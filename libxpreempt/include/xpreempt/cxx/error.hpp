// SPDX-License-Identifier: MIT
// Errors of the C++ face: a value with the errno or hipError_t, and a sentence about it.
//
// Everything of the face is in the inline namespace v0_tl, whose name is part of each symbol.
// Expected is tl::expected in every language mode. A later version that uses std::expected gets
// another inline namespace, so object files built with either can be linked into one program.
#pragma once

#include <xpreempt/device.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace xpreempt::inline v0_tl {

namespace detail {

class HipCategory final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "hip"; }
    // hipGetErrorString() would need HIP's headers.
    [[nodiscard]] std::string message(int value) const override {
        return "HIP error " + std::to_string(value);
    }
    // The errno that the C functions return for the same error.
    [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
        return {nearest_errno(value), std::generic_category()};
    }

private:
    static int nearest_errno(int value) noexcept {
        switch (value) {
        case 0: return 0;
        case 1: return EINVAL; // hipErrorInvalidValue
        case 2: return ENOMEM; // hipErrorOutOfMemory
        case 100:
        case 101: return ENODEV;     // hipErrorNoDevice, hipErrorInvalidDevice
        case 400: return EINVAL;     // hipErrorInvalidHandle
        case 801: return EOPNOTSUPP; // hipErrorNotSupported
        default: return EIO;
        }
    }
};

} // namespace detail

// The category of values of hipError_t.
inline const std::error_category& hip_category() noexcept {
    static const detail::HipCategory category;
    return category;
}

// Why a call failed. Converts to std::error_code, and compares with std::errc.
class Error {
public:
    // hip_error: the hipError_t behind it, or 0.
    Error(int errno_value, std::string detail, int hip_error = 0)
        : errno_(errno_value), hip_error_(hip_error), detail_(std::move(detail)) {}

    // For a C function that has just returned that, in this thread.
    static Error of(int answer) { return {-answer, xp_last_detail(), xp_last_hip_error()}; }

    // In hip_category() if HIP refused something or a launch returned a hipError_t, else in
    // std::generic_category().
    [[nodiscard]] std::error_code code() const noexcept {
        return hip_error_ != 0 ? std::error_code(hip_error_, hip_category())
                               : std::error_code(errno_, std::generic_category());
    }
    operator std::error_code() const noexcept { return code(); }

    // The errno that the C function returned, as a positive number.
    [[nodiscard]] int errno_value() const noexcept { return errno_; }
    // 0: not HIP's.
    [[nodiscard]] int hip_error() const noexcept { return hip_error_; }
    // xp_last_detail() as it was when the call failed.
    [[nodiscard]] const std::string& detail() const noexcept { return detail_; }
    // A sentence for a log: detail(), or what the code means.
    [[nodiscard]] std::string what() const { return detail_.empty() ? code().message() : detail_; }

    friend bool operator==(const Error& error, std::errc value) noexcept {
        return error.errno_ == static_cast<int>(value);
    }

private:
    int errno_;
    int hip_error_;
    std::string detail_;
};

template <typename T> using Expected = tl::expected<T, Error>;

namespace detail {

inline tl::unexpected<Error> failed(int answer) {
    return tl::unexpected<Error>(Error::of(answer));
}

inline tl::unexpected<Error> failed(int errno_value, std::string why) {
    return tl::unexpected<Error>(Error(errno_value, std::move(why)));
}

inline Expected<void> as_expected(int answer) {
    if (answer != 0)
        return failed(answer);
    return {};
}

// A value, as call(&value) fills it in; sz of a struct that has it is set before.
template <typename Value, typename Call> Expected<Value> value_of(Call call) {
    Value value{};
    if constexpr (requires { value.sz; })
        value.sz = sizeof value;
    if (const int answer = call(&value); answer != 0)
        return failed(answer);
    return value;
}

// The level, as call(&level) fills it in.
template <typename Call> Expected<xp_level> level_of(Call call) {
    return value_of<std::uint32_t>(call).map(
        [](std::uint32_t level) { return static_cast<xp_level>(level); });
}

} // namespace detail

} // namespace xpreempt::inline v0_tl
