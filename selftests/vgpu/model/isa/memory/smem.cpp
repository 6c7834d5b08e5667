// SPDX-License-Identifier: MIT
// SMEM: scalar loads and stores, atomics, cache maintenance and clocks. MI300 ISA, "SMEM
// Instructions".
#include "model/isa/memory/atomics.hpp"
#include "model/isa/scalar/scalar_alu.hpp"

namespace vgpu::isa {

namespace {

unsigned sdata(const Execution& e) {
    return e.word0 >> 6 & 0x7f;
}
unsigned sbase(const Execution& e) {
    return (e.word0 & 0x3f) * 2;
}

// IMM adds the 21-bit constant, SOFFSET_EN the SGPR in SOFFSET; neither: the SGPR named in OFFSET.
u64 offset_of(Execution& e) {
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

// SBASE + offset. The two low bits are ignored.
u64 address_of(Execution& e) {
    return (read_scalar64(e, sbase(e)) + offset_of(e)) & ~3ULL;
}

template <unsigned count> void load(Execution& e) {
    const u64 va = address_of(e);
    std::array<u32, count> values{};
    for (unsigned i = 0; i < count; ++i) {
        if (!e.memory.load(e.wave.vmid, va + u64{i} * 4, values.at(i))) {
            e.fault(va + u64{i} * 4);
            return;
        }
    }
    for (unsigned i = 0; i < count; ++i) {
        write_scalar(e, sdata(e) + i, values.at(i));
    }
}

template <unsigned count> void store(Execution& e) {
    const u64 va = address_of(e);
    for (unsigned i = 0; i < count; ++i) {
        if (!e.memory.store(e.wave.vmid, va + u64{i} * 4, read_scalar(e, sdata(e) + i))) {
            e.fault(va + u64{i} * 4);
            return;
        }
    }
}

// Buffers: a base and a size from the resource. Words beyond the size read 0 and aren't written.
struct Buffer {
    u64 base;
    u64 bytes;
};
Buffer buffer_of(Execution& e) {
    const u64 words01 = read_scalar64(e, sbase(e));
    const u32 records = read_scalar(e, sbase(e) + 2);
    const u64 stride = words01 >> 48 & 0x3fff;
    return {words01 & 0xffff'ffff'ffffULL, stride == 0 ? records : stride * records};
}

template <unsigned count> void buffer_load(Execution& e) {
    const Buffer buffer = buffer_of(e);
    const u64 offset = offset_of(e) & ~3ULL;
    std::array<u32, count> values{};
    for (unsigned i = 0; i < count; ++i) {
        const u64 at = offset + u64{i} * 4;
        if (at + 4 <= buffer.bytes && !e.memory.load(e.wave.vmid, buffer.base + at, values.at(i))) {
            e.fault(buffer.base + at);
            return;
        }
    }
    for (unsigned i = 0; i < count; ++i) {
        write_scalar(e, sdata(e) + i, values.at(i));
    }
}

template <unsigned count> void buffer_store(Execution& e) {
    const Buffer buffer = buffer_of(e);
    const u64 offset = offset_of(e) & ~3ULL;
    for (unsigned i = 0; i < count; ++i) {
        const u64 at = offset + u64{i} * 4;
        if (at + 4 <= buffer.bytes &&
            !e.memory.store(e.wave.vmid, buffer.base + at, read_scalar(e, sdata(e) + i))) {
            e.fault(buffer.base + at);
            return;
        }
    }
}

// Atomics, which trap handlers use. SDATA is the operand, and the old value's place.
bool returns_old(const Execution& e) {
    return (e.word0 >> 16 & 1) != 0; // GLC
}

template <typename T> T operand(Execution& e, unsigned sgpr) {
    return static_cast<T>(sizeof(T) == 8 ? read_scalar64(e, sgpr) : read_scalar(e, sgpr));
}

template <typename T, typename Function> void read_modify_write(Execution& e, Function function) {
    const u64 va = address_of(e);
    const auto old = e.failed() ? std::nullopt : atomic_update<T>(e, va, function);
    if (!old || !returns_old(e)) {
        return;
    }
    write_scalar(e, sdata(e), static_cast<u32>(*old));
    if (sizeof(T) == 8) {
        write_scalar(e, sdata(e) + 1, static_cast<u32>(static_cast<u64>(*old) >> 32));
    }
}

struct Atomics {
    template <typename T, auto operation> static void update(Execution& e) {
        const T data = operand<T>(e, sdata(e));
        read_modify_write<T>(e, [&](T old) -> T { return operation(old, data); });
    }

    // The new value, then the value to compare with.
    template <typename T> static void compare_swap(Execution& e) {
        const T data = operand<T>(e, sdata(e));
        const T expected = operand<T>(e, sdata(e) + sizeof(T) / 4);
        read_modify_write<T>(e, [&](T old) -> T { return old == expected ? data : old; });
    }
};

// No scalar cache is modelled: there is nothing to invalidate or write back.
void no_effect(Execution&) {}

void memtime(Execution& e) {
    write_scalar64(e, sdata(e), e.clock);
}

void memrealtime(Execution& e) {
    write_scalar64(e, sdata(e),
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
    VGPU_INTEGER_ATOMICS(Atomics, u32, i32, "s_", "", 128),
    VGPU_INTEGER_ATOMICS(Atomics, u64, i64, "s_", "_x2", 160),
};

constexpr auto table = index_by_opcode<256>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_smem(Execution& e) {
    e.fetch_word1();
    if (!e.failed()) {
        run_scalar(table, e.word0 >> 18 & 0xff, e);
    }
}

std::span<const OpName> smem_names() {
    return op_names;
}

} // namespace vgpu::isa
