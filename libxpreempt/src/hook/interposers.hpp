// SPDX-License-Identifier: MIT
// All interposers by name, for callers whom the dynamic linker doesn't bind to them by itself.
#pragma once

namespace xpreempt::hook {

struct Interposer {
    const char* name;
    void* function;
};

void* rocm_interposer(const char* name); // of HIP or HSA; null: none
void* file_interposer(const char* name); // of the C library

} // namespace xpreempt::hook

// Adds the function to `section`, of which the linker makes the table for these lookups.
#define INTERPOSED(section, name) NUMBERED_INTERPOSED(section, name, __COUNTER__)
#define NUMBERED_INTERPOSED(section, name, number) ADD_INTERPOSED(section, name, number)
#define ADD_INTERPOSED(in_section, name, number)                                                   \
    [[gnu::used, gnu::section(#in_section)]] static const xpreempt::hook::Interposer row_##number{ \
        #name, reinterpret_cast<void*>(&(name))};
