// SPDX-License-Identifier: MIT
// HIP and libxpreempt, found when the program runs: it starts where neither is.
#pragma once

#include <xpreempt/xpreempt.h>

#include <memory>
#include <string>
#include <tl/expected.hpp>

namespace verify {

// The calls of HIP that this program needs, as hip_runtime_api.h declares them (5.2 to 7.2); an
// hipError_t is an int, and every handle a pointer.
struct Hip {
    static constexpr unsigned non_blocking = 1; // hipStreamNonBlocking

    int (*runtime_version)(int*);
    int (*get_device_count)(int*);
    int (*get_pci_bus_id)(char*, int, int);
    int (*set_device)(int);
    const char* (*get_error_string)(int);
    int (*host_malloc)(void**, std::size_t, unsigned);
    int (*stream_create)(void**, unsigned);
    int (*stream_synchronize)(void*);
    int (*module_load)(void**, const void*);
    int (*module_get_function)(void**, void*, const char*);
    int (*module_launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);

    static tl::expected<Hip, std::string> load();
    [[nodiscard]] std::string version() const; // "6.4.43482"
    // Throws std::runtime_error for a call that failed.
    void must(int error, const char* call) const;
};

// Starts the program again with the hook of libxpreempt in front of HIP; returns if it is there, or
// if there is none.
void preload_hook(char** argv);

struct Library {
    decltype(&::xp_xqueue_create) create;
    decltype(&::xp_xqueue_destroy) destroy;
    decltype(&::xp_xqueue_submit) submit;
    decltype(&::xp_xqueue_suspend) suspend;
    decltype(&::xp_xqueue_resume) resume;
    decltype(&::xp_xqueue_set_priority) set_priority;
    decltype(&::xp_sched_start) sched_start;
    decltype(&::xp_sched_stop) sched_stop;
    decltype(&::xp_last_detail) last_detail;

    // nullptr where libxpreempt is not installed.
    static std::unique_ptr<Library> load();
};

} // namespace verify
