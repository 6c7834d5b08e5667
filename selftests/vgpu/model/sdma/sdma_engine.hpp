// SPDX-License-Identifier: MIT
// One SDMA engine: the kernel's GFX ring and eight user rings (RLC), which share a packet set.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/observer.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/ih/interrupt_handler.hpp"
#include "model/regs/register_file.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vgpu {

class SdmaEngine {
public:
    struct Surroundings {
        RegisterFile& registers;
        MemoryController& memory;
        InterruptHandler& interrupts;
        Clock& clock;
        Observer& observer;
    };

    SdmaEngine(const Surroundings& surroundings, unsigned engine);
    // Register handlers point into the engine.
    SdmaEngine(const SdmaEngine&) = delete;
    SdmaEngine& operator=(const SdmaEngine&) = delete;

    // True when an enabled ring has this doorbell.
    bool doorbell(std::uint32_t dword, std::uint64_t value);
    // Lets every ring go on. True when something was done.
    bool run();
    bool polling() const;
    void reset();

    // As the CP's scheduler does for MAP_QUEUES and UNMAP_QUEUES: a user ring is loaded from its
    // MQD, and its read pointer goes back there. A stalled packet is started again later.
    void map_user_queue(std::uint64_t mqd, std::uint32_t doorbell, unsigned vmid);
    void unmap_user_queues(std::optional<std::uint16_t> pasid);

private:
    static constexpr unsigned user_rings = 8;

    struct Buffer {
        unsigned vmid = 0;
        std::vector<std::uint32_t> dwords;
        std::size_t next = 0;
    };
    struct Ring {
        std::uint32_t base = 0; // dword of its RB_CNTL; all rings have one register layout
        bool user = false;
        std::uint64_t mqd = 0;       // of a user ring the CP mapped
        std::vector<Buffer> buffers; // the ring's packets, then nested indirect buffers
        bool waiting = false;
    };

    std::uint32_t reg(const Ring& ring, std::uint32_t gfx_register) const;
    void set_reg(const Ring& ring, std::uint32_t gfx_register, std::uint32_t value);
    unsigned vmid_of(const Ring& ring) const;
    bool enabled(const Ring& ring) const;
    bool run_ring(Ring& ring);
    void fetch(Ring& ring);
    void report_read_pointer(const Ring& ring, std::uint64_t read);

    // sdma_packets.cpp. Dwords used, 0 when the packet has to wait.
    std::size_t execute(Ring& ring, unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t copy(unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t write(unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t indirect(Ring& ring, unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t poll(unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t atomic(unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t fill(unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t page_entries(unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t trap(const Ring& ring, unsigned vmid, std::span<const std::uint32_t> packet);
    std::size_t unknown(std::span<const std::uint32_t> packet);
    void trace(std::string_view text);

    Surroundings unit_;
    unsigned engine_;
    std::string name_;
    std::array<Ring, 1 + user_rings> rings_{};
};

} // namespace vgpu
