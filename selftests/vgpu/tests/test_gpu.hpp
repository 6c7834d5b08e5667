// SPDX-License-Identifier: MIT
// A GPU without PCI: rings, MQDs and page tables are laid out in VRAM as the driver would.
#pragma once

#include "fakes.hpp"

#include "fault/fault_injector.hpp"
#include "model/base/bits.hpp"
#include "model/cp/hqd.hpp"
#include "model/cp/pm4.hpp"
#include "model/device/device.hpp"
#include "model/device/shader_engines.hpp"
#include "model/regs/dies.hpp"
#include "registers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace vgpu::test {

inline constexpr std::uint64_t mib = 1 << 20;

class TestGpu {
public:
    explicit TestGpu(const DeviceOptions& options = {})
        : xccs(options.xccs), vram(64 * mib), host(4096), faults({}, observer),
          device(vram, host, faults, observer, options) {
        faults.on_change([this] { device.memory_map_changed(); });
    }

    // VRAM as the GPU addresses it in VMID 0.
    static std::uint64_t mc(std::uint64_t offset) { return vram_mc_base + offset; }
    template <class T> void put(std::uint64_t offset, T value) {
        std::memcpy(vram.data() + offset, &value, sizeof value);
    }
    template <class T> T get(std::uint64_t offset) const {
        T value{};
        std::memcpy(&value, vram.data() + offset, sizeof value);
        return value;
    }

    // The number of the fault.
    unsigned arm(std::string_view spec) {
        auto parsed = fault::parse_spec(spec);
        EXPECT_TRUE(parsed) << spec;
        return faults.arm(*parsed);
    }

    void run() {
        while (device.run(1000) == Device::Activity::busy) {
        }
    }

    // The driver's load of MEC firmware leaves its version, in a register of each XCC.
    void load_mec(std::uint32_t version) {
        for (unsigned xcc = 0; xcc < xccs; ++xcc)
            device.write_register(reg::gc::CP_MEC_ME1_UCODE_ADDR + Dies(xccs).xcc_offset(xcc),
                                  version);
    }
    // Selects an HQD for the banked registers.
    void select(HqdAddress hqd) {
        device.write_register(reg::gc::GRBM_GFX_CNTL, hqd.pipe | hqd.me << 2 | hqd.queue << 8);
    }
    std::uint32_t read_hqd(HqdAddress hqd, std::uint32_t dword) {
        select(hqd);
        return device.read_register(dword);
    }

    // A kernel PM4 queue of 1024 dwords, loaded by registers as the driver loads the KIQ.
    struct KernelQueue {
        std::uint64_t ring = 0; // VRAM offset
        std::uint32_t doorbell = 0;
        std::uint64_t written = 0;
    };
    KernelQueue load_kernel_queue(HqdAddress hqd, std::uint64_t ring, std::uint32_t doorbell) {
        select(hqd);
        const std::uint64_t base = mc(ring) >> 8;
        device.write_register(reg::gc::CP_HQD_PQ_BASE, low_half(base));
        device.write_register(reg::gc::CP_HQD_PQ_BASE_HI, high_half(base));
        device.write_register(reg::gc::CP_HQD_PQ_CONTROL, 9);
        device.write_register(reg::gc::CP_HQD_PQ_DOORBELL_CONTROL, doorbell << 2);
        device.write_register(reg::gc::CP_HQD_ACTIVE, 1);
        return {ring, doorbell, 0};
    }
    void submit(KernelQueue& queue, pm4::Opcode opcode, std::initializer_list<std::uint32_t> body) {
        const auto count = static_cast<std::uint32_t>(body.size()) - 1;
        push(queue, 3U << 30 | count << 16 | static_cast<std::uint32_t>(opcode) << 8);
        for (const std::uint32_t dword : body)
            push(queue, dword);
    }
    void ring_doorbell(const KernelQueue& queue) {
        device.write_doorbell(queue.doorbell, queue.written);
    }

    const unsigned xccs;
    std::vector<std::byte> vram;
    MemoryHost host;
    KeepingObserver observer;
    fault::FaultInjector faults;
    Device device;

private:
    void push(KernelQueue& queue, std::uint32_t dword) {
        put(queue.ring + queue.written++ % 1024 * 4, dword);
    }
};

} // namespace vgpu::test
