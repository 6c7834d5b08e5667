// SPDX-License-Identifier: MIT
// VRAM of a process on each of its GPUs: how much it has, has yielded, and can't yield.
#pragma once

#include "driver/driver.hpp"
#include "output/report.hpp"
#include "processes/error_messages.hpp"
#include "processes/target_queues.hpp"

#include <cstdint>
#include <vector>

namespace cli {

struct GpuMemory {
    std::uint32_t gpu_id;
    std::uint64_t vram_bytes; // resident
    std::uint64_t yielded_bytes;
    std::uint64_t pinned_bytes; // of vram_bytes, as the next two: what stays, and for what
    std::uint64_t shared_bytes;
    std::uint64_t peer_bytes;
    std::uint64_t yield_ns;
    std::uint64_t reclaim_ns;
};

using Memory = std::vector<GpuMemory>;

bool can_yield(const Driver& driver);
// name: of whom that was wanted
Failure cannot_yield(const std::string& name);

// Empty if the driver can't say. A GPU whose queues are gone meanwhile is left out.
Memory memory_of(const Driver& driver, const TargetQueues& process);

// The VRAM of a process whose compute queues are held moves to system memory, on each of its GPUs.
// flags are those of the hold. Returns false if some of it stays that could move; the report says
// why.
bool yield_memory(const Driver& driver, const TargetQueues& process, std::uint32_t flags,
                  Report& report);

// Reports which memory a resume has brought back.
void report_reclaimed(const Driver& driver, const TargetQueues& process, const Memory& before,
                      Report& report);

// Why a queue doesn't start, as driver_sentence(); for want of VRAM what is missing, and who has
// it.
std::string start_sentence(const Context& context, const Driver& driver, Verb verb, int errno_value,
                           const Target& target, const kfd::Queue& queue);

// Objects of each GPU.
Json json_of(const Memory& memory);
// A table; empty if nothing of it is in VRAM or was.
std::string text_of(const Memory& memory);

} // namespace cli
