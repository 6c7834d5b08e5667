// SPDX-License-Identifier: MIT
// Finds libxpreempt: the one of the process, the one beside the hook, or the one of the system.
#include "hook/companion.hpp"

#include "base/caller_state.hpp"
#include "hook/unknown_variables.hpp"

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace xpreempt::hook {

namespace {

constexpr const char* soname = "libxpreempt.so.0";
constexpr const char* reasons[] = {"XPREEMPT_CONTROL", "XSCHED_AUTO_XQUEUE", "XSCHED_SCHEDULER",
                                   "XSCHED_POLICY"};

// As the library understands it. Not from the caller of a program with more rights than its own.
bool asks(const char* name) {
    const char* value = secure_getenv(name);
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0 &&
           strcasecmp(value, "off") != 0 && strcasecmp(value, "app") != 0;
}

void* beside_us() {
    Dl_info us{};
    if (dladdr(reinterpret_cast<void*>(&load_companion), &us) == 0 || us.dli_fname == nullptr)
        return nullptr;
    // Resolve the name first: it may be a link elsewhere, such as libshimhip.so.
    char file[PATH_MAX], path[PATH_MAX + sizeof "/libxpreempt.so.0"];
    if (realpath(us.dli_fname, file) == nullptr)
        return nullptr;
    const char* slash = std::strrchr(file, '/');
    if (slash == nullptr)
        return nullptr;
    const int length =
        std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(slash - file), file, soname);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path)
        return nullptr;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void load() {
    const char* reason = nullptr;
    for (const char* name : reasons)
        if (reason == nullptr && asks(name))
            reason = name;
    if (reason == nullptr)
        return;
    void* library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr)
        library = beside_us();
    if (library == nullptr)
        library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    using Start = int();
    auto* const start =
        library != nullptr ? reinterpret_cast<Start*>(dlsym(library, "xp_start")) : nullptr;
    if (start != nullptr) {
        start();
        return;
    }
    const char* why = dlerror();
    std::fprintf(
        stderr,
        "libxpreempt-hook: %s is set and has no effect: %s; install libxpreempt of the same "
        "version beside the hook\n",
        reason, why != nullptr ? why : soname);
}

std::atomic<bool> begun{false};

} // namespace

// Without a wait for another thread that loads it: this one may hold the linker's lock, in a
// constructor of a library.
void load_companion() {
    if (begun.exchange(true))
        return;
    const CallerState state;
    report_unknown_variables();
    load();
}

} // namespace xpreempt::hook
