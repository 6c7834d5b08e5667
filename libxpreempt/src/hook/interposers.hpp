// SPDX-License-Identifier: MIT
// All interposers by name, for callers whom the dynamic linker doesn't bind to them by itself.
#pragma once

#include <cstddef>

namespace xpreempt::hook {

struct Interposer {
    const char* name;
    void* function;
};

struct InterposerList {
    const Interposer* begin;
    std::size_t count;
};

// INTERPOSER_ROW(name): a row of such a list.
#define INTERPOSER_ROW(name) {#name, reinterpret_cast<void*>(&(name))}

extern const InterposerList hip_row_interposers;    // of hip_calls.def
extern const InterposerList hip_stream_interposers; // the others of HIP
extern const InterposerList hsa_interposers;
extern const InterposerList file_interposers; // of the C library

void* interposer_in(const InterposerList& list, const char* name); // null: none
void* rocm_interposer(const char* name);                           // of HIP or HSA

} // namespace xpreempt::hook
