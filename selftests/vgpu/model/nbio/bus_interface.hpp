// SPDX-License-Identifier: MIT
// Bus interface: VRAM window, SMN window, HDP flush, straps, and the trigger of a mode 1 reset.
#pragma once

#include "model/base/observer.hpp"
#include "model/regs/register_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

namespace vgpu {

class BusInterface {
public:
    BusInterface(RegisterFile& registers, std::span<std::byte> vram, Observer& observer);

    // Called when the driver asks for a mode 1 reset.
    void on_reset_request(std::function<void()> handler) { reset_handler_ = std::move(handler); }

    // The BIOS scratch registers, which survive a reset of everything else.
    std::array<std::uint32_t, 8> scratch() const;
    void set_scratch(const std::array<std::uint32_t, 8>& values);
    // Registers at their power-on values, but for the scratch registers.
    void reset();

private:
    void connect_vram_window();
    void connect_smn_window();
    void connect_hdp_flush();
    void connect_reset_trigger();
    std::byte* window_target();

    RegisterFile& registers_;
    std::span<std::byte> vram_;
    Observer& observer_;
    std::function<void()> reset_handler_;
    std::unordered_map<std::uint64_t, std::uint32_t> smn_; // registers behind PCIE_INDEX2/DATA2
};

} // namespace vgpu
