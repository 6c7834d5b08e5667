// SPDX-License-Identifier: MIT
// Where the functions behind the interposers are.
#include "hook/real.hpp"

#include "hook/attach.hpp"

#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace xpreempt::hook {

namespace {

struct Mapped {
    const char* stem; // of the file's name, as "libamdhip64"
    char path[4096];
};

// Wheels carry a runtime of their own, under a path that no search finds.
int match_object(dl_phdr_info* info, std::size_t, void* data) {
    auto* mapped = static_cast<Mapped*>(data);
    if (info->dlpi_name == nullptr)
        return 0;
    const char* slash = std::strrchr(info->dlpi_name, '/');
    const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
    if (std::strncmp(file, mapped->stem, std::strlen(mapped->stem)) != 0 ||
        std::strlen(info->dlpi_name) >= sizeof mapped->path)
        return 0;
    std::strcpy(mapped->path, info->dlpi_name);
    return 1;
}

void* in_mapped(const char* symbol, const char* stem) {
    Mapped mapped{stem, {}};
    if (dl_iterate_phdr(match_object, &mapped) == 0)
        return nullptr;
    // The reference is kept: what was looked up is used for the rest of the process.
    void* handle = dlopen(mapped.path, RTLD_LAZY | RTLD_NOLOAD);
    return handle != nullptr ? real_dlsym(handle, symbol) : nullptr;
}

} // namespace

void* find_behind(const char* symbol, Library library) {
    // What callers were bound to before a late load of ours, which may be in front of our next.
    if (library == Library::c)
        return real_dlsym(bound_by_linker() ? RTLD_NEXT : RTLD_DEFAULT, symbol);
    void* found = real_dlsym(RTLD_NEXT, symbol);
    if (found != nullptr)
        return found;
    // HIP's handle finds what HIP links to as well: that ROCr, should there be two.
    found = in_mapped(symbol, "libamdhip64");
    return found != nullptr || library == Library::hip ? found
                                                       : in_mapped(symbol, "libhsa-runtime64");
}

} // namespace xpreempt::hook
