// SPDX-License-Identifier: MIT
// Calls of HIP for count-held-instructions: hook and library as built, on the fake ROCm.
// usage: xpreempt_held_instructions record|edge|launch STREAMS held|free|plain COUNT
//   held   beside a held stream, among many that have a priority
//   free   the same, but none is held
//   plain  the program calls no function of the library
#include "fake/fake_rocm.hpp"
#include "hook/table.hpp"

#include <xpreempt/xpreempt.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" {
int hipEventCreateWithFlags(void** event, unsigned flags);
int hipEventRecord(void* event, void* stream);
int hipExtStreamCreateWithCUMask(void** stream, unsigned count, const unsigned* mask);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
int hipStreamWaitEvent(void* stream, void* event, unsigned flags);
}

namespace {

constexpr int own_queues = 42; // with the pool's two: the most that HIP has on one GPU

void must(int error) {
    if (error != 0) {
        std::fprintf(stderr, "%d: %s\n", error, xp_last_detail());
        std::abort();
    }
}

enum class HipCall { record, edge, launch };

HipCall call_of(std::string_view name) {
    return name == "record" ? HipCall::record : name == "edge" ? HipCall::edge : HipCall::launch;
}

void* new_stream(bool own_queue, bool plain) {
    const unsigned mask[2] = {~0U, 0x3f};
    void* stream = nullptr;
    must(own_queue ? hipExtStreamCreateWithCUMask(&stream, 2, mask) : hipStreamCreate(&stream));
    must(hipMemsetAsync(nullptr, 0, 4, stream));
    if (!plain)
        must(xp_stream_set_priority(stream, 1));
    return stream;
}

// As a GPU empties a queue.
void complete(void* stream) {
    constexpr std::uint64_t write_dispatch_id = 0x38, read_dispatch_id = 0x80; // amd_queue_t
    xpreempt::hook::QueueRecord record{};
    must(xpreempt_hook_table()->stream_queue(stream, &record));
    const auto index = [&](std::uint64_t offset) {
        return reinterpret_cast<volatile std::uint64_t*>(record.hsa_queue + offset);
    };
    *index(read_dispatch_id) = *index(write_dispatch_id);
}

} // namespace

// The calling thread is counted from here to the return.
extern "C" [[gnu::noinline]] void call_hip(HipCall call, void* event, void* stream) {
    switch (call) {
    case HipCall::record: return must(hipEventRecord(event, stream));
    case HipCall::edge: return must(hipStreamWaitEvent(stream, event, 0));
    case HipCall::launch:
        return must(hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
    }
}

int main(int argc, char** argv) {
    if (argc != 5)
        return 64;
    fake_driver()->patched = true;
    const HipCall call = call_of(argv[1]);
    const int streams = std::atoi(argv[2]);
    const bool plain = argv[3] == std::string_view("plain");
    void* held = new_stream(true, plain);
    void* stream = new_stream(true, plain);
    for (int i = 2; i < streams; ++i)
        (void)new_stream(i < own_queues, plain);
    void* event = nullptr;
    must(hipEventCreateWithFlags(&event, 0));
    // A signal that comes never: then priorities decide as well.
    const std::int64_t signal[] = {0, 1, 0, 0, 0, 0, 0, 0};
    if (call == HipCall::edge)
        fake_hip()->waits_for = reinterpret_cast<std::uintptr_t>(signal);
    if (argv[3] == std::string_view("held"))
        must(xp_stream_hold(held, 0, nullptr));
    for (int i = std::atoi(argv[4]); i > 0; --i) {
        complete(stream);
        call_hip(call, event, stream);
    }
    std::_Exit(0); // the fake completes no work on its own, so an exit would wait
}
