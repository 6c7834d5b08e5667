// SPDX-License-Identifier: MIT
// SMEM: scalar loads and stores, cache maintenance and clocks. MI300 ISA, "SMEM Instructions".
#include "model/isa/memory/smem.hpp"

#include <vector>

namespace vgpu::isa {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

} // namespace

// IMM adds the 21-bit constant, SOFFSET_EN the SGPR in SOFFSET; neither: the SGPR named in OFFSET.
u64 smem_offset(Execution& e) {
    const bool imm = (e.word0 >> 17 & 1) != 0;
    const bool soffset_en = (e.word0 >> 14 & 1) != 0;
    u64 offset = 0;
    if (imm) {
        offset = static_cast<u64>(i64{static_cast<i32>(e.word1 << 11) >> 11});
    } else if (!soffset_en) {
        offset = read_scalar(e, e.word1 & 0x7f);
    }
    if (soffset_en) {
        offset += read_scalar(e, e.word1 >> 25 & 0x7f);
    }
    return offset;
}

u64 smem_address(Execution& e) {
    return (read_scalar64(e, smem_base(e)) + smem_offset(e)) & ~3ULL;
}

namespace {

template <unsigned count> void load(Execution& e) {
    const u64 va = smem_address(e);
    std::array<u32, count> values{};
    for (unsigned i = 0; i < count; ++i) {
        if (!e.memory.load(e.wave.vmid, va + u64{i} * 4, values.at(i))) {
            e.fault(va + u64{i} * 4);
            return;
        }
    }
    for (unsigned i = 0; i < count; ++i) {
        write_scalar(e, smem_data(e) + i, values.at(i));
    }
}

template <unsigned count> void store(Execution& e) {
    const u64 va = smem_address(e);
    for (unsigned i = 0; i < count; ++i) {
        if (!e.memory.store(e.wave.vmid, va + u64{i} * 4, read_scalar(e, smem_data(e) + i))) {
            e.fault(va + u64{i} * 4);
            return;
        }
    }
}

// Buffers: a base and a size from the resource. Words beyond the size read 0 and are not written.
struct Buffer {
    u64 base;
    u64 bytes;
};
Buffer buffer_of(Execution& e) {
    const u64 words01 = read_scalar64(e, smem_base(e));
    const u32 records = read_scalar(e, smem_base(e) + 2);
    const u64 stride = words01 >> 48 & 0x3fff;
    return {words01 & 0xffff'ffff'ffffULL, stride == 0 ? records : stride * records};
}

template <unsigned count> void buffer_load(Execution& e) {
    const Buffer buffer = buffer_of(e);
    const u64 offset = smem_offset(e) & ~3ULL;
    std::array<u32, count> values{};
    for (unsigned i = 0; i < count; ++i) {
        const u64 at = offset + u64{i} * 4;
        if (at + 4 <= buffer.bytes && !e.memory.load(e.wave.vmid, buffer.base + at, values.at(i))) {
            e.fault(buffer.base + at);
            return;
        }
    }
    for (unsigned i = 0; i < count; ++i) {
        write_scalar(e, smem_data(e) + i, values.at(i));
    }
}

template <unsigned count> void buffer_store(Execution& e) {
    const Buffer buffer = buffer_of(e);
    const u64 offset = smem_offset(e) & ~3ULL;
    for (unsigned i = 0; i < count; ++i) {
        const u64 at = offset + u64{i} * 4;
        if (at + 4 <= buffer.bytes &&
            !e.memory.store(e.wave.vmid, buffer.base + at, read_scalar(e, smem_data(e) + i))) {
            e.fault(buffer.base + at);
            return;
        }
    }
}

// No scalar cache is modelled: there is nothing to invalidate or write back.
void no_effect(Execution&) {}

void memtime(Execution& e) {
    write_scalar64(e, smem_data(e), e.clock);
}

void memrealtime(Execution& e) {
    write_scalar64(e, smem_data(e),
                   e.reference_clock != nullptr ? e.reference_clock->ticks() : e.clock);
}

constexpr std::array ops{
    ScalarOp{0, "s_load_dword", load<1>},
    ScalarOp{1, "s_load_dwordx2", load<2>},
    ScalarOp{2, "s_load_dwordx4", load<4>},
    ScalarOp{3, "s_load_dwordx8", load<8>},
    ScalarOp{4, "s_load_dwordx16", load<16>},
    ScalarOp{8, "s_buffer_load_dword", buffer_load<1>},
    ScalarOp{9, "s_buffer_load_dwordx2", buffer_load<2>},
    ScalarOp{10, "s_buffer_load_dwordx4", buffer_load<4>},
    ScalarOp{11, "s_buffer_load_dwordx8", buffer_load<8>},
    ScalarOp{12, "s_buffer_load_dwordx16", buffer_load<16>},
    ScalarOp{16, "s_store_dword", store<1>},
    ScalarOp{17, "s_store_dwordx2", store<2>},
    ScalarOp{18, "s_store_dwordx4", store<4>},
    ScalarOp{24, "s_buffer_store_dword", buffer_store<1>},
    ScalarOp{25, "s_buffer_store_dwordx2", buffer_store<2>},
    ScalarOp{26, "s_buffer_store_dwordx4", buffer_store<4>},
    ScalarOp{32, "s_dcache_inv", no_effect},
    ScalarOp{33, "s_dcache_wb", no_effect},
    ScalarOp{34, "s_dcache_inv_vol", no_effect},
    ScalarOp{35, "s_dcache_wb_vol", no_effect},
    ScalarOp{36, "s_memtime", memtime},
    ScalarOp{37, "s_memrealtime", memrealtime},
};

auto families() {
    return std::array{smem_load_store_ops(), smem_atomic_ops()};
}

constexpr unsigned opcode_count = 256;

} // namespace

std::span<const ScalarOp> smem_load_store_ops() {
    return ops;
}

void execute_smem(Execution& e) {
    static const auto tables = index_families<opcode_count>(families());
    e.fetch_word1();
    if (!e.failed()) {
        run_scalar(tables[e.wave.isa], e.word0 >> 18 & 0xff, e);
    }
}

std::vector<OpName> smem_names() {
    return names_of_families(families());
}

} // namespace vgpu::isa
