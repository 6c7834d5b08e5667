// SPDX-License-Identifier: MIT
// Errors as values: which errno, in which step, on which id.
#pragma once

#include <cstdint>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace xpreempt {

// Each step with its phrase, as error messages have it: "PHRASE failed: REASON". The sentence about
// an argument is the C interface's. From fork_child on the phrase is the whole detail; all but that
// one are ENOENT.
#define XPREEMPT_OPS(OP)                                                                           \
    OP(open_device, "opening /dev/kfd")                                                            \
    OP(query, "querying the driver")                                                               \
    OP(preempt_queue, "preempting a KFD queue")                                                    \
    OP(resume_queue, "resuming a KFD queue")                                                       \
    OP(switch_queues, "switching KFD queues")                                                      \
    OP(queue_status, "reading the status of a KFD queue")                                          \
    OP(watch, "watching processes for new work")                                                   \
    OP(update_queue, "changing the percentage of a KFD queue")                                     \
    OP(read_sysfs, "reading the queues below /sys/class/kfd")                                      \
    OP(read_proc, "reading /proc")                                                                 \
    OP(find_hip, "finding the loaded HIP runtime (libamdhip64.so)")                                \
    OP(call_hip, "calling HIP")                                                                    \
    OP(map_stream, "mapping a stream to its KFD queue")                                            \
    OP(share_queue, "stopping a KFD queue that other streams share")                               \
    OP(thread_stream,                                                                              \
       "using hipStreamPerThread, which is another stream in each thread, as one stream")          \
    OP(second_xqueue, "putting a second xqueue in front of a stream")                              \
    OP(choose_level, "choosing the level of a suspend")                                            \
    OP(submit, "submitting a command")                                                             \
    OP(launch, "launching a command")                                                              \
    OP(launch_function, "launching a command, whose launch function threw an exception,")          \
    OP(wait, "waiting for a command")                                                              \
    OP(notify, "using an eventfd")                                                                 \
    OP(suspend, "suspending an xqueue")                                                            \
    OP(resume, "resuming an xqueue")                                                               \
    OP(configure, "configuring an xqueue")                                                         \
    OP(destroy, "destroying an xqueue in its own launch function")                                 \
    OP(handle, "looking up a handle")                                                              \
    OP(open_control, "opening the control socket")                                                 \
    OP(set_name, "naming a stream or an xqueue")                                                   \
    OP(allocate, "allocating memory")                                                              \
    OP(start_thread, "starting a thread")                                                          \
    OP(internal, "an internal step")                                                               \
    OP(argument, "checking an argument")                                                           \
    OP(fork_child, "not available in a child of a process that used HIP or libxpreempt")           \
    OP(nothing_held, "nothing is held or suspended that could be resumed")                         \
    OP(no_scheduler, "no scheduler runs")                                                          \
    OP(no_control, "the control socket is not open")                                               \
    OP(no_xqueue, "the stream has no xqueue")

enum class Op : std::uint8_t {
#define OP(name, phrase) name,
    XPREEMPT_OPS(OP)
#undef OP
};

struct Error {
    Error() = default;
    constexpr Error(int number, Op step, std::uint32_t about = 0)
        : errno_value(number), op(step), id(about) {}
    // Written out, so that a Result is handed on in memory. In registers it would be put together
    // from what was just stored in smaller pieces, for which the processor waits each time.
    constexpr Error(const Error& other) noexcept : Error(other.errno_value, other.op, other.id) {}
    constexpr Error(Error&& other) noexcept : Error(other.errno_value, other.op, other.id) {}
    constexpr Error& operator=(const Error&) = default;
    constexpr Error& operator=(Error&&) = default;
    ~Error() = default;

    int errno_value = 0;
    Op op = Op::internal;
    std::uint32_t id = 0; // a KFD queue id, a gpu_id or a HIP error, depending on op
};

template <typename T> using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(int errno_value, Op op, std::uint32_t id = 0) {
    return tl::make_unexpected(Error{errno_value, op, id});
}

template <typename T, typename E> T take_value(tl::expected<T, E>&& result) {
    if constexpr (!std::is_void_v<T>)
        return *std::move(result);
}

// Yields the value of a result, or returns the error from the calling function. A block with a
// value is an extension of GCC and clang. Must not occur in its own argument.
#define TRY(...)                                                                                   \
    ({                                                                                             \
        auto tried = __VA_ARGS__;                                                                  \
        if (!tried)                                                                                \
            return tl::make_unexpected(std::move(tried).error());                                  \
        ::xpreempt::take_value(std::move(tried));                                                  \
    })

constexpr const char* phrase(Op op) {
    switch (op) {
#define OP(name, phrase)                                                                           \
    case Op::name: return phrase;
        XPREEMPT_OPS(OP)
#undef OP
    }
    return "an unknown step";
}

} // namespace xpreempt
