// SPDX-License-Identifier: MIT
// Before HIP reads it: an environment in which each stream gets a queue of its own and keeps it.
#include "hook/attach.hpp"
#include "hook/providers.hpp"
#include "hook/queue_slots.hpp"
#include "hook/queue_table.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>

namespace xpreempt::hook {

namespace {

// XPREEMPT_HW_QUEUES: queues a device and priority, 0 leaves HIP's environment alone. HIP's own
// default is 4, for any number of streams.
unsigned wanted_queues() {
    if (const char* text = std::getenv("XPREEMPT_HW_QUEUES"); text != nullptr)
        return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
    constexpr unsigned own_needs = 2; // ROCr's utility queue and one of another process
    const unsigned slots = compute_slots("/sys/class/kfd/kfd/topology/nodes");
    return slots > own_needs ? slots - own_needs : 0;
}

// Doesn't override variables that the user has set; the hook of a parent process is no user. Beside
// a HIP that was loaded earlier it sets none: HIP has read them, and another thread may be in
// getenv().
__attribute__((constructor)) void prepare_environment() {
    pthread_atfork(nullptr, nullptr, forget_everything);
    if (!bound_by_linker() && is_mapped(Rocm::hip))
        return;
    constexpr const char *hips = "GPU_MAX_HW_QUEUES", *ours = "XPREEMPT_SET_HW_QUEUES";
    const char *now = std::getenv(hips), *set = std::getenv(ours);
    if (now != nullptr && set != nullptr && std::strcmp(now, set) == 0)
        unsetenv(hips);
    const unsigned queues = wanted_queues();
    if (queues == 0)
        return;
    char text[16];
    std::snprintf(text, sizeof text, "%u", queues);
    if (std::getenv(hips) == nullptr) {
        setenv(hips, text, 1);
        setenv(ours, text, 1);
    }
    setenv("DEBUG_HIP_DYNAMIC_QUEUES", "0", 0); // a stream keeps its queue
}

} // namespace

} // namespace xpreempt::hook
