// SPDX-License-Identifier: MIT
// DS: LDS loads and stores, and the merged opcode table. MI300 ISA, "DS Instructions".
#include "model/isa/memory/ds.hpp"

#include <vector>

namespace vgpu::isa {

namespace {

template <typename T, D16 half = D16::whole> void read_narrow(Execution& e) {
    const DsInstruction i(e);
    const Words* address = vgpr_lanes(e, i.address);
    Words* to = data_lanes(e, i.vdst, i.acc);
    if (address == nullptr || to == nullptr) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const T value = lds_load<T>(e.wave, ds_address((*address)[lane], i.offset));
        (*to)[lane] = in_half<half>(static_cast<u32>(value));
    });
}

template <typename T, unsigned shift = 0> void write_narrow(Execution& e) {
    const DsInstruction i(e);
    const Words* address = vgpr_lanes(e, i.address);
    const Words* from = data_lanes(e, i.data0, i.acc);
    if (address == nullptr || from == nullptr) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        lds_store(e.wave, ds_address((*address)[lane], i.offset),
                  static_cast<T>((*from)[lane] >> shift));
    });
}

template <unsigned count> void read(Execution& e) {
    const DsInstruction i(e);
    const Words* address_lanes = vgpr_lanes(e, i.address);
    std::array<Words*, count> to{};
    if (address_lanes == nullptr || !data_registers(e, i.vdst, i.acc, to)) {
        return;
    }
    const Words addresses = *address_lanes; // the destination may overwrite them
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned word = 0; word < count; ++word) {
            const u64 at = u64{ds_address(addresses[lane], i.offset)} + u64{word} * 4;
            (*to[word])[lane] = lds_load<u32>(e.wave, at);
        }
    });
}

template <unsigned count> void write(Execution& e) {
    const DsInstruction i(e);
    const Words* address = vgpr_lanes(e, i.address);
    std::array<Words*, count> from{};
    if (address == nullptr || !data_registers(e, i.data0, i.acc, from)) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned word = 0; word < count; ++word) {
            const u64 at = u64{ds_address((*address)[lane], i.offset)} + u64{word} * 4;
            lds_store(e.wave, at, (*from[word])[lane]);
        }
    });
}

// `stride` is 1, or 64 for the st64 forms.
template <typename T, unsigned stride> void read2(Execution& e) {
    constexpr unsigned words = words_of<T>;
    const DsInstruction i(e);
    const Words* address_lanes = vgpr_lanes(e, i.address);
    std::array<Words*, std::size_t{2} * words> to{};
    if (address_lanes == nullptr || !data_registers(e, i.vdst, i.acc, to)) {
        return;
    }
    const Words addresses = *address_lanes;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned half = 0; half < 2; ++half) {
            const u32 offset = (half == 0 ? i.offset0 : i.offset1) * u32{sizeof(T)} * stride;
            for (unsigned word = 0; word < words; ++word) {
                const u64 at = u64{ds_address(addresses[lane], offset)} + u64{word} * 4;
                (*to[half * words + word])[lane] = lds_load<u32>(e.wave, at);
            }
        }
    });
}

template <typename T, unsigned stride> void write2(Execution& e) {
    constexpr unsigned words = words_of<T>;
    const DsInstruction i(e);
    const Words* address = vgpr_lanes(e, i.address);
    std::array<Words*, words> from0{};
    std::array<Words*, words> from1{};
    if (address == nullptr || !data_registers(e, i.data0, i.acc, from0) ||
        !data_registers(e, i.data1, i.acc, from1)) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        for (unsigned half = 0; half < 2; ++half) {
            const u32 offset = (half == 0 ? i.offset0 : i.offset1) * u32{sizeof(T)} * stride;
            for (unsigned word = 0; word < words; ++word) {
                const u64 at = u64{ds_address((*address)[lane], offset)} + u64{word} * 4;
                lds_store(e.wave, at, (*(half == 0 ? from0 : from1)[word])[lane]);
            }
        }
    });
}

// The lane's dword at M0[15:0] + offset.
void read_addtid(Execution& e) {
    const DsInstruction i(e);
    if (Words* to = data_lanes(e, i.vdst, i.acc)) {
        for_each_lane(e.wave.exec, [&](unsigned lane) {
            const u64 at = u64{e.wave.m0 & 0xffff} + i.offset + u64{lane} * 4;
            (*to)[lane] = lds_load<u32>(e.wave, at);
        });
    }
}
void write_addtid(Execution& e) {
    const DsInstruction i(e);
    if (const Words* from = data_lanes(e, i.data0, i.acc)) {
        for_each_lane(e.wave.exec, [&](unsigned lane) {
            const u64 at = u64{e.wave.m0 & 0xffff} + i.offset + u64{lane} * 4;
            lds_store(e.wave, at, (*from)[lane]);
        });
    }
}

void no_effect(Execution&) {}

constexpr std::array ops{
    ScalarOp{13, "ds_write_b32", write<1>},
    ScalarOp{14, "ds_write2_b32", write2<u32, 1>},
    ScalarOp{15, "ds_write2st64_b32", write2<u32, 64>},
    ScalarOp{20, "ds_nop", no_effect},
    ScalarOp{29, "ds_write_addtid_b32", write_addtid},
    ScalarOp{30, "ds_write_b8", write_narrow<u8>},
    ScalarOp{31, "ds_write_b16", write_narrow<u16>},
    ScalarOp{54, "ds_read_b32", read<1>},
    ScalarOp{55, "ds_read2_b32", read2<u32, 1>},
    ScalarOp{56, "ds_read2st64_b32", read2<u32, 64>},
    ScalarOp{57, "ds_read_i8", read_narrow<i8>},
    ScalarOp{58, "ds_read_u8", read_narrow<u8>},
    ScalarOp{59, "ds_read_i16", read_narrow<i16>},
    ScalarOp{60, "ds_read_u16", read_narrow<u16>},
    ScalarOp{77, "ds_write_b64", write<2>},
    ScalarOp{78, "ds_write2_b64", write2<u64, 1>},
    ScalarOp{79, "ds_write2st64_b64", write2<u64, 64>},
    ScalarOp{84, "ds_write_b8_d16_hi", write_narrow<u8, 16>},
    ScalarOp{85, "ds_write_b16_d16_hi", write_narrow<u16, 16>},
    ScalarOp{86, "ds_read_u8_d16", read_narrow<u8, D16::low>},
    ScalarOp{87, "ds_read_u8_d16_hi", read_narrow<u8, D16::high>},
    ScalarOp{88, "ds_read_i8_d16", read_narrow<i8, D16::low>},
    ScalarOp{89, "ds_read_i8_d16_hi", read_narrow<i8, D16::high>},
    ScalarOp{90, "ds_read_u16_d16", read_narrow<u16, D16::low>},
    ScalarOp{91, "ds_read_u16_d16_hi", read_narrow<u16, D16::high>},
    ScalarOp{118, "ds_read_b64", read<2>},
    ScalarOp{119, "ds_read2_b64", read2<u64, 1>},
    ScalarOp{120, "ds_read2st64_b64", read2<u64, 64>},
    ScalarOp{182, "ds_read_addtid_b32", read_addtid},
    ScalarOp{222, "ds_write_b96", write<3>},
    ScalarOp{223, "ds_write_b128", write<4>},
    ScalarOp{254, "ds_read_b96", read<3>},
    ScalarOp{255, "ds_read_b128", read<4>},
};

auto families() {
    return std::array{ds_load_store_ops(), ds_lane_ops(), ds_atomic_ops()};
}

auto gds_families() {
    return std::array{ds_gws_ops()};
}

constexpr unsigned opcode_count = 256;

} // namespace

std::span<const ScalarOp> ds_load_store_ops() {
    return ops;
}

void execute_ds(Execution& e) {
    static const auto tables = index_families<opcode_count>(families());
    static const auto gds_tables = index_families<opcode_count>(gds_families());
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    const bool gds = (e.word0 >> 16 & 1) != 0;
    const unsigned opcode = e.word0 >> 17 & 0xff;
    const ScalarHandler handler = (gds ? gds_tables : tables)[e.wave.isa][opcode];
    if (handler == nullptr) {
        e.illegal(gds ? "GDS not modelled" : "opcode not modelled");
        return;
    }
    handler(e);
}

std::vector<OpName> ds_names() {
    std::vector<OpName> names = names_of_families(families());
    const std::vector<OpName> of_gds = names_of_families(gds_families());
    names.insert(names.end(), of_gds.begin(), of_gds.end());
    return names;
}

} // namespace vgpu::isa
