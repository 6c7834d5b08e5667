// SPDX-License-Identifier: MIT
// Cost of the hook on the launch path: which stream is this packet of, and what queue is it on.
#include "hook/queue_table.hpp"

#include <benchmark/benchmark.h>
#include <cstdint>
#include <vector>

namespace {

// Streams of one thread, one after the other, each on a queue of its own.
void note_packet(benchmark::State& state) {
    const auto streams = static_cast<std::uint32_t>(state.range(0));
    xpreempt::hook::forget_everything();
    std::vector<std::uint64_t> hsa_queues(streams);
    for (std::uint32_t i = 0; i < streams; ++i) {
        xpreempt::hook::QueueRecord record{};
        record.kfd_queue_id = i;
        record.hsa_queue = reinterpret_cast<std::uintptr_t>(&hsa_queues[i]);
        xpreempt::hook::add_queue(record, false);
    }
    std::vector<char> handles(streams);
    std::uint32_t next = 0;
    for ([[maybe_unused]] auto step : state) {
        xpreempt::hook::note_packet(&handles[next], &hsa_queues[next], false);
        next = next + 1 == streams ? 0 : next + 1;
    }
}
BENCHMARK(note_packet)->Arg(1)->Arg(2)->Arg(4)->Arg(16);

} // namespace

BENCHMARK_MAIN();
