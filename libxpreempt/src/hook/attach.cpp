// SPDX-License-Identifier: MIT
// Late attach: global offset tables of loaded objects.
#include "hook/attach.hpp"

#include "hook/interposers.hpp"
#include "hook/real.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept;
extern "C" void* dlsym(void* handle, const char* name) noexcept;

namespace xpreempt::hook {

namespace {

// The parts of an object's dynamic section that locate the slots of its imports.
struct Imports {
    const ElfW(Sym) * symbols;
    const char* strings;
    struct {
        const ElfW(Rela) * begin;
        std::size_t bytes;
    } relocations[2]; // of calls, and of addresses taken
};

struct Protected {
    ElfW(Addr) begin, end; // read-only after relocation
};

Imports imports_of(const dl_phdr_info& info, const ElfW(Dyn) * entry) {
    Imports imports{};
    const auto take = [&info, &entry]<typename Type>(const Type*& to) {
        // The C library's linker has added the load address to those that it uses.
        const ElfW(Addr) value = entry->d_un.d_ptr;
        to = reinterpret_cast<const Type*>(value < info.dlpi_addr ? info.dlpi_addr + value : value);
    };
    for (; entry->d_tag != DT_NULL; ++entry)
        switch (entry->d_tag) {
        case DT_SYMTAB: take(imports.symbols); break;
        case DT_STRTAB: take(imports.strings); break;
        case DT_JMPREL: take(imports.relocations[0].begin); break;
        case DT_PLTRELSZ: imports.relocations[0].bytes = entry->d_un.d_val; break;
        case DT_RELA: take(imports.relocations[1].begin); break;
        case DT_RELASZ: imports.relocations[1].bytes = entry->d_un.d_val; break;
        default: break;
        }
    return imports;
}

// Another thread may call through the slot meanwhile; it finds the old function or ours.
void patch(ElfW(Addr) slot, void* function, const Protected& read_only) {
    auto* pointer = reinterpret_cast<std::atomic<void*>*>(slot);
    if (pointer->load(std::memory_order_relaxed) == function)
        return;
    const bool locked = slot >= read_only.begin && slot < read_only.end;
    const auto page_size = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
    void* page = reinterpret_cast<void*>(slot & ~(page_size - 1));
    if (locked && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0)
        return;
    pointer->store(function, std::memory_order_release);
    if (locked)
        mprotect(page, page_size, PROT_READ);
}

// The C library's functions only in ROCm: other libraries' files aren't our business.
void* replacement(const char* name, bool is_rocm) {
    if (void* ours = rocm_interposer(name); ours != nullptr)
        return ours;
    if (std::strcmp(name, "dlsym") == 0)
        return reinterpret_cast<void*>(&::dlsym);
    return is_rocm ? file_interposer(name) : nullptr;
}

void patch_object(const dl_phdr_info& info, const ElfW(Dyn) * dynamic, const Protected& read_only) {
    const char* file = file_of(info.dlpi_name);
    const bool is_rocm = starts_with(file, "libamdhip64") ||
                         starts_with(file, "libhsa-runtime64") || starts_with(file, "libhsakmt");
    const Imports imports = imports_of(info, dynamic);
    if (imports.symbols == nullptr || imports.strings == nullptr)
        return;
    for (const auto& list : imports.relocations) {
        const std::size_t count = list.begin != nullptr ? list.bytes / sizeof(ElfW(Rela)) : 0;
        for (std::size_t i = 0; i < count; ++i) {
            const ElfW(Rela)& relocation = list.begin[i];
            const auto type = ELF64_R_TYPE(relocation.r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
                continue;
            const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(relocation.r_info)];
            void* ours = replacement(imports.strings + symbol.st_name, is_rocm);
            if (ours != nullptr)
                patch(info.dlpi_addr + relocation.r_offset, ours, read_only);
        }
    }
}

int visit_object(dl_phdr_info* info, std::size_t, void* own_address) {
    const ElfW(Dyn)* dynamic = nullptr;
    Protected read_only{};
    bool is_own = false;
    const auto own = reinterpret_cast<ElfW(Addr)>(own_address);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        const ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_DYNAMIC)
            dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
        if (segment.p_type == PT_GNU_RELRO)
            read_only = {begin, begin + segment.p_memsz};
        if (segment.p_type == PT_LOAD && own >= begin && own < begin + segment.p_memsz)
            is_own = true;
    }
    const char* file = file_of(info->dlpi_name);
    const bool is_system = starts_with(file, "ld-linux") || starts_with(file, "libc.so") ||
                           starts_with(file, "linux-vdso");
    if (dynamic != nullptr && !is_own && !is_system)
        patch_object(*info, dynamic, read_only);
    return 0;
}

std::uint32_t num_queues_before;

std::uint32_t count_queues() {
    char path[64];
    std::snprintf(path, sizeof path, "/sys/class/kfd/kfd/proc/%d/queues", getpid());
    DIR* directory = opendir(path);
    if (directory == nullptr)
        return 0;
    std::uint32_t count = 0;
    while (const dirent* entry = readdir(directory))
        count += entry->d_name[0] != '.' ? 1U : 0U;
    closedir(directory);
    return count;
}

__attribute__((constructor)) void attach_if_late() {
    if (bound_by_linker())
        return;
    attach();
    num_queues_before = count_queues();
}

} // namespace

// Others may be in front of us, and call us in turn.
bool bound_by_linker() {
    void* first = real_dlsym(RTLD_DEFAULT, "ioctl");
    if (first != reinterpret_cast<void*>(&::ioctl) && first == real_dlsym(RTLD_NEXT, "ioctl"))
        return false;
    for (const char* name : {"hipModuleLaunchKernel", "hsa_queue_add_write_index_screlease"}) {
        first = real_dlsym(RTLD_DEFAULT, name);
        if (first != nullptr && first != rocm_interposer(name) && is_of_rocm(first))
            return false;
    }
    return true;
}

void attach() {
    if (!bound_by_linker()) // the C library visits objects in one thread at a time
        dl_iterate_phdr(visit_object, reinterpret_cast<void*>(&attach));
}

std::uint32_t queues_before() {
    return num_queues_before;
}

} // namespace xpreempt::hook
