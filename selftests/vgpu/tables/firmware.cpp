// SPDX-License-Identifier: MIT
// Firmware images with valid headers and no code (layouts: amdgpu_ucode.h).
#include "tables/firmware.hpp"

#include "model/device/shader_engines.hpp"
#include "tables/byte_writer.hpp"

#include <algorithm>
#include <cstdint>

namespace vgpu::tables {
namespace {

constexpr std::size_t payload_offset = 256;

// common_firmware_header, then the fields of the kind, then zeros for code.
std::vector<std::byte> image(std::uint32_t major, std::uint32_t minor, std::uint32_t version,
                             std::size_t payload_bytes, const ByteWriter& fields) {
    ByteWriter out;
    out.u32(static_cast<std::uint32_t>(payload_offset + payload_bytes));
    out.u32(static_cast<std::uint32_t>(32 + fields.size()));
    out.u16(major).u16(minor).u16(9).u16(4); // header version, IP version
    out.u32(version).u32(static_cast<std::uint32_t>(payload_bytes));
    out.u32(payload_offset).u32(0); // offset, crc32: not checked
    out.append(fields.bytes());
    out.pad_to(payload_offset + payload_bytes);
    return out.bytes();
}

// gpu_info_firmware_v1_0: what a MI100 has in place of a discovery table, for the small XCC.
std::vector<std::byte> gpu_info() {
    const ShaderEngines shape;
    ByteWriter fields;
    // Engines, units and arrays of each, backends, texture caches, then as in atom_gfx_info_v2_4.
    fields.u32(shape.engines).u32(shape.units_in_engine).u32(1).u32(4).u32(16);
    for (const std::uint32_t value : {256, 1024, 32, 1024, 0, 1, 64, 10, 32, 64})
        fields.u32(value);
    std::vector<std::byte> bytes = image(1, 0, 1, fields.size(), ByteWriter().u16(1).u16(0));
    std::ranges::copy(fields.bytes(), bytes.begin() + payload_offset);
    return bytes;
}

} // namespace

std::vector<FirmwareFile> firmware_files(std::uint32_t mec_version) {
    // XNACK chaining from 184 on, scratch that ROCr takes back from a queue in use from 177 on, and
    // GWS, debugger and per-queue reset from lower ones on.
    const auto mec = image(1, 0, mec_version, 4096, ByteWriter().u32(24).u32(0).u32(0));
    // rlc_firmware_header_v2_0 and v2_1; the payload is small for it goes in by MMIO.
    const auto rlc = image(2, 1, 59, 256, ByteWriter().u32(1).zeros(17 * 4).zeros(13 * 4));
    const auto sdma = image(1, 0, 24, 4096, ByteWriter().u32(31).zeros(3 * 4));
    return {{"amdgpu/gc_9_4_3_mec.bin", mec},
            {"amdgpu/gc_9_4_3_rlc.bin", rlc},
            {"amdgpu/sdma_4_4_2.bin", sdma},
            {"amdgpu/aldebaran_mec.bin", mec},
            {"amdgpu/aldebaran_mec2.bin", mec},
            {"amdgpu/aldebaran_rlc.bin", rlc},
            {"amdgpu/aldebaran_sdma.bin", sdma},
            {"amdgpu/arcturus_mec.bin", mec},
            {"amdgpu/arcturus_rlc.bin", rlc},
            {"amdgpu/arcturus_sdma.bin", sdma},
            {"amdgpu/arcturus_gpu_info.bin", gpu_info()}};
}

} // namespace vgpu::tables
