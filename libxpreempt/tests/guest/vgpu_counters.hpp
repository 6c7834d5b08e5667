// SPDX-License-Identifier: MIT
// Labelled snapshots of the software GPU's counters, taken from inside a HIP program.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

// By a barrier packet on an HSA queue of its own; a real GPU ignores what makes it special.
class VgpuCounters {
public:
    VgpuCounters() {
        must(hsa_init(), "hsa_init");
        must(hsa_iterate_agents(first_gpu, &agent_), "hsa_iterate_agents");
        must(hsa_queue_create(agent_, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                              UINT32_MAX, &queue_),
             "hsa_queue_create");
        must(hsa_signal_create(1, 0, nullptr, &done_), "hsa_signal_create");
    }

    // When it returns, the counters have been copied.
    void snapshot(std::uint32_t label) {
        constexpr std::uint64_t magic = 0x5041'4e53'5550'4756; // "VGPUSNAP"
        hsa_signal_store_relaxed(done_, 1);
        const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
        auto* packet =
            static_cast<hsa_barrier_and_packet_t*>(queue_->base_address) + index % queue_->size;
        // The header stays invalid until the packet is complete: when a queue is mapped, CP reads
        // the write index and runs packets up to it.
        hsa_barrier_and_packet_t made{};
        made.header = HSA_PACKET_TYPE_INVALID;
        made.reserved1 = label;
        made.reserved2 = magic;
        made.completion_signal = done_;
        *packet = made;
        constexpr std::uint16_t header =
            HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER;
        __atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
        hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
        while (hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX,
                                         HSA_WAIT_STATE_BLOCKED) != 0) {
        }
    }

private:
    static void must(hsa_status_t status, const char* call) {
        if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
            return;
        std::printf("Bail out! %s: %#x\n", call, static_cast<unsigned>(status));
        std::exit(1);
    }
    static hsa_status_t first_gpu(hsa_agent_t agent, void* found) {
        hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
        const hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
        if (status != HSA_STATUS_SUCCESS || type != HSA_DEVICE_TYPE_GPU)
            return status;
        *static_cast<hsa_agent_t*>(found) = agent;
        return HSA_STATUS_INFO_BREAK;
    }

    hsa_agent_t agent_{};
    hsa_queue_t* queue_ = nullptr;
    hsa_signal_t done_{};
};
