// SPDX-License-Identifier: MIT
// Callables that launch a command: what they may be, and how one is stored.
#pragma once

#include <xpreempt/cxx/stream.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace xpreempt::inline v0_tl {

namespace detail {

// An int (0, a negative errno or a positive hipError_t), an unscoped enum such as hipError_t, or
// void. Not a bool: true would be hipErrorInvalidValue.
template <typename Result>
concept LaunchResult = std::is_void_v<Result> || std::same_as<Result, int> ||
                       (std::is_enum_v<Result> && std::convertible_to<Result, int>);

template <typename Function>
concept TakesStream = std::invocable<Function&, StreamRef> &&
                      LaunchResult<std::invoke_result_t<Function&, StreamRef>>;

template <typename Function>
concept TakesNothing = std::invocable<Function&> && LaunchResult<std::invoke_result_t<Function&>>;

template <typename Function> int launch(Function& function, StreamRef stream) {
    if constexpr (TakesStream<Function>) {
        if constexpr (std::is_void_v<std::invoke_result_t<Function&, StreamRef>>)
            return function(stream), 0;
        else
            return function(stream);
    } else {
        if constexpr (std::is_void_v<std::invoke_result_t<Function&>>)
            return function(), 0;
        else
            return function();
    }
}

template <typename Function> consteval bool launches_without_exception() {
    if constexpr (TakesStream<Function>)
        return std::is_nothrow_invocable_v<Function&, StreamRef>;
    else
        return std::is_nothrow_invocable_v<Function&>;
}

} // namespace detail

// An argument of XQueue::submit(). It is called with the stream, as a hipStream_t, void * or
// StreamRef, or with nothing; it returns nothing, a hipError_t, or an int as an xp_launch_fn does.
template <typename Function>
concept LaunchCallable =
    std::move_constructible<std::decay_t<Function>> &&
    (detail::TakesStream<std::decay_t<Function>> || detail::TakesNothing<std::decay_t<Function>>);

namespace detail {

// Fits into the argument of an xp_launch_fn: it needs no memory, and nothing has to be freed. It
// must not throw, because there would be no place for the exception's text.
template <typename Function>
concept PackedCallable =
    sizeof(Function) <= sizeof(void*) && std::is_trivially_copyable_v<Function> &&
    launches_without_exception<Function>();

template <PackedCallable Function> void* pack(const Function& function) noexcept {
    void* packed = nullptr;
    std::memcpy(static_cast<void*>(&packed), std::addressof(function), sizeof function);
    return packed;
}

template <PackedCallable Function> int launch_packed(void* stream, void* packed) noexcept {
    alignas(Function) std::byte bytes[sizeof(Function)];
    std::memcpy(bytes, static_cast<const void*>(&packed), sizeof bytes);
    return launch(*std::launder(reinterpret_cast<Function*>(bytes)), StreamRef(stream));
}

// Place for one callable of any type; a large one is in memory of its own. Not movable: a launch
// may be in it.
class CallableSlot {
public:
    CallableSlot() = default;
    CallableSlot(const CallableSlot&) = delete;
    CallableSlot& operator=(const CallableSlot&) = delete;
    ~CallableSlot() { reset(); }

    // Into an empty slot.
    template <typename Given> void emplace(Given&& given) {
        using Function = std::decay_t<Given>;
        if constexpr (sizeof(Function) <= slot_bytes &&
                      alignof(Function) <= alignof(std::max_align_t))
            construct<Function>(std::forward<Given>(given));
        else
            construct<Boxed<Function>>(
                Boxed<Function>{std::make_unique<Function>(std::forward<Given>(given))});
    }

    int operator()(StreamRef stream) { return launch_(bytes_, stream); }

    void reset() noexcept {
        if (launch_ == nullptr)
            return;
        launch_ = nullptr;
        destroy_(bytes_);
    }

private:
    static constexpr std::size_t slot_bytes = 64;

    template <typename Function> struct Boxed {
        std::unique_ptr<Function> function;
        int operator()(StreamRef stream) { return launch(*function, stream); }
    };

    template <typename Function> static Function& in(std::byte* bytes) noexcept {
        return *std::launder(reinterpret_cast<Function*>(bytes));
    }

    template <typename Function, typename Given> void construct(Given&& given) {
        ::new (static_cast<void*>(bytes_)) Function(std::forward<Given>(given));
        launch_ = [](std::byte* bytes, StreamRef stream) {
            return launch(in<Function>(bytes), stream);
        };
        destroy_ = [](std::byte* bytes) noexcept { in<Function>(bytes).~Function(); };
    }

    int (*launch_)(std::byte*, StreamRef) = nullptr; // null: empty
    void (*destroy_)(std::byte*) noexcept = nullptr;
    alignas(std::max_align_t) std::byte bytes_[slot_bytes];
};

} // namespace detail

} // namespace xpreempt::inline v0_tl
