// SPDX-License-Identifier: MIT
// Common part of the owners of the C++ face: a value that one C function ends.
#pragma once

#include <xpreempt/cxx/error.hpp>

#include <cerrno>
#include <utility>

namespace xpreempt::inline v0_tl::detail {

// Move-only. Ends its value when it is destroyed or assigned to; a destructor has no way to report
// the error. End takes the value and returns 0 or a negative errno.
template <typename Value, auto End> class Owned {
public:
    explicit Owned(Value value) : value_(std::move(value)), owned_(true) {}
    Owned(Owned&& other) noexcept
        : value_(std::move(other.value_)), owned_(std::exchange(other.owned_, false)) {}
    Owned& operator=(Owned&& other) noexcept {
        if (this != &other) {
            if (owned_)
                (void)End(value_);
            value_ = std::move(other.value_);
            owned_ = std::exchange(other.owned_, false);
        }
        return *this;
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() {
        if (owned_)
            (void)End(value_);
    }

    // Null if it has ended or was moved from.
    [[nodiscard]] const Value* get() const noexcept { return owned_ ? &value_ : nullptr; }

    // Still owned after an error, so that the call can be repeated, unless the error says that
    // there is nothing to end. EBADF if it has ended or was moved from.
    Expected<void> end() {
        if (!owned_)
            return failed(EBADF, "the object was closed or moved from");
        const int answer = End(value_);
        if (answer == 0 || answer == -ENOENT || answer == -EBADF)
            owned_ = false;
        return as_expected(answer);
    }

private:
    Value value_;
    bool owned_;
};

} // namespace xpreempt::inline v0_tl::detail
