// SPDX-License-Identifier: MIT
// Callers by the range of their object, providers by the address they are mapped at.
#include "hook/providers.hpp"

#include "base/caller_state.hpp"
#include "hook/current_call.hpp"
#include "hook/mutex_lock.hpp"
#include "hook/real.hpp"
#include "hook/table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

namespace xpreempt::hook {

std::atomic<unsigned> first_called{no_provider};
constinit thread_local bool is_other_runtime = false;
constinit thread_local CallerObject last_callers[2]{};

namespace {

constexpr const char* stems[] = {"libamdhip64", "libhsa-runtime64"};
constexpr std::size_t max_path = 4096;
constexpr std::uintptr_t page_bytes = 4096;

struct Provider {
    const void* base;
    void* handle; // kept: what was looked up is used for the rest of the process
};

// Written once, under the mutex, before the number is given out.
struct Providers {
    Provider list[max_providers];
    unsigned count;
};

struct Callers {
    static constexpr unsigned max = 1024; // objects that call ROCm; further ones are looked up
    CallerObject list[max]{};
    std::atomic<unsigned> count;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // never held while the linker is asked
Providers providers[2];
Callers callers[2];

struct Object {
    std::uintptr_t address; // in it
    std::uintptr_t begin, end;
    char path[max_path];
};

int match_address(dl_phdr_info* info, std::size_t, void* data) {
    auto* object = static_cast<Object*>(data);
    std::uintptr_t begin = UINTPTR_MAX;
    std::uintptr_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD)
            continue;
        const std::uintptr_t first = info->dlpi_addr + segment.p_vaddr;
        begin = first < begin ? first : begin;
        end = first + segment.p_memsz > end ? first + segment.p_memsz : end;
    }
    if (object->address < begin || object->address >= end)
        return 0;
    object->begin = begin;
    object->end = end;
    const std::size_t length = info->dlpi_name != nullptr ? std::strlen(info->dlpi_name) : max_path;
    if (length < max_path)
        std::memcpy(object->path, info->dlpi_name, length + 1);
    return 1;
}

struct Mapped {
    const char* stem;
    unsigned count;
    char first[max_path];
};

// Wheels carry a runtime of their own, under a path that no search finds.
int match_stem(dl_phdr_info* info, std::size_t, void* data) {
    auto* mapped = static_cast<Mapped*>(data);
    if (!starts_with(file_of(info->dlpi_name), mapped->stem))
        return 0;
    const std::size_t length = std::strlen(info->dlpi_name);
    if (length >= max_path)
        return 0;
    if (mapped->count++ == 0)
        std::memcpy(mapped->first, info->dlpi_name, length + 1);
    return 0;
}

unsigned find_mapped(Rocm rocm, Mapped& mapped) {
    mapped.stem = stems[index_of(rocm)];
    mapped.count = 0;
    dl_iterate_phdr(match_stem, &mapped);
    return mapped.count;
}

// In that object and in what it is linked to.
void* in_object(const char* path, const char* symbol) {
    void* handle = path[0] != '\0' ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (handle == nullptr)
        return nullptr;
    void* found = real_dlsym(handle, symbol);
    dlclose(handle);
    return found;
}

// Returns null for a function of the hook: ours, and that of a second copy, which would call ours.
void* unless_of_hook(void* function) {
    Dl_info of_function{}, of_table{};
    if (function == nullptr || is_of_rocm(function) || dladdr(function, &of_function) == 0)
        return function;
    const void* table = in_object(of_function.dli_fname, "xpreempt_hook_table");
    if (table == nullptr || dladdr(table, &of_table) == 0 ||
        of_table.dli_fbase != of_function.dli_fbase)
        return function;
    static constinit std::atomic<bool> reported{false};
    if (table != reinterpret_cast<void*>(&xpreempt_hook_table) && !reported.exchange(true))
        std::fprintf(
            stderr, "libxpreempt-hook: %s is a second copy of the hook and is not used; load one\n",
            of_function.dli_fname);
    return nullptr;
}

void* in_first_mapped(Rocm rocm, const char* symbol) {
    Mapped mapped{};
    void* found = nullptr;
    // HIP is linked to its ROCr: that one, should there be two.
    if (find_mapped(Rocm::hip, mapped) != 0)
        found = unless_of_hook(in_object(mapped.first, symbol));
    if (found == nullptr && rocm == Rocm::hsa && find_mapped(Rocm::hsa, mapped) != 0)
        found = unless_of_hook(in_object(mapped.first, symbol));
    return found;
}

unsigned number_of(Rocm rocm, void* function) {
    Dl_info info{};
    if (dladdr(function, &info) == 0)
        return no_provider;
    void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr)
        return no_provider;
    unsigned number = 0;
    {
        const MutexLock lock(mutex);
        Providers& known = providers[index_of(rocm)];
        while (number < known.count && known.list[number].base != info.dli_fbase)
            ++number;
        if (number == known.count && number < max_providers) {
            known.list[known.count++] = {info.dli_fbase, handle};
            return number;
        }
    }
    dlclose(handle); // it is loaded by another reference
    return number < max_providers ? number : 0;
}

void remember(Rocm rocm, const Object& object, unsigned provider) {
    const MutexLock lock(mutex);
    Callers& known = callers[index_of(rocm)];
    const unsigned count = known.count.load(std::memory_order_relaxed);
    if (count == Callers::max)
        return;
    known.list[count] = {object.begin, object.end, provider};
    known.count.store(count + 1, std::memory_order_release);
}

// The object that has set the gate. It is linked to no runtime.
bool is_library(const Object& object) {
    const Gate* set = gate.load(std::memory_order_acquire);
    const auto address = set != nullptr ? reinterpret_cast<std::uintptr_t>(set->before) : 0;
    return address >= object.begin && address < object.end;
}

unsigned look_up(const void* caller, Rocm rocm, const char* symbol) {
    const CallerState state;
    // Code that was made at run time is in no object: its page is taken for one.
    const auto page = reinterpret_cast<std::uintptr_t>(caller) & ~(page_bytes - 1);
    Object object{reinterpret_cast<std::uintptr_t>(caller), page, page + page_bytes, {}};
    const bool is_in_object = caller != nullptr && dl_iterate_phdr(match_address, &object) != 0;
    if (const unsigned first = first_called.load(std::memory_order_relaxed);
        rocm == Rocm::hip && first != no_provider &&
        (caller == nullptr || (is_in_object && is_library(object)))) {
        if (caller != nullptr)
            remember(rocm, object, first);
        return first;
    }
    void* found = unless_of_hook(real_dlsym(RTLD_NEXT, symbol));
    if (found == nullptr && is_in_object)
        found = unless_of_hook(in_object(object.path, symbol));
    bool is_certain = found != nullptr;
    // Called by a pointer, or by the last instruction of a function whose return address is that of
    // its own caller. With several runtimes it is most probably the one that the thread used last.
    if (!is_certain) {
        const CallerObject& last = last_callers[index_of(rocm)];
        Mapped mapped{};
        is_certain = find_mapped(rocm, mapped) <= 1;
        if (!is_certain && caller != nullptr && last.end != 0)
            return last.provider;
        found = in_first_mapped(rocm, symbol);
    }
    if (found == nullptr)
        return no_provider;
    const unsigned provider = number_of(rocm, found);
    if (caller != nullptr && is_certain && provider != no_provider) {
        remember(rocm, object, provider);
        last_callers[index_of(rocm)] = {object.begin, object.end, provider};
    }
    return provider;
}

} // namespace

unsigned find_provider(const void* caller, Rocm rocm, const char* symbol) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    const Callers& known = callers[index_of(rocm)];
    const unsigned count = known.count.load(std::memory_order_acquire);
    for (unsigned i = 0; i < count; ++i)
        if (const auto& range = known.list[i]; address >= range.begin && address < range.end) {
            last_callers[index_of(rocm)] = range;
            return range.provider;
        }
    return look_up(caller, rocm, symbol);
}

void* library_runtime() {
    const unsigned provider = provider_for(nullptr, Rocm::hip, "hipGetDevice");
    if (provider == no_provider)
        return nullptr;
    note_runtime(provider);
    const MutexLock lock(mutex);
    return providers[index_of(Rocm::hip)].list[provider].handle;
}

bool is_mapped(Rocm rocm) {
    Mapped mapped{};
    return find_mapped(rocm, mapped) != 0;
}

void unlock_providers() {
    mutex = PTHREAD_MUTEX_INITIALIZER;
}

void* in_provider(unsigned provider, Rocm rocm, const char* symbol) {
    void* handle = nullptr;
    {
        const MutexLock lock(mutex);
        handle = providers[index_of(rocm)].list[provider].handle;
    }
    return real_dlsym(handle, symbol);
}

} // namespace xpreempt::hook
