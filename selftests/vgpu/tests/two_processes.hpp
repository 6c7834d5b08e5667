// SPDX-License-Identifier: MIT
// Two processes with an AQL queue each, and whether they still work.
#pragma once

#include "user_queues.hpp"

#include "model/cp/amd_queue.hpp"

namespace vgpu::test {

// Two processes with one queue each, doorbells 0x1000 and 0x2000, mapped to slots 2 and 3.
class TwoProcesses : public UserQueues {
protected:
    void SetUp() override {
        UserQueues::SetUp();
        make_mqd(0x10000, 0x1000);
        make_mqd(0x20000, 0x2000);
        for (const Process& process : {first, second})
            gpu.put(process.page(2) + amd_signal::value, std::int64_t{10});
        map();
    }
    void map() {
        list_process(first);
        list_queue(0x10000, 0x1000);
        list_process(second);
        list_queue(0x20000, 0x2000);
        start_runlist();
    }
    // One more packet of the process' queue completes.
    bool works(const Process& process, std::uint32_t doorbell) {
        const auto value = [&] { return gpu.get<std::int64_t>(process.page(2) + 8); };
        const std::int64_t before = value();
        const auto index = gpu.get<std::uint64_t>(process.page(1));
        write_barrier(process, index, 0, signal_va);
        gpu.device.write_doorbell(doorbell, index);
        gpu.run();
        return value() == before - 1;
    }
    bool fenced(std::uint64_t value) const { return gpu.get<std::uint64_t>(fence) == value; }

    Process first = make_process(1 * mib, 0x8001);
    Process second = make_process(2 * mib, 0x8002);
};

} // namespace vgpu::test
