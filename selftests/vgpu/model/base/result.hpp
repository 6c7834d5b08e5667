// SPDX-License-Identifier: MIT
// A value, or an errno with a sentence that names the thing that is wrong.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace vgpu {

struct Error {
    int errno_value = 0;
    std::string text;
};

struct Nothing {};

template <class T> class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    explicit operator bool() const { return std::holds_alternative<T>(state_); }
    T& operator*() { return std::get<T>(state_); }
    const T& operator*() const { return std::get<T>(state_); }
    T* operator->() { return &std::get<T>(state_); }
    const T* operator->() const { return &std::get<T>(state_); }
    const Error& error() const { return std::get<Error>(state_); }

private:
    std::variant<T, Error> state_;
};

} // namespace vgpu
