// SPDX-License-Identifier: MIT
// Waves with XP_GUARD and without, between snapshots of the software GPU's counters.
// guardian_cost.py computes the cost of a wave from what this prints.
#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include "vgpu_counters.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned lanes = 64; // a block is one wave
constexpr unsigned many = 256;

__global__ void plain(std::uint32_t* to) {
    to[blockIdx.x * lanes + threadIdx.x] = threadIdx.x;
}

__global__ void guarded(std::uint32_t* to, xp_guardian_t guardian) {
    XP_GUARD(guardian);
    to[blockIdx.x * lanes + threadIdx.x] = threadIdx.x;
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("Bail out! %s: %d %s\n", call, error, xp_last_detail());
    std::exit(1);
}
#define MUST(call) must(static_cast<int>(call), #call)

std::uint32_t* words = nullptr;

// Kernels of one command: of so many waves each, 0: none.
struct Command {
    const char* name;
    std::uint32_t flags;
    bool guards;
    unsigned first, second;
};

int launch(void* stream, void* argument) {
    const auto& command = *static_cast<const Command*>(argument);
    auto* const on = static_cast<hipStream_t>(stream);
    xp_guardian_t guardian{};
    if (const int error = xp_guardian_of_launch(&guardian); error != 0)
        return error;
    for (const unsigned waves : {command.first, command.second}) {
        if (waves == 0)
            continue;
        if (command.guards)
            guarded<<<dim3(waves), dim3(lanes), 0, on>>>(words, guardian);
        else
            plain<<<dim3(waves), dim3(lanes), 0, on>>>(words);
    }
    return hipGetLastError();
}

// The second kernel of a guarded command begins when the first has decided.
const Command commands[] = {
    {"plain, one wave", 0, false, 1, 0},
    {"plain", 0, false, many, 0},
    {"null", 0, true, many, 0},
    {"first", XP_COMMAND_GUARDED, true, 1, 0},
    {"first and later", XP_COMMAND_GUARDED, true, 1, many},
};

// preemption_matrix, in the same boot, has those below.
constexpr std::uint32_t first_label = 1000;

} // namespace

int main() {
    void* stream = nullptr;
    xp_xqueue_t xqueue{};
    MUST(xp_stream_create(&stream));
    MUST(xp_xqueue_create(stream, nullptr, &xqueue));
    MUST(hipMalloc(&words, many * lanes * sizeof *words));
    VgpuCounters counters;
    for (const bool counted : {false, true}) // HIP loads each kernel at its first launch
        for (const Command& command : commands) {
            const auto label = first_label + 2 * static_cast<std::uint32_t>(&command - commands);
            if (counted)
                counters.snapshot(label);
            xp_command submitted{sizeof submitted, launch, const_cast<Command*>(&command),
                                 command.flags,    0,      nullptr};
            MUST(xp_xqueue_submit_command(xqueue, &submitted, nullptr));
            MUST(xp_xqueue_wait_all(xqueue));
            if (!counted)
                continue;
            counters.snapshot(label + 1);
            std::printf("# cost %u %u %s\n", label, label + 1, command.name);
        }
    MUST(xp_xqueue_destroy(xqueue));
    std::printf("ok - the commands completed\n");
    return 0;
}
