// SPDX-License-Identifier: MIT
// Errors as values: which errno, in which step, on which id.
#pragma once

#include <cstdint>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace xpreempt {

enum class Op : std::uint8_t {
    open_device,
    query,
    preempt_queue,
    resume_queue,
    switch_queues,
    queue_status,
    watch,
    update_queue,
    read_sysfs,
    read_proc,
    find_hip,
    call_hip,
    map_stream,
    share_queue,
    thread_stream,
    second_xqueue,
    choose_level,
    submit,
    launch,
    launch_function,
    wait,
    notify,
    suspend,
    resume,
    configure,
    destroy,
    handle,
    open_control,
    set_name,
    allocate,
    start_thread,
    internal,
    argument, // what a caller handed in; the sentence is the C interface's
    // From here on the phrase is the whole detail. All but the first are ENOENT.
    fork_child,
    nothing_held,
    no_scheduler,
    no_control,
    no_xqueue,
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

// Returns the step as a phrase for error messages: "PHRASE failed: REASON".
constexpr const char* phrase(Op op) {
    switch (op) {
    case Op::open_device: return "opening /dev/kfd";
    case Op::query: return "querying the driver";
    case Op::preempt_queue: return "preempting a KFD queue";
    case Op::resume_queue: return "resuming a KFD queue";
    case Op::switch_queues: return "switching KFD queues";
    case Op::queue_status: return "reading the status of a KFD queue";
    case Op::watch: return "watching processes for new work";
    case Op::update_queue: return "changing the percentage of a KFD queue";
    case Op::read_sysfs: return "reading the queues below /sys/class/kfd";
    case Op::read_proc: return "reading /proc";
    case Op::find_hip: return "finding the loaded HIP runtime (libamdhip64.so)";
    case Op::call_hip: return "calling HIP";
    case Op::map_stream: return "mapping a stream to its KFD queue";
    case Op::share_queue: return "stopping a KFD queue that other streams share";
    case Op::thread_stream:
        return "using hipStreamPerThread, which is another stream in each thread, as one stream";
    case Op::second_xqueue: return "putting a second xqueue in front of a stream";
    case Op::choose_level: return "choosing the level of a suspend";
    case Op::submit: return "submitting a command";
    case Op::launch: return "launching a command";
    case Op::launch_function:
        return "launching a command, whose launch function threw an exception,";
    case Op::wait: return "waiting for a command";
    case Op::notify: return "using an eventfd";
    case Op::suspend: return "suspending an xqueue";
    case Op::resume: return "resuming an xqueue";
    case Op::configure: return "configuring an xqueue";
    case Op::destroy: return "destroying an xqueue in its own launch function";
    case Op::handle: return "looking up a handle";
    case Op::open_control: return "opening the control socket";
    case Op::set_name: return "naming a stream or an xqueue";
    case Op::argument: return "checking an argument";
    case Op::allocate: return "allocating memory";
    case Op::start_thread: return "starting a thread";
    case Op::internal: return "an internal step";
    case Op::fork_child:
        return "not available in a child of a process that used HIP or libxpreempt";
    case Op::nothing_held: return "nothing is held or suspended that could be resumed";
    case Op::no_scheduler: return "no scheduler runs";
    case Op::no_control: return "the control socket is not open";
    case Op::no_xqueue: return "the stream has no xqueue";
    }
    return "an unknown step";
}

} // namespace xpreempt
