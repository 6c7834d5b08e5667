// SPDX-License-Identifier: MIT
// The IP discovery table (layouts: drivers/gpu/drm/amd/include/discovery.h).
#include "tables/discovery.hpp"

#include "ip_blocks.hpp"
#include "model/device/shader_engines.hpp"
#include "model/regs/dies.hpp"
#include "tables/byte_writer.hpp"

namespace vgpu::tables {
namespace {

constexpr std::uint32_t binary_signature = 0x2821'1407;
constexpr std::uint32_t discovery_signature = 0x5344'5049; // "IPDS"
constexpr std::uint32_t gc_table_id = 0x4347;              // "GC"
constexpr std::uint32_t harvest_signature = 0x5652'4148;   // "HARV"
constexpr std::size_t max_harvested = 32;
constexpr std::size_t table_count = 6; // table_list of the binary header
constexpr std::size_t table_info_bytes = 8;
constexpr std::size_t binary_header_bytes = 12 + table_count * table_info_bytes;
constexpr std::size_t max_dies = 16;
constexpr std::size_t ip_header_bytes = 4 + 2 + 2 + 4 + 2 + max_dies * 4 + 2;

// One instance of a block. Bases outside BAR 5 are the same for all instances.
void put_block(ByteWriter& die, const IpBlock& block, unsigned instance, std::uint32_t offset) {
    die.u16(block.hardware_id).u8(instance).u8(block.base_count);
    die.u8(block.version[0]).u8(block.version[1]).u8(block.version[2]);
    die.u8(0); // sub revision and variant
    for (std::size_t i = 0; i < block.base_count; ++i)
        die.u32(block.bases[i] + (block.bases[i] < Dies::aid_aperture ? offset : 0));
}

// Places of a block, harvested ones too.
unsigned count(IpOwner owner, const Dies& dies) {
    switch (owner) {
    case IpOwner::gpu: return 1;
    case IpOwner::aid: return dies.aids();
    case IpOwner::xcc: return dies.xcc_places();
    case IpOwner::sdma: return dies.sdma_places();
    }
    return 0;
}

std::uint32_t offset(IpOwner owner, unsigned place) {
    switch (owner) {
    case IpOwner::gpu: return 0;
    case IpOwner::aid: return Dies::aid_offset(place);
    case IpOwner::xcc: return Dies::xcc_place_offset(place);
    case IpOwner::sdma: return Dies::sdma_place_offset(place);
    }
    return 0;
}

bool is_harvested(IpOwner owner, const Dies& dies, unsigned place) {
    return (owner == IpOwner::xcc && !dies.has_xcc(place)) ||
           (owner == IpOwner::sdma && !dies.has_sdma(place));
}

// One die with every block, ip_discovery_header version 4 (32-bit bases).
std::vector<std::byte> ip_table(const Dies& dies) {
    ByteWriter blocks;
    unsigned instances = 0;
    for (const IpBlock& block : ip_blocks)
        for (unsigned place = 0; place < count(block.owner, dies); ++place, ++instances)
            put_block(blocks, block, place, offset(block.owner, place));
    ByteWriter die;
    die.u16(0).u16(instances);
    die.append(blocks.bytes());
    ByteWriter table;
    table.u32(discovery_signature).u16(4);
    table.u16(static_cast<std::uint32_t>(ip_header_bytes + die.size()));
    table.u32(1).u16(1); // id, number of dies
    // The die's offset counts from the start of the whole binary.
    table.u16(0).u16(binary_header_bytes + ip_header_bytes);
    table.zeros((max_dies - 1) * 4).u16(0);
    table.append(die.bytes());
    return table.bytes();
}

// Places whose block isn't there: harvest_table, a list that ends with hw_id 0.
std::vector<std::byte> harvest_table(const Dies& dies) {
    ByteWriter table;
    table.u32(harvest_signature).u32(0);
    std::size_t listed = 0;
    for (const IpBlock& block : ip_blocks) {
        for (unsigned place = 0; place < count(block.owner, dies); ++place) {
            if (is_harvested(block.owner, dies, place)) {
                table.u16(block.hardware_id).u8(place).u8(0);
                ++listed;
            }
        }
    }
    table.zeros((max_harvested - listed) * 4);
    return table.bytes();
}

// gc_info v2.1, of each XCC.
std::vector<std::byte> gc_table(const ShaderEngines& shape) {
    const std::uint32_t fields[] = {shape.engines,         // gc_num_se
                                    shape.units_in_engine, // gc_num_cu_per_sh
                                    1,                     // gc_num_sh_per_se
                                    4,                     // gc_num_rb_per_se
                                    16,                    // gc_num_tccs
                                    256, 32, 0x20, 0x400,
                                    1024, // gprs, max_gs_thds, gs_table_depth, gsprim_buff_depth,
                                          // parameter_cache_depth
                                    1,    // double_offchip_lds_buffer
                                    64,   // wave_size
                                    10,   // max_waves_per_simd
                                    32,   // max_scratch_slots_per_cu
                                    64,   // lds_size, KiB
                                    1,    // num_sc_per_se
                                    1,    // num_packer_per_sc
                                    // v2.1: per shader array and cache sizes
                                    10, 16, 16, 2, 64, 16, 4096};
    ByteWriter table;
    table.u32(gc_table_id).u16(2).u16(1);
    table.u32(static_cast<std::uint32_t>(12 + sizeof fields));
    for (const std::uint32_t field : fields)
        table.u32(field);
    return table.bytes();
}

void put_table_info(ByteWriter& header, std::size_t offset, std::span<const std::byte> table) {
    header.u16(static_cast<std::uint32_t>(offset)).u16(discovery_checksum(table));
    header.u16(static_cast<std::uint32_t>(table.size())).u16(0);
}

} // namespace

std::uint16_t discovery_checksum(std::span<const std::byte> bytes) {
    std::uint16_t sum = 0;
    for (const std::byte value : bytes)
        sum = static_cast<std::uint16_t>(sum + std::to_integer<unsigned>(value));
    return sum;
}

std::vector<std::byte> discovery_table(const DeviceOptions& options) {
    const auto ip = ip_table(Dies(options.xccs));
    const auto gc = gc_table(shader_engines(options.compute_units));
    const auto harvested = harvest_table(Dies(options.xccs));
    const std::size_t gc_offset = (binary_header_bytes + ip.size() + 3) & ~std::size_t{3};
    const std::size_t harvest_offset = gc_offset + gc.size();

    // The checksum covers everything behind it, beginning with the size.
    ByteWriter rest;
    rest.u16(static_cast<std::uint32_t>(harvest_offset + harvested.size()));
    put_table_info(rest, binary_header_bytes, ip);
    put_table_info(rest, gc_offset, gc);
    put_table_info(rest, harvest_offset, harvested);
    rest.zeros((table_count - 3) * table_info_bytes);
    rest.append(ip);
    rest.pad_to(gc_offset - 10); // signature, version and checksum come before
    rest.append(gc);
    rest.append(harvested);

    ByteWriter binary;
    // Version 1: a binary that says 2 must use the newer header with num_tables.
    binary.u32(binary_signature).u16(1).u16(0);
    binary.u16(discovery_checksum(rest.bytes()));
    binary.append(rest.bytes());
    binary.pad_to(discovery_table_bytes);
    return binary.bytes();
}

} // namespace vgpu::tables
