// SPDX-License-Identifier: MIT
// Loads and stores of FLAT, GLOBAL and SCRATCH, and loads that go to LDS.
#include "model/isa/memory/flat.hpp"

namespace vgpu::isa {

namespace {

// Aligned dwords; each is one access for who shares the memory.
u32 load_word(const u32* from) {
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}
void store_word(u32* to, u32 value) {
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

// Calls function(word, lane, dword of host memory) for all lanes if their data is contiguous: lane
// after lane, or in scratch dword after dword. Returns false, with nothing done, if it isn't.
template <unsigned count, Access access, typename Function>
bool at_once(const Execution& e, const LaneAddresses& addresses, LaneMemory<access>& memory,
             Function function) {
    if (addresses.same_scratch()) {
        for (unsigned word = 0; word < count; ++word) {
            const auto offset = static_cast<u32>(addresses[0]) + word * 4;
            u32* host = memory.at_once(scratch_address(e.wave, offset, 0), lane_count);
            for (unsigned lane = 0; lane < lane_count && host != nullptr; ++lane) {
                function(word, lane, host + lane);
            }
        }
        return true;
    }
    if (!addresses.contiguous(count * 4)) {
        return false;
    }
    u32* host = memory.at_once(addresses[0], count * lane_count);
    for (unsigned lane = 0; lane < lane_count && host != nullptr; ++lane) {
        for (unsigned word = 0; word < count; ++word) {
            function(word, lane, host + std::size_t{lane} * count + word);
        }
    }
    return true;
}

template <unsigned count> void load(Execution& e) {
    const FlatInstruction i(e);
    const LaneAddresses addresses(e, i);
    std::array<Words*, count> to{};
    if (!data_registers(e, i.vdst, i.acc, to) || e.failed()) {
        return;
    }
    LaneMemory<Access::read> memory(e, addresses);
    // No half of a load arrives.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
    std::array<Words, count> values;
    const auto take = [&values](unsigned word, unsigned lane, const u32* from) {
        values[word][lane] = load_word(from);
    };
    if (!at_once<count>(e, addresses, memory, take)) {
        for_each_lane(e.wave.exec, [&](unsigned lane) {
            const u64 va = addresses[lane];
            for (unsigned word = 0; word < count; ++word) {
                values[word][lane] = memory.template load<u32>(va + u64{word} * 4, lane);
            }
        });
    }
    for (unsigned word = 0; word < count && !e.failed(); ++word) {
        merge_lanes(*to[word], values[word], e.wave.exec);
    }
}

template <unsigned count> void store(Execution& e) {
    const FlatInstruction i(e);
    const LaneAddresses addresses(e, i);
    std::array<Words*, count> from{};
    if (!data_registers(e, i.vdata, i.acc, from) || e.failed()) {
        return;
    }
    LaneMemory<Access::write> memory(e, addresses);
    const auto give = [&from](unsigned word, unsigned lane, u32* to) {
        store_word(to, (*from[word])[lane]);
    };
    if (at_once<count>(e, addresses, memory, give)) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const u64 va = addresses[lane];
        for (unsigned word = 0; word < count && !e.failed(); ++word) {
            memory.template store<u32>(va + u64{word} * 4, lane, (*from[word])[lane]);
        }
    });
}

template <typename T, D16 half = D16::whole> void load_narrow(Execution& e) {
    const FlatInstruction i(e);
    const LaneAddresses addresses(e, i);
    Words* to = data_lanes(e, i.vdst, i.acc);
    if (to == nullptr || e.failed()) {
        return;
    }
    LaneMemory<Access::read> memory(e, addresses);
    Words values = *to;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): a signed byte keeps its sign
        const auto value = static_cast<u32>(memory.template load<T>(addresses[lane], lane));
        values[lane] = in_half<half>(value);
    });
    if (!e.failed()) {
        merge_lanes(*to, values, e.wave.exec);
    }
}

template <typename T, unsigned shift = 0> void store_narrow(Execution& e) {
    const FlatInstruction i(e);
    const LaneAddresses addresses(e, i);
    const Words* from = data_lanes(e, i.vdata, i.acc);
    if (from == nullptr || e.failed()) {
        return;
    }
    LaneMemory<Access::write> memory(e, addresses);
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        if (!e.failed()) {
            memory.template store<T>(addresses[lane], lane, static_cast<T>((*from)[lane] >> shift));
        }
    });
}

// A dword for each lane: M0[15:0] + instruction offset + 4 * lane, as MUBUF has it.
template <typename T> void load_to_lds(Execution& e) {
    const FlatInstruction i(e);
    const LaneAddresses addresses(e, i);
    if (e.failed()) {
        return;
    }
    LaneMemory<Access::read> memory(e, addresses);
    const u64 base = u64{e.wave.m0 & 0xffff} + static_cast<u64>(std::int64_t{i.offset});
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): a signed byte keeps its sign
        const auto value = static_cast<u32>(memory.template load<T>(addresses[lane], lane));
        if (!e.failed()) {
            lds_store(e.wave, (base + u64{lane} * 4) & 0xffff'ffff, value);
        }
    });
}

constexpr std::array load_store_ops{
    ScalarOp{16, "load_ubyte", load_narrow<u8>},
    ScalarOp{17, "load_sbyte", load_narrow<i8>},
    ScalarOp{18, "load_ushort", load_narrow<u16>},
    ScalarOp{19, "load_sshort", load_narrow<i16>},
    ScalarOp{20, "load_dword", load<1>},
    ScalarOp{21, "load_dwordx2", load<2>},
    ScalarOp{22, "load_dwordx3", load<3>},
    ScalarOp{23, "load_dwordx4", load<4>},
    ScalarOp{24, "store_byte", store_narrow<u8>},
    ScalarOp{25, "store_byte_d16_hi", store_narrow<u8, 16>},
    ScalarOp{26, "store_short", store_narrow<u16>},
    ScalarOp{27, "store_short_d16_hi", store_narrow<u16, 16>},
    ScalarOp{28, "store_dword", store<1>},
    ScalarOp{29, "store_dwordx2", store<2>},
    ScalarOp{30, "store_dwordx3", store<3>},
    ScalarOp{31, "store_dwordx4", store<4>},
    ScalarOp{32, "load_ubyte_d16", load_narrow<u8, D16::low>},
    ScalarOp{33, "load_ubyte_d16_hi", load_narrow<u8, D16::high>},
    ScalarOp{34, "load_sbyte_d16", load_narrow<i8, D16::low>},
    ScalarOp{35, "load_sbyte_d16_hi", load_narrow<i8, D16::high>},
    ScalarOp{36, "load_short_d16", load_narrow<u16, D16::low>},
    ScalarOp{37, "load_short_d16_hi", load_narrow<u16, D16::high>},
};

constexpr std::array lds_ops{
    ScalarOp{38, "load_lds_ubyte", load_to_lds<u8>, only::gfx942},
    ScalarOp{39, "load_lds_sbyte", load_to_lds<i8>, only::gfx942},
    ScalarOp{40, "load_lds_ushort", load_to_lds<u16>, only::gfx942},
    ScalarOp{41, "load_lds_sshort", load_to_lds<i16>, only::gfx942},
    ScalarOp{42, "load_lds_dword", load_to_lds<u32>, only::gfx942},
};

} // namespace

std::span<const ScalarOp> flat_load_store_ops() {
    return load_store_ops;
}

std::span<const ScalarOp> flat_lds_ops() {
    return lds_ops;
}

} // namespace vgpu::isa
