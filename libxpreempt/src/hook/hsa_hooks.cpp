// SPDX-License-Identifier: MIT
// The interposer of ROCr: HIP reserves each AQL packet with this call, in the thread of the HIP
// call.
#include "hook/queue_table.hpp"
#include "hook/real.hpp"
#include "hook/stream_scope.hpp"

#include <cstdint>

namespace xpreempt::hook {

namespace {

struct Current {
    const void* stream;
    unsigned depth;
};
__attribute__((tls_model("initial-exec"))) constinit thread_local Current current{};

// hipStreamPerThread is one handle for as many streams as there are threads; each thread's own
// address tells them apart.
constexpr std::uintptr_t hip_stream_legacy = 1;
constexpr std::uintptr_t hip_stream_per_thread = 2;

const void* key_of(const void* stream) {
    switch (reinterpret_cast<std::uintptr_t>(stream)) {
    case hip_stream_legacy: return nullptr; // another name of the null stream
    case hip_stream_per_thread: return &current;
    default: return stream;
    }
}

} // namespace

StreamScope::StreamScope(const void* stream) {
    if (current.depth++ == 0)
        current.stream = key_of(stream);
}

StreamScope::~StreamScope() {
    --current.depth;
}

bool current_stream(const void*& stream) {
    stream = current.stream;
    return current.depth > 0;
}

} // namespace xpreempt::hook

extern "C" __attribute__((visibility("default"))) std::uint64_t
hsa_queue_add_write_index_screlease(const void* queue, std::uint64_t value) {
    using namespace xpreempt::hook;
    static constinit Next<std::uint64_t(const void*, std::uint64_t)> next{
        "hsa_queue_add_write_index_screlease", "libhsa-runtime64.so.1"};
    const void* stream = nullptr;
    if (current_stream(stream))
        note_packet(stream, queue);
    return next()(queue, value);
}
