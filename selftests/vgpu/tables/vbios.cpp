// SPDX-License-Identifier: MIT
// A video BIOS with the few ATOM tables amdgpu wants of a compute card (atomfirmware.h, atom.c).
#include "tables/vbios.hpp"

#include "model/device/shader_engines.hpp"
#include "tables/byte_writer.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace vgpu::tables {
namespace {

// Where the parts lie; nothing but these numbers ties them together.
constexpr std::size_t rom_header = 0x100;
constexpr std::size_t pci_data = 0x300;
constexpr std::size_t command_tables = 0x400;
constexpr std::size_t data_tables = 0x480;
constexpr std::size_t firmware_info = 0x600;
constexpr std::size_t gfx_info = 0x680;
constexpr std::size_t smu_info = 0x700;
constexpr std::size_t indirect_io = 0x800;
constexpr std::size_t strings = 0x900;
constexpr std::size_t asic_init = 0xa00;

// Indices into the master tables of ATOM v2.1.
constexpr std::size_t data_table_count = 35;
constexpr std::size_t command_table_count = 46;
constexpr std::size_t firmware_info_index = 4;
constexpr std::size_t smu_info_index = 8;
constexpr std::size_t gfx_info_index = 14;
constexpr std::size_t indirect_io_index = 23;
constexpr std::size_t asic_init_index = 0;

// A bit of firmware_capability.
constexpr std::uint32_t cap_sram_ecc = 0x200;

class Image {
public:
    Image() : bytes_(vbios_bytes) {}

    void place(std::size_t offset, std::span<const std::byte> part) {
        std::memcpy(bytes_.data() + offset, part.data(), part.size());
    }
    void place(std::size_t offset, const ByteWriter& part) { place(offset, part.bytes()); }
    void place16(std::size_t offset, std::size_t value) {
        place(offset, ByteWriter().u16(static_cast<std::uint32_t>(value)));
    }
    void close() {
        unsigned sum = 0;
        for (const std::byte value : bytes_)
            sum += std::to_integer<unsigned>(value);
        bytes_.back() = static_cast<std::byte>(-sum & 0xff);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

// A table: size, format and content revision, then its fields.
ByteWriter table(std::uint32_t format, std::uint32_t content, const ByteWriter& fields) {
    ByteWriter out;
    out.u16(static_cast<std::uint32_t>(4 + fields.size())).u8(format).u8(content);
    out.append(fields.bytes());
    return out;
}

void place_option_rom(Image& image, Gpu gpu) {
    // Firmware of the machine runs an option ROM: byte 3 is its entry and returns at once
    // (0xcb, far return). Without it the boot ends here.
    image.place(0, ByteWriter().u8(0x55).u8(0xaa).u8(vbios_bytes / 512).u8(0xcb));
    image.place16(0x18, pci_data);
    image.place(0x2f, ByteWriter().u8(4)); // number of strings
    image.place(0x30, ByteWriter().text(" 761295520"));
    image.place16(0x48, rom_header);
    image.place(0x50, ByteWriter().text("11/21/26 00:00:00").u8(0));
    image.place16(0x6e, strings);
    ByteWriter pci;
    pci.text("PCIR").u16(0x1002).u16(pci_device(gpu)).u16(0).u16(0x18);
    pci.u8(0).u8(0).u8(0).u8(0x12); // revision, class: processing accelerator
    pci.u16(vbios_bytes / 512).u16(0).u8(0).u8(0x80).u16(0);
    image.place(pci_data, pci);
    ByteWriter text;
    text.text("113-VGPU-000").u8(0).text("SOFTWARE_GFX942").u8(0).text("PCI_EXPRESS").u8(0);
    text.text("HBM").u8(0).text("\r\nSoftware model of a gfx942 GPU\r\n").u8(0);
    image.place(strings, text);
}

void place_atom_tables(Image& image) {
    ByteWriter header;
    header.u16(0x28).u8(2).u8(2).text("ATOM").pad_to(0x1e);
    header.u16(command_tables).u16(data_tables).pad_to(0x28);
    image.place(rom_header, header);

    image.place(command_tables, table(2, 1, ByteWriter().zeros(command_table_count * 2)));
    image.place16(command_tables + 4 + 2 * asic_init_index, asic_init);
    // Run after a reset: workspace and parameter sizes, then EOT, for nothing needs a set-up.
    image.place(asic_init, table(2, 1, ByteWriter().u8(0).u8(0).u8(0x5b).u8(0)));

    image.place(data_tables, table(2, 1, ByteWriter().zeros(data_table_count * 2)));
    image.place16(data_tables + 4 + 2 * firmware_info_index, firmware_info);
    image.place16(data_tables + 4 + 2 * smu_info_index, smu_info);
    image.place16(data_tables + 4 + 2 * indirect_io_index, indirect_io);

    ByteWriter firmware;               // atom_firmware_info_v3_4
    firmware.u32(0x0100'0000);         // firmware revision
    firmware.u32(130'000).u32(90'000); // boot-up engine and memory clock, 10 kHz
    firmware.u32(cap_sram_ecc).u32(0); // capabilities, main call parser
    firmware.u32(0x4c);                // BIOS_SCRATCH_0, dword
    image.place(firmware_info, table(3, 4, firmware.zeros(100)));
    ByteWriter smu; // atom_smu_info_v3_1: core reference clock, 10 kHz, at byte 16
    smu.zeros(12).u32(10'000).zeros(64);
    image.place(smu_info, table(3, 1, smu));
    image.place(indirect_io, table(1, 1, ByteWriter().zeros(16)));
}

// atom_gfx_info_v2_4: what the discovery table tells of a MI300X.
void place_gfx_info(Image& image, const ShaderEngines& shape) {
    ByteWriter fields;
    fields.u8(9).u8(9); // version of the graphics core
    fields.u8(shape.engines).u8(0).u8(shape.units_in_engine).u8(1);
    fields.u8(4).u8(16); // backends of an engine, texture caches
    fields.zeros(8 * 4).u8(shape.units_in_engine).u8(4).u16(0);
    // Registers, depths, wave size, waves of a SIMD, KiB of LDS, scratch slots of a unit.
    fields.u16(256).u16(1024).u16(1024).u16(64).u16(8).u16(64).u8(32).u8(32).u8(1).u8(32);
    image.place(gfx_info, table(2, 4, fields.zeros(8)));
    image.place16(data_tables + 4 + 2 * gfx_info_index, gfx_info);
}

} // namespace

std::vector<std::byte> vbios(const DeviceOptions& options) {
    Image image;
    place_option_rom(image, options.gpu);
    place_atom_tables(image);
    place_gfx_info(image, shader_engines(options.compute_units));
    image.close();
    return image.take();
}

} // namespace vgpu::tables
