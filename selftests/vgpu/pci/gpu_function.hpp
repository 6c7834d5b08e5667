// SPDX-License-Identifier: MIT
// The GPU as a PCI function: BARs, ROM, MSI, DMA and resets, between vfio-user and the model.
#pragma once

#include "model/base/fault_hooks.hpp"
#include "model/base/host.hpp"
#include "model/base/observer.hpp"
#include "model/device/device.hpp"
#include "pci/config_space.hpp"
#include "vfu/dma_table.hpp"
#include "vfu/server.hpp"
#include "vfu/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace vgpu::pci {

// VRAM: a sparse anonymous file, so that the guest maps it and only used pages cost memory.
struct Vram {
    UniqueFd fd;
    vfu::FileMapping mapping;

    static Result<Vram> create(std::uint64_t bytes);
    std::span<std::byte> bytes() const { return {mapping.data(), mapping.size()}; }
};

class GpuFunction final : public vfu::Function, public Host {
public:
    // Puts the discovery table into VRAM and the VBIOS into the ROM.
    GpuFunction(Vram vram, FaultHooks& faults, MailboxHandler mailbox, Observer& observer,
                const DeviceOptions& options = {});

    Device& device() { return device_; }

    // vfu::Function
    Region region(std::uint32_t index) const override;
    bool read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> data) override;
    bool write(std::uint32_t region, std::uint64_t offset,
               std::span<const std::byte> data) override;
    std::uint32_t irq_vectors(std::uint32_t index) const override;
    void set_irq_trigger(std::uint32_t index, UniqueFd eventfd) override;
    Result<Nothing> map_memory(const vfu::DmaMap& request, const UniqueFd& fd) override;
    Result<Nothing> unmap_memory(const vfu::DmaUnmap& request) override;
    void reset() override;

    // Host
    std::byte* system_memory(std::uint64_t bus_address, std::size_t bytes) override;
    std::optional<std::uint64_t> doorbell_offset(std::uint64_t bus_address) override;
    void raise_msi() override;

private:
    bool read_registers(std::uint64_t offset, std::span<std::byte> data);
    bool write_registers(std::uint64_t offset, std::span<const std::byte> data);
    bool write_doorbell(std::uint64_t offset, std::span<const std::byte> data);

    Vram vram_;
    std::vector<std::byte> rom_;
    std::vector<std::byte> doorbells_; // what was last written, for reads
    std::uint32_t register_bytes_;
    ConfigSpace config_;
    MailboxHandler mailbox_;
    vfu::DmaTable memory_;
    UniqueFd msi_;
    Observer& observer_;
    Device device_;
};

} // namespace vgpu::pci
