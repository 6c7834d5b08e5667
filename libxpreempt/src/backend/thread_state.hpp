// SPDX-License-Identifier: MIT
// State of a thread of the program: the streams that it used, and what its call of HIP has begun.
#pragma once

#include "backend/direct_calls.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <pthread.h>
#include <vector>

namespace xpreempt::backend {

// A stream that the calling thread used, as of a generation of DirectStreams. So a thread takes a
// lock of all threads for the first call into a stream only.
struct KnownStream {
    const void* key = nullptr;
    std::uint64_t generation = 0;
    std::weak_ptr<DirectCalls> calls;
    bool reported = false; // its work, and nothing more is to be reported
};

struct ThreadState {
    std::array<KnownStream, hip::num_buckets> streams;
    // From before a call of HIP until after it: the stream that it works on, those that it may
    // destroy, its lifts, and what keeps it from ending captures.
    std::shared_ptr<DirectCalls> direct;
    std::vector<DirectStreams::Known> reset;
    std::vector<const void*> dying; // streams that a reset destroys
    std::vector<hip::QueueRecord> lifted;
    std::optional<hip::AsideOfCaptures> aside;
};

inline thread_local ThreadState* state_here = nullptr;

// Deleted by a key of pthread, because destructors of the program may call HIP after ours of C++.
struct StateEnd {
    static void end(void* state) {
        state_here = nullptr;
        delete static_cast<ThreadState*>(state);
    }
    pthread_key_t key{};
    bool has_key = pthread_key_create(&key, end) == 0;
};
inline const StateEnd state_end;

inline ThreadState& thread_state() {
    if (state_here == nullptr) {
        state_here = new ThreadState;
        if (state_end.has_key)
            pthread_setspecific(state_end.key, state_here);
    }
    return *state_here;
}

inline KnownStream& known(const DirectStreams& direct, const void* key) {
    KnownStream& entry = thread_state().streams[hip::bucket_of(key)];
    const std::uint64_t generation = direct.generation(); // before find()
    if (entry.key != key || entry.generation != generation)
        entry = {key, generation, direct.find(key), false};
    return entry;
}

} // namespace xpreempt::backend
