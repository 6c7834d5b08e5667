// SPDX-License-Identifier: MIT
// Remembers in each thread what DirectStreams answers for the streams that the thread uses.
#pragma once

#include "backend/direct_calls.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <pthread.h>

namespace xpreempt::backend {

// A stream that the calling thread used, as of a generation of DirectStreams. So a thread takes a
// lock of all threads for the first call into a stream only.
struct KnownStream {
    const void* key = nullptr;
    std::uint64_t generation = 0;
    std::weak_ptr<DirectCalls> calls;
    bool reported = false; // its work, and nothing more is to be reported
};
using KnownStreams = std::array<KnownStream, 16>;

inline thread_local KnownStreams* known_here = nullptr;

// Deleted by a key of pthread, because destructors of the program may call HIP after ours of C++.
struct KnownEnd {
    static void end(void* streams) {
        known_here = nullptr;
        delete static_cast<KnownStreams*>(streams);
    }
    pthread_key_t key{};
    bool has_key = pthread_key_create(&key, end) == 0;
};
inline const KnownEnd known_end;

inline KnownStream& known(const DirectStreams& direct, const void* key) {
    const auto mixed = reinterpret_cast<std::uintptr_t>(key) * std::uint64_t{0x9e3779b97f4a7c15};
    if (known_here == nullptr) {
        known_here = new KnownStreams;
        if (known_end.has_key)
            pthread_setspecific(known_end.key, known_here);
    }
    KnownStream& entry = (*known_here)[mixed >> 60];
    const std::uint64_t generation = direct.generation(); // before find()
    if (entry.key != key || entry.generation != generation)
        entry = {key, generation, direct.find(key), false};
    return entry;
}

} // namespace xpreempt::backend
