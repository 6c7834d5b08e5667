// SPDX-License-Identifier: MIT
// The GPU as a PCI function: BARs, ROM, MSI, DMA and resets, between vfio-user and the model.
#include "pci/gpu_function.hpp"

#include "tables/discovery.hpp"
#include "tables/vbios.hpp"

#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vgpu::pci {
namespace {

// vfio's region numbers: BARs 0 to 5, ROM, configuration space.
constexpr std::uint32_t region_vram = 0;
constexpr std::uint32_t region_doorbells = 2;
constexpr std::uint32_t region_registers = 5;
constexpr std::uint32_t region_rom = 6;
constexpr std::uint32_t region_config = 7;
constexpr std::uint32_t irq_msi = 1;

constexpr std::uint32_t doorbell_bytes = 2U << 20;

bool inside(std::uint64_t size, std::uint64_t offset, std::size_t bytes) {
    return offset <= size && bytes <= size - offset;
}

} // namespace

Result<Vram> Vram::create(std::uint64_t bytes) {
    Vram vram;
    vram.fd = UniqueFd(::memfd_create("vram", MFD_CLOEXEC));
    if (!vram.fd || ::ftruncate(vram.fd.get(), static_cast<off_t>(bytes)) != 0)
        return Error{errno, fmt::format("VRAM of {:#x} bytes: {}", bytes, std::strerror(errno))};
    auto mapping = vfu::FileMapping::map(vram.fd.get(), 0, bytes, PROT_READ | PROT_WRITE);
    if (!mapping)
        return mapping.error();
    vram.mapping = std::move(*mapping);
    return vram;
}

GpuFunction::GpuFunction(Vram vram, FaultHooks& faults, MailboxHandler mailbox, Observer& observer,
                         const DeviceOptions& options)
    : vram_(std::move(vram)), rom_(tables::vbios(options)), doorbells_(doorbell_bytes),
      register_bytes_(RegisterFile::dwords() * 4),
      config_(pci_device(options.gpu), vram_.bytes().size(), doorbell_bytes, register_bytes_,
              static_cast<std::uint32_t>(rom_.size())),
      mailbox_(std::move(mailbox)), observer_(observer),
      device_(vram_.bytes(), *this, faults, observer, options) {
    const auto table = tables::discovery_table(options);
    const auto place = vram_.bytes().last(tables::discovery_bytes_from_end);
    std::copy(table.begin(), table.end(), place.begin());
}

vfu::Function::Region GpuFunction::region(std::uint32_t index) const {
    switch (index) {
    case region_vram: return {vram_.bytes().size(), true, vram_.fd.get()};
    // Doorbells and registers are never mapped: each access must reach the model.
    case region_doorbells: return {doorbell_bytes, true};
    case region_registers: return {register_bytes_, true};
    case region_rom: return {rom_.size(), false};
    case region_config: return {config_bytes, true};
    default: return {};
    }
}

bool GpuFunction::read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> data) {
    const auto copy_from = [&](std::span<const std::byte> source) {
        if (!inside(source.size(), offset, data.size()))
            return false;
        std::memcpy(data.data(), source.data() + offset, data.size());
        return true;
    };
    switch (region) {
    case region_vram: return copy_from(vram_.bytes());
    case region_doorbells: return copy_from(doorbells_);
    case region_registers: return read_registers(offset, data);
    case region_rom: return copy_from(rom_);
    case region_config: return config_.read(offset, data);
    default: return false;
    }
}

bool GpuFunction::write(std::uint32_t region, std::uint64_t offset,
                        std::span<const std::byte> data) {
    switch (region) {
    case region_vram:
        if (!inside(vram_.bytes().size(), offset, data.size()))
            return false;
        std::memcpy(vram_.bytes().data() + offset, data.data(), data.size());
        return true;
    case region_doorbells: return write_doorbell(offset, data);
    case region_registers: return write_registers(offset, data);
    case region_config: {
        const bool done = config_.write(offset, data);
        if (config_.take_reset_request())
            device_.reset("function level reset");
        if (config_.take_mailbox_request())
            answer_mailbox(config_.mailbox(), mailbox_);
        return done;
    }
    default: return false;
    }
}

// Registers are dwords; a quadword access is two of them, low one first.
bool GpuFunction::read_registers(std::uint64_t offset, std::span<std::byte> data) {
    if (offset % 4 != 0 || data.size() % 4 != 0 || !inside(register_bytes_, offset, data.size()))
        return false;
    for (std::size_t i = 0; i < data.size(); i += 4) {
        const std::uint32_t value =
            device_.read_register(static_cast<std::uint32_t>((offset + i) / 4));
        std::memcpy(data.data() + i, &value, sizeof value);
    }
    return true;
}

bool GpuFunction::write_registers(std::uint64_t offset, std::span<const std::byte> data) {
    if (offset % 4 != 0 || data.size() % 4 != 0 || !inside(register_bytes_, offset, data.size()))
        return false;
    for (std::size_t i = 0; i < data.size(); i += 4) {
        std::uint32_t value = 0;
        std::memcpy(&value, data.data() + i, sizeof value);
        device_.write_register(static_cast<std::uint32_t>((offset + i) / 4), value);
    }
    return true;
}

bool GpuFunction::write_doorbell(std::uint64_t offset, std::span<const std::byte> data) {
    if (offset % 4 != 0 || (data.size() != 4 && data.size() != 8) ||
        !inside(doorbell_bytes, offset, data.size()))
        return false;
    std::uint64_t value = 0;
    std::memcpy(&value, data.data(), data.size());
    std::memcpy(doorbells_.data() + offset, data.data(), data.size());
    device_.write_doorbell(static_cast<std::uint32_t>(offset / 4), value);
    return true;
}

std::uint32_t GpuFunction::irq_vectors(std::uint32_t index) const {
    return index == irq_msi ? 1 : 0;
}

void GpuFunction::set_irq_trigger(std::uint32_t index, UniqueFd eventfd) {
    if (index == irq_msi)
        msi_ = std::move(eventfd);
}

Result<Nothing> GpuFunction::map_memory(const vfu::DmaMap& request, const UniqueFd& fd) {
    auto done = memory_.map(request, fd);
    device_.memory_map_changed();
    return done;
}

Result<Nothing> GpuFunction::unmap_memory(const vfu::DmaUnmap& request) {
    auto done = memory_.unmap(request);
    device_.memory_map_changed();
    return done;
}

void GpuFunction::reset() {
    device_.reset("bus reset");
}

std::byte* GpuFunction::system_memory(std::uint64_t bus_address, std::size_t bytes) {
    return memory_.find(bus_address, bytes);
}

std::optional<std::uint64_t> GpuFunction::doorbell_offset(std::uint64_t bus_address) {
    const std::uint64_t base = config_.bar64(region_doorbells);
    if (base == 0 || bus_address < base || bus_address - base >= doorbell_bytes)
        return std::nullopt;
    return bus_address - base;
}

void GpuFunction::raise_msi() {
    constexpr std::uint64_t one = 1;
    // A full eventfd means that an interrupt is pending anyway.
    if (msi_ && ::write(msi_.get(), &one, sizeof one) != sizeof one && errno != EAGAIN)
        observer_.unmodelled("pci", fmt::format("MSI lost: {}", std::strerror(errno)));
}

} // namespace vgpu::pci
