// SPDX-License-Identifier: MIT
// MUBUF: untyped buffer loads and stores, and the merged opcode table. MI300 ISA, "MUBUF".
#include "model/isa/memory/mubuf.hpp"

#include <vector>

namespace vgpu::isa {

BufferAddresses::BufferAddresses(Execution& e, const BufferInstruction& i) {
    const std::uint64_t words01 = read_scalar64(e, i.resource);
    records_ = read_scalar(e, i.resource + 2);
    const std::uint32_t word3 = read_scalar(e, i.resource + 3);
    base_ = words01 & 0xffff'ffff'ffffULL;
    stride_ = static_cast<std::uint32_t>(words01 >> 48 & 0x3fff);
    add_tid_ = (word3 >> 23 & 1) != 0;
    if (add_tid_) {
        // The data format field is then stride[17:14].
        stride_ |= (word3 >> 15 & 15) << 14;
    }
    soffset_ = read_scalar(e, i.soffset);
    offset_ = i.offset;
    if (i.idxen) {
        index_ = vgpr_lanes(e, i.vaddr);
    }
    if (i.offen) {
        vector_offset_ = vgpr_lanes(e, i.idxen ? i.vaddr + 1 : i.vaddr);
    }
    if (words01 >> 63 != 0) {
        index_stride_ = 8U << (word3 >> 21 & 3);
    }
}

namespace {

using Reading = AddressSpace::Cursor<Access::read>;
using Writing = AddressSpace::Cursor<Access::write>;

// One element of a lane; 0 beyond the buffer.
template <typename T>
T load_lane(Execution& e, Reading& memory, const BufferAddresses& buffer, unsigned lane, u32 from) {
    T value{};
    if (e.failed() || !buffer.in_range(lane, from, sizeof(T))) {
        return value;
    }
    if (!buffer.together(lane, from, sizeof(T))) {
        std::array<u8, sizeof(T)> bytes{};
        for (u32 i = 0; i < sizeof(T); ++i) {
            bytes[i] = load_lane<u8>(e, memory, buffer, lane, from + i);
        }
        return std::bit_cast<T>(bytes);
    }
    const u64 va = buffer.at(lane, from);
    if (!memory.load(va, value)) {
        e.fault(va);
    }
    return value;
}
template <typename T>
void store_lane(Execution& e, Writing& memory, const BufferAddresses& buffer, unsigned lane,
                u32 from, T value) {
    if (e.failed() || !buffer.in_range(lane, from, sizeof(T))) {
        return;
    }
    if (!buffer.together(lane, from, sizeof(T))) {
        const auto bytes = std::bit_cast<std::array<u8, sizeof(T)>>(value);
        for (u32 i = 0; i < sizeof(T); ++i) {
            store_lane(e, memory, buffer, lane, from + i, bytes[i]);
        }
        return;
    }
    const u64 va = buffer.at(lane, from);
    if (!memory.store(va, value)) {
        e.fault(va);
    }
}

// LDS=1: a dword for each lane at M0[15:0] + instruction offset + 4 * lane.
template <typename T> void load_to_lds(Execution& e, const BufferInstruction& i) {
    const BufferAddresses buffer(e, i);
    Reading memory(e.memory, e.wave.vmid);
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const T value = load_lane<T>(e, memory, buffer, lane, 0);
        if (!e.failed()) {
            lds_store(e.wave, u64{e.wave.m0 & 0xffff} + i.offset + u64{lane} * 4,
                      static_cast<u32>(value));
        }
    });
}

template <unsigned count> void load(Execution& e) {
    const BufferInstruction i(e);
    if (i.to_lds) {
        return count == 1 ? load_to_lds<u32>(e, i)
                          : e.illegal("buffer load of more than a dword to LDS");
    }
    const BufferAddresses buffer(e, i);
    std::array<Words*, count> to{};
    if (e.failed() || !data_registers(e, i.vdata, i.acc, to)) {
        return;
    }
    Reading memory(e.memory, e.wave.vmid);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
    std::array<Words, count> values; // an address register may be among the destinations
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned word = 0; word < count; ++word) {
            values[word][lane] = load_lane<u32>(e, memory, buffer, lane, word * 4);
        }
    });
    for (unsigned word = 0; word < count && !e.failed(); ++word) {
        merge_lanes(*to[word], values[word], e.wave.exec);
    }
}

template <unsigned count> void store(Execution& e) {
    const BufferInstruction i(e);
    const BufferAddresses buffer(e, i);
    std::array<Words*, count> from{};
    if (e.failed() || !data_registers(e, i.vdata, i.acc, from)) {
        return;
    }
    Writing memory(e.memory, e.wave.vmid);
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned word = 0; word < count; ++word) {
            store_lane<u32>(e, memory, buffer, lane, word * 4, (*from[word])[lane]);
        }
    });
}

template <typename T, D16 half = D16::whole> void load_narrow(Execution& e) {
    const BufferInstruction i(e);
    if (i.to_lds) {
        return half == D16::whole ? load_to_lds<T>(e, i) : e.illegal("d16 buffer load to LDS");
    }
    const BufferAddresses buffer(e, i);
    Words* to = data_lanes(e, i.vdata, i.acc);
    if (e.failed() || to == nullptr) {
        return;
    }
    Reading memory(e.memory, e.wave.vmid);
    Words values;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const T value = load_lane<T>(e, memory, buffer, lane, 0);
        values[lane] = in_half<half>(static_cast<u32>(value));
    });
    if (!e.failed()) {
        merge_lanes(*to, values, e.wave.exec);
    }
}

template <typename T, unsigned shift = 0> void store_narrow(Execution& e) {
    const BufferInstruction i(e);
    const BufferAddresses buffer(e, i);
    const Words* from = data_lanes(e, i.vdata, i.acc);
    if (e.failed() || from == nullptr) {
        return;
    }
    Writing memory(e.memory, e.wave.vmid);
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        store_lane<T>(e, memory, buffer, lane, 0, static_cast<T>((*from)[lane] >> shift));
    });
}

// Caches aren't modelled: a write-back or an invalidation has nothing to do.
void no_effect(Execution&) {}

constexpr std::array ops{
    ScalarOp{16, "buffer_load_ubyte", load_narrow<u8>},
    ScalarOp{17, "buffer_load_sbyte", load_narrow<i8>},
    ScalarOp{18, "buffer_load_ushort", load_narrow<u16>},
    ScalarOp{19, "buffer_load_sshort", load_narrow<i16>},
    ScalarOp{20, "buffer_load_dword", load<1>},
    ScalarOp{21, "buffer_load_dwordx2", load<2>},
    ScalarOp{22, "buffer_load_dwordx3", load<3>},
    ScalarOp{23, "buffer_load_dwordx4", load<4>},
    ScalarOp{24, "buffer_store_byte", store_narrow<u8>},
    ScalarOp{25, "buffer_store_byte_d16_hi", store_narrow<u8, 16>},
    ScalarOp{26, "buffer_store_short", store_narrow<u16>},
    ScalarOp{27, "buffer_store_short_d16_hi", store_narrow<u16, 16>},
    ScalarOp{28, "buffer_store_dword", store<1>},
    ScalarOp{29, "buffer_store_dwordx2", store<2>},
    ScalarOp{30, "buffer_store_dwordx3", store<3>},
    ScalarOp{31, "buffer_store_dwordx4", store<4>},
    ScalarOp{32, "buffer_load_ubyte_d16", load_narrow<u8, D16::low>},
    ScalarOp{33, "buffer_load_ubyte_d16_hi", load_narrow<u8, D16::high>},
    ScalarOp{34, "buffer_load_sbyte_d16", load_narrow<i8, D16::low>},
    ScalarOp{35, "buffer_load_sbyte_d16_hi", load_narrow<i8, D16::high>},
    ScalarOp{36, "buffer_load_short_d16", load_narrow<u16, D16::low>},
    ScalarOp{37, "buffer_load_short_d16_hi", load_narrow<u16, D16::high>},
    ScalarOp{40, "buffer_wbl2", no_effect, since_gfx90a},
    ScalarOp{41, "buffer_inv", no_effect, only::gfx942},
    ScalarOp{41, "buffer_invl2", no_effect, only::gfx90a},
    ScalarOp{62, "buffer_wbinvl1", no_effect, until_gfx90a},
    ScalarOp{63, "buffer_wbinvl1_vol", no_effect, until_gfx90a},
};

auto families() {
    return std::array{buffer_load_store_ops(), buffer_atomic_ops()};
}

constexpr unsigned opcode_count = 128;

} // namespace

std::span<const ScalarOp> buffer_load_store_ops() {
    return ops;
}

void execute_mubuf(Execution& e) {
    static const auto tables = index_families<opcode_count>(families());
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    const unsigned opcode = e.word0 >> 18 & 0x7f;
    const ScalarHandler handler = tables[e.wave.isa][opcode];
    if (handler == nullptr) {
        e.illegal("opcode not modelled");
        return;
    }
    handler(e);
}

std::vector<OpName> mubuf_names() {
    return names_of_families(families());
}

} // namespace vgpu::isa
