// SPDX-License-Identifier: MIT
#include "hip.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <stdexcept>
#include <unistd.h>

namespace verify {

namespace {

// True if the library has it.
template <class Function> bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

} // namespace

tl::expected<Hip, std::string> Hip::load() {
    void* library = nullptr;
    // sudo takes LD_LIBRARY_PATH away, and AMD's packages do not always tell the linker of theirs.
    for (const char* directory : {"", "/opt/rocm/lib/"})
        for (const char* version : {"7", "6", "5"})
            if (library == nullptr)
                library = ::dlopen(fmt::format("{}libamdhip64.so.{}", directory, version).c_str(),
                                   RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr)
        return tl::make_unexpected(std::string(
            "no HIP: libamdhip64.so, version 5 to 7, is neither where the dynamic linker looks nor "
            "in /opt/rocm/lib"));
    Hip hip{};
    // Through the program: the hook in front of HIP is to see the calls.
    if (find(RTLD_DEFAULT, "hipRuntimeGetVersion", hip.runtime_version) &&
        find(RTLD_DEFAULT, "hipGetDeviceCount", hip.get_device_count) &&
        find(RTLD_DEFAULT, "hipDeviceGetPCIBusId", hip.get_pci_bus_id) &&
        find(RTLD_DEFAULT, "hipSetDevice", hip.set_device) &&
        find(RTLD_DEFAULT, "hipGetErrorString", hip.get_error_string) &&
        find(RTLD_DEFAULT, "hipHostMalloc", hip.host_malloc) &&
        find(RTLD_DEFAULT, "hipStreamCreateWithFlags", hip.stream_create) &&
        find(RTLD_DEFAULT, "hipStreamSynchronize", hip.stream_synchronize) &&
        find(RTLD_DEFAULT, "hipModuleLoadData", hip.module_load) &&
        find(RTLD_DEFAULT, "hipModuleGetFunction", hip.module_get_function) &&
        find(RTLD_DEFAULT, "hipModuleLaunchKernel", hip.module_launch))
        return hip;
    return tl::make_unexpected(std::string("HIP lacks a call: ") + ::dlerror());
}

// HIP_VERSION of hip_version.h: major * 10^7 + minor * 10^5 + patch.
std::string Hip::version() const {
    int number = 0;
    must(runtime_version(&number), "hipRuntimeGetVersion");
    return fmt::format("{}.{}.{}", number / 10'000'000, number / 100'000 % 100, number % 100'000);
}

void Hip::must(int error, const char* call) const {
    if (error != 0)
        throw std::runtime_error(std::string(call) + ": " + get_error_string(error));
}

void preload_hook(char** argv) {
    constexpr const char *variable = "LD_PRELOAD", *hook = "libxpreempt-hook.so";
    const char* const set = std::getenv(variable);
    const std::string others = set == nullptr ? "" : set;
    if (others.find(hook) != std::string::npos || ::dlopen(hook, RTLD_NOW) == nullptr)
        return;
    ::setenv(variable, others.empty() ? hook : (others + ":" + hook).c_str(), 1);
    ::execv("/proc/self/exe", argv);
}

std::unique_ptr<Library> Library::load() {
    void* const library = ::dlopen("libxpreempt.so.0", RTLD_NOW);
    auto found = std::make_unique<Library>();
    if (library == nullptr || !find(library, "xp_xqueue_create", found->create) ||
        !find(library, "xp_xqueue_destroy", found->destroy) ||
        !find(library, "xp_xqueue_submit", found->submit) ||
        !find(library, "xp_xqueue_suspend", found->suspend) ||
        !find(library, "xp_xqueue_resume", found->resume) ||
        !find(library, "xp_xqueue_set_priority", found->set_priority) ||
        !find(library, "xp_sched_start", found->sched_start) ||
        !find(library, "xp_sched_stop", found->sched_stop) ||
        !find(library, "xp_last_detail", found->last_detail))
        return nullptr;
    return found;
}

} // namespace verify
