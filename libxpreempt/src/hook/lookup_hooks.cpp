// SPDX-License-Identifier: MIT
// The interposer of dlsym, for programs that look HIP up instead of linking to it.
//
// HIP's own hipGetProcAddress is such a program too.
#include "hook/interposers.hpp"
#include "hook/real.hpp"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

// Set by the linker.
#define TABLE(section)                                                                             \
    extern "C" __attribute__((visibility("hidden")))                                               \
    const xpreempt::hook::Interposer __start_##section[],                                          \
        __stop_##section[];
TABLE(rocm_interposers)
TABLE(file_interposers)

extern "C" {
// The dlsym behind ours; the assembly below jumps to it.
__attribute__((visibility("hidden"))) std::atomic<void*> xpreempt_hook_dlsym_behind{nullptr};
}

namespace xpreempt::hook {

namespace {

using Lookup = void*(void*, const char*);

void* find(const Interposer* row, const Interposer* end, const char* name) {
    while (row != end && std::strcmp(row->name, name) != 0)
        ++row;
    return row != end ? row->function : nullptr;
}

} // namespace

void* rocm_interposer(const char* name) {
    return find(__start_rocm_interposers, __stop_rocm_interposers, name);
}

void* file_interposer(const char* name) {
    return find(__start_file_interposers, __stop_file_interposers, name);
}

const char* file_of(const char* path) {
    const char* slash = path != nullptr ? std::strrchr(path, '/') : nullptr;
    return slash != nullptr ? slash + 1 : path != nullptr ? path : "";
}

bool starts_with(const char* text, const char* beginning) {
    return std::strncmp(text, beginning, std::strlen(beginning)) == 0;
}

bool is_of_rocm(void* function) {
    Dl_info info{};
    return dladdr(function, &info) != 0 &&
           (starts_with(file_of(info.dli_fname), "libamdhip64") ||
            starts_with(file_of(info.dli_fname), "libhsa-runtime64"));
}

// dlvsym() needs the version. Every C library has that of the beginning, also after its merger with
// libdl: nothing is asked for that is not there. A failed lookup leaves a message, which the next
// one frees before glibc 2.34, and the free() of an allocator such as that of TBB calls dlsym().
void* real_dlsym(void* handle, const char* name) {
    void* behind = xpreempt_hook_dlsym_behind.load(std::memory_order_acquire);
    if (behind == nullptr) {
        behind = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        if (behind == nullptr)
            behind = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        xpreempt_hook_dlsym_behind.store(behind, std::memory_order_release);
    }
    return reinterpret_cast<Lookup*>(behind)(handle, name);
}

} // namespace xpreempt::hook

#if defined(__x86_64__)

// Ours in place of what the lookup would find; null: let it find.
extern "C" __attribute__((visibility("hidden"), used)) void*
xpreempt_hook_replacement(void* handle, const char* name) {
    using namespace xpreempt::hook;
    if (xpreempt_hook_dlsym_behind.load(std::memory_order_acquire) == nullptr)
        (void)real_dlsym(RTLD_DEFAULT, "dlsym"); // so that there is where to jump to
    // For these two the program's order is right: we are in it, or its user wants what is behind
    // us.
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || name == nullptr)
        return nullptr;
    void* ours = rocm_interposer(name);
    if (ours == nullptr)
        return nullptr;
    // Only for the runtime's own function, not for one of that name in a library like ours.
    void* found = real_dlsym(handle, name);
    if (found == nullptr || !is_of_rocm(found))
        return nullptr;
    // The function's caller isn't known yet. If our interposer would call another runtime's
    // function, return null, so that the program gets the one it asked for, past us.
    for (const Rocm rocm : {Rocm::hip, Rocm::hsa})
        if (const unsigned provider = provider_for(nullptr, rocm, name);
            provider != no_provider && in_provider(provider, rocm, name) == found)
            return ours;
    return nullptr;
}

// The result of dlsym depends on its caller (RTLD_NEXT, RTLD_DEFAULT), which it finds by its return
// address. So we jump to it, with the stack as our caller left it.
asm(R"(
    .pushsection .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call xpreempt_hook_replacement
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jne 1f
    jmp *xpreempt_hook_dlsym_behind(%rip)
1:  ret
    .cfi_endproc
    .size dlsym, . - dlsym
    .popsection
)");

#endif
