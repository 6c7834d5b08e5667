// SPDX-License-Identifier: MIT
// HwCommand*, and what is done with commands.
#include "c_boundary.hpp"

#include <cerrno>

using namespace xpreempt::compat;

namespace {

void run(Registry& registry, HwCommandHandle handle, Command& command) {
    try {
        command.result = command.launch(command.hw_queue, command.data);
    } catch (...) { // its command has ended all the same
        command.result = kXSchedErrorUnknown;
    }
    command.launched = true;
    if (command.destroyed)
        (void)registry.commands.remove(handle);
}

// The argument is a handle, so that a command that is dropped leaves nothing behind.
int launch(void*, void* argument) {
    const auto handle = reinterpret_cast<HwCommandHandle>(argument);
    Registry& registry = Registry::instance();
    const auto command = registry.commands.find(handle);
    if (!command)
        return -ENOENT;
    run(registry, handle, **command);
    return (*command)->result == kXSchedSuccess ? 0 : -EIO;
}

XResult submit(Registry& registry, const std::shared_ptr<XQueue>& queue, HwCommandHandle handle) {
    const auto command = registry.commands.find(handle);
    if (!command || (*command)->destroyed)
        return kXSchedErrorNotFound;
    if ((*command)->used.exchange(true))
        return kXSchedErrorNotAllowed;
    (*command)->queue = queue;
    (*command)->hw_queue = queue->hw_queue;
    std::uint64_t ticket = 0;
    const int answer =
        xp_xqueue_submit(queue->native, launch, reinterpret_cast<void*>(handle), &ticket);
    if (answer != 0) {
        const XResult failed = (*command)->result;
        (*command)->launched = true; // it will not be
        registry.keep_used(handle);
        return failed != kXSchedSuccess ? failed : result_of(answer);
    }
    (*command)->ticket = ticket;
    for (std::uint64_t last = queue->last_ticket; last < ticket;)
        if (queue->last_ticket.compare_exchange_weak(last, ticket))
            break;
    registry.keep_used(handle);
    return kXSchedSuccess;
}

} // namespace

extern "C" {

XResult XQueueSubmit(XQueueHandle xq, HwCommandHandle hw_cmd) {
    return c_call([&](Registry& registry) {
        const auto queue = registry.queues.find(xq);
        return queue ? submit(registry, *queue, hw_cmd) : kXSchedErrorNotFound;
    });
}

XResult XQueueWait(XQueueHandle xq, HwCommandHandle hw_cmd) {
    return c_call([&](Registry& registry) {
        const auto queue = registry.queues.find(xq);
        const auto command = registry.commands.find(hw_cmd);
        if (!queue || !command)
            return kXSchedErrorNotFound;
        const std::uint64_t ticket = (*command)->ticket;
        if (ticket == 0 || (*command)->queue != *queue)
            return kXSchedErrorNotAllowed;
        const int answer = xp_xqueue_wait((*queue)->native, ticket);
        const XResult launched = (*command)->result;
        return launched != kXSchedSuccess ? launched : result_of(answer);
    });
}

XResult HwCommandCreateCallback(HwCommandHandle* hw_cmd, LaunchCallback launch_callback,
                                void* data) {
    return c_call([&](Registry& registry) {
        if (hw_cmd == nullptr || launch_callback == nullptr)
            return kXSchedErrorInvalidValue;
        const auto command = std::make_shared<Command>();
        command->launch = launch_callback;
        command->data = data;
        *hw_cmd = registry.commands.insert(command);
        return kXSchedSuccess;
    });
}

XResult HwCommandDestroy(HwCommandHandle hw_cmd) {
    return c_call([&](Registry& registry) {
        const auto command = registry.commands.find(hw_cmd);
        if (!command || (*command)->destroyed.exchange(true))
            return kXSchedErrorNotFound;
        // launch() finds a submitted command by its handle, so the handle stays until run() removes
        // it.
        if (!(*command)->used || (*command)->launched)
            (void)registry.commands.remove(hw_cmd);
        return kXSchedSuccess;
    });
}

XResult HwQueueLaunch(HwQueueHandle hwq, HwCommandHandle hw_cmd) {
    return c_call([&](Registry& registry) {
        if (!registry.has(hwq))
            return kXSchedErrorNotFound;
        const auto command = registry.commands.find(hw_cmd);
        if (!command || (*command)->destroyed)
            return kXSchedErrorNotFound;
        if ((*command)->used.exchange(true))
            return kXSchedErrorNotAllowed;
        (*command)->hw_queue = hwq;
        run(registry, hw_cmd, **command);
        registry.keep_used(hw_cmd);
        return (*command)->result.load();
    });
}

XResult HwQueueSynchronize(HwQueueHandle hwq) {
    return c_call([&](Registry& registry) {
        if (!registry.has(hwq))
            return kXSchedErrorNotFound;
        return result_of(xp_stream_wait(reinterpret_cast<void*>(hwq)));
    });
}

XResult HwQueueDestroy(HwQueueHandle hwq) {
    return c_call([&](Registry& registry) {
        const std::lock_guard lock(registry.hw_mutex);
        const auto hw = registry.hw_queues.find(hwq);
        if (hw == registry.hw_queues.end())
            return kXSchedErrorNotFound;
        if (hw->second != 0)
            return kXSchedErrorNotAllowed;
        registry.hw_queues.erase(hw);
        return kXSchedSuccess;
    });
}

XResult xpreempt_compat_add_hw_queue(HwQueueHandle hwq) {
    return c_call([&](Registry& registry) {
        const std::lock_guard lock(registry.hw_mutex);
        registry.hw_queues.try_emplace(hwq);
        return kXSchedSuccess;
    });
}
}
