// SPDX-License-Identifier: MIT
// How an entry point of HIP is interposed: name the stream, ask the gate, make the call, notify the
// gate.
#pragma once

#include "hook/current_call.hpp"
#include "hook/interposers.hpp"
#include "hook/real.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Begins the definition of a function in front of ROCm's.
#define INTERPOSER(type, name, ...)                                                                \
    extern "C" __attribute__((visibility("default"))) type name(__VA_ARGS__);                      \
    INTERPOSED(rocm_interposers, name)                                                             \
    type name(__VA_ARGS__)
// `next`: the function behind the interposer in which this stands.
#define NEXT(rocm, name)                                                                           \
    static constinit RocmNext<Rocm::rocm, decltype(name)> next {                                   \
        #name                                                                                      \
    }
// Yields that function, or returns `none` from the interposer if there is no runtime behind it.
#define FUNCTION_OR(none, rocm, name)                                                              \
    ({                                                                                             \
        NEXT(rocm, name);                                                                          \
        auto* found = next(__builtin_return_address(0));                                           \
        if (found == nullptr)                                                                      \
            return none;                                                                           \
        found;                                                                                     \
    })

namespace xpreempt::hook {

// Types of HIP's ABI, which all of 5.x to 7.x share; HIP's headers aren't needed.
using Error = int; // hipError_t
using Stream = struct StreamType*;
using Event = struct EventType*;
using ConstPointer = const void*;
using Size = std::size_t;
using U8 = unsigned char;
using U16 = unsigned short;
using U32 = unsigned;
using U64 = std::uint64_t;
struct Dim3 {
    U32 x, y, z;
};
struct Extent {
    Size width, height, depth;
};
struct PitchedPointer {
    void* pointer;
    Size pitch, width, height;
};
struct MemoryLocation {
    int type, id;
};

constexpr Error hip_success = 0;
constexpr Error hip_error_not_found = 500; // hipErrorNotFound: no HIP runtime behind us

template <typename Wanted, typename... Arguments> Wanted last_of(const Arguments&... arguments) {
    Wanted found{};
    [[maybe_unused]] const auto take = [&found](const auto& argument) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(argument)>, Wanted>)
            found = argument;
    };
    (take(arguments), ...);
    return found;
}

// Makes the call between the gate's two functions. finish(error) comes before the second.
template <typename Function, typename Finish = void (*)(Error)>
Error make_call(const Call& call, Function function, Finish finish = [](Error) {}) {
    const Gate* asked = gate_for(call.call_class);
    if (asked != nullptr)
        ask_gate(*asked, call);
    Error error = hip_success;
    {
        const CallScope scope(call.call_class, call.stream);
        if constexpr (std::is_void_v<std::invoke_result_t<Function>>)
            function();
        else
            error = function();
    }
    finish(error);
    if (asked == nullptr && call.call_class == CallClass::capture)
        asked = gate_for(call.call_class); // it came in the middle
    if (asked != nullptr)
        notify_gate(*asked, call, error);
    return error;
}

// Updates our tables after a call as its class requires.
void after_call(CallClass call_class, const void* stream, Error error);

// A call on that stream. Inline, because a call of its own would copy up to eleven arguments.
template <CallClass call_class, bool per_thread = false, typename... Arguments>
[[gnu::always_inline]] inline Error interpose_on(Stream handle,
                                                 RocmNext<Rocm::hip, Error(Arguments...)>& next,
                                                 const void* caller, Arguments... arguments) {
    Error (*function)(Arguments...) = next(caller);
    if (function == nullptr)
        return hip_error_not_found;
    if (is_other_runtime) [[unlikely]]
        return function(arguments...);
    const void* stream = is_attributed(call_class) || (std::is_same_v<Arguments, Stream> || ...)
                             ? key_of(handle, per_thread)
                             : nullptr;
    return make_call(
        {next.name(), call_class, per_thread, handle, stream, last_of<Event>(arguments...)},
        [&] { return function(arguments...); },
        [=](Error error) {
            if constexpr (has_aftermath(call_class))
                after_call(call_class, stream, error);
        });
}

// The stream is the last parameter that is one.
template <CallClass call_class, bool per_thread, typename... Arguments>
[[gnu::always_inline]] inline Error interpose(RocmNext<Rocm::hip, Error(Arguments...)>& next,
                                              const void* caller, Arguments... arguments) {
    return interpose_on<call_class, per_thread>(last_of<Stream>(arguments...), next, caller,
                                                arguments...);
}

} // namespace xpreempt::hook
