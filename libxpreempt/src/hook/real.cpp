// SPDX-License-Identifier: MIT
// Where the C library's functions behind the interposers are.
#include "hook/real.hpp"

#include "hook/attach.hpp"

#include <dlfcn.h>

namespace xpreempt::hook {

// After a late load of ours, callers were bound to what may be in front of our next.
void* find_behind(const char* symbol) {
    return real_dlsym(bound_by_linker() ? RTLD_NEXT : RTLD_DEFAULT, symbol);
}

} // namespace xpreempt::hook
