// SPDX-License-Identifier: MIT
// MUBUF: untyped buffer accesses as kernels and the trap handler use them. MI300 ISA, "MUBUF".
#include "model/isa/vector_memory.hpp"

namespace vgpu::isa {

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;

bool to_lds(const Execution& e) {
    return (e.word0 >> 16 & 1) != 0;
}
bool acc(const Execution& e) {
    return (e.word1 >> 23 & 1) != 0;
}
unsigned vdata(const Execution& e) {
    return e.word1 >> 8 & 0xff;
}

// The resource and the parts of the address that all lanes share.
class BufferAccess {
public:
    explicit BufferAccess(Execution& e) : wave_(e.wave) {
        const unsigned resource = (e.word1 >> 16 & 0x1f) * 4;
        const u64 words01 = read_scalar64(e, resource);
        records_ = read_scalar(e, resource + 2);
        const u32 word3 = read_scalar(e, resource + 3);
        base_ = words01 & 0xffff'ffff'ffffULL;
        stride_ = static_cast<u32>(words01 >> 48 & 0x3fff);
        swizzled_ = words01 >> 63 != 0;
        add_tid_ = (word3 >> 23 & 1) != 0;
        if (add_tid_) {
            // The data format field is then stride[17:14].
            stride_ |= (word3 >> 15 & 15) << 14;
        }
        soffset_ = read_scalar(e, e.word1 >> 24);
        offset_ = e.word0 & 0xfff;
        offen_ = (e.word0 >> 12 & 1) != 0;
        idxen_ = (e.word0 >> 13 & 1) != 0;
        const unsigned vaddr = e.word1 & 0xff;
        if (idxen_) {
            index_ = vgpr_lanes(e, vaddr);
        }
        if (offen_) {
            vector_offset_ = vgpr_lanes(e, idxen_ ? vaddr + 1 : vaddr);
        }
        if (swizzled_) {
            e.illegal("swizzled buffer not modelled");
        }
    }

    u64 address(unsigned lane) const { return base_ + soffset_ + buffer_offset(lane); }

    // Range check: raw buffers in bytes, structured ones in records.
    bool in_range(unsigned lane, u32 bytes) const {
        if (stride_ == 0) {
            return buffer_offset(lane) + soffset_ + bytes <= records_;
        }
        return index(lane) < records_;
    }
    u32 instruction_offset() const { return offset_; }

private:
    u64 index(unsigned lane) const {
        return (idxen_ ? (*index_)[lane] : 0) + (add_tid_ ? u64{lane} : 0);
    }
    u64 buffer_offset(unsigned lane) const {
        return index(lane) * stride_ + offset_ + (offen_ ? (*vector_offset_)[lane] : 0);
    }

    const WaveState& wave_;
    u64 base_ = 0;
    u32 records_ = 0;
    u32 stride_ = 0;
    bool swizzled_ = false;
    bool add_tid_ = false;
    u32 soffset_ = 0;
    u32 offset_ = 0;
    bool offen_ = false;
    bool idxen_ = false;
    const Words* index_ = nullptr;
    const Words* vector_offset_ = nullptr;
};

// LDS address of a load with LDS=1: M0[15:0] + instruction offset + 4 * lane.
void load_dword_to_lds(Execution& e, const BufferAccess& buffer) {
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        u32 value = 0;
        const u64 va = buffer.address(lane);
        if (buffer.in_range(lane, 4) && !e.memory.load(e.wave.vmid, va, value)) {
            e.fault(va);
        }
        const u64 at = u64{e.wave.m0 & 0xffff} + buffer.instruction_offset() + u64{lane} * 4;
        if (!e.failed()) {
            lds_store(e.wave, at, value);
        }
    });
}

template <unsigned count> void load(Execution& e) {
    const BufferAccess buffer(e);
    if (e.failed()) {
        return;
    }
    if (to_lds(e)) {
        if (count != 1) {
            e.illegal("buffer load of more than a dword to LDS not modelled");
            return;
        }
        load_dword_to_lds(e, buffer);
        return;
    }
    std::array<Words*, count> to{};
    if (!data_registers(e, vdata(e), acc(e), to)) {
        return;
    }
    std::array<Words, count> values; // an address register may be among the destinations
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        std::array<u32, count> words{};
        const u64 va = buffer.address(lane);
        if (buffer.in_range(lane, count * 4) &&
            !e.memory.load_words(e.wave.vmid, va, words.data(), count)) {
            e.fault(va);
        }
        for (unsigned i = 0; i < count; ++i) {
            values[i][lane] = words[i];
        }
    });
    for (unsigned i = 0; i < count && !e.failed(); ++i) {
        merge_lanes(*to[i], values[i], e.wave.exec);
    }
}

template <unsigned count> void store(Execution& e) {
    const BufferAccess buffer(e);
    std::array<Words*, count> from{};
    if (e.failed() || !data_registers(e, vdata(e), acc(e), from)) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        std::array<u32, count> words{};
        for (unsigned i = 0; i < count; ++i) {
            words[i] = (*from[i])[lane];
        }
        const u64 va = buffer.address(lane);
        if (buffer.in_range(lane, count * 4) &&
            !e.memory.store_words(e.wave.vmid, va, words.data(), count)) {
            e.fault(va);
        }
    });
}

template <typename T> void load_narrow(Execution& e) {
    const BufferAccess buffer(e);
    Words* to = data_lanes(e, vdata(e), acc(e));
    if (e.failed() || to == nullptr || to_lds(e)) {
        e.illegal("narrow buffer load to LDS not modelled");
        return;
    }
    Words values;
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        T value{};
        const u64 va = buffer.address(lane);
        if (buffer.in_range(lane, sizeof(T)) && !e.memory.load(e.wave.vmid, va, value)) {
            e.fault(va);
        }
        values[lane] = static_cast<u32>(i32{value});
    });
    if (!e.failed()) {
        merge_lanes(*to, values, e.wave.exec);
    }
}

template <typename T> void store_narrow(Execution& e) {
    const BufferAccess buffer(e);
    const Words* from = data_lanes(e, vdata(e), acc(e));
    if (e.failed() || from == nullptr) {
        return;
    }
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const u64 va = buffer.address(lane);
        if (buffer.in_range(lane, sizeof(T)) &&
            !e.memory.store(e.wave.vmid, va, static_cast<T>((*from)[lane]))) {
            e.fault(va);
        }
    });
}

// Caches are not modelled: a write-back or an invalidation has nothing to do.
void no_effect(Execution&) {}

constexpr std::array ops{
    ScalarOp{16, "buffer_load_ubyte", load_narrow<u8>},
    ScalarOp{17, "buffer_load_sbyte", load_narrow<std::int8_t>},
    ScalarOp{18, "buffer_load_ushort", load_narrow<u16>},
    ScalarOp{19, "buffer_load_sshort", load_narrow<std::int16_t>},
    ScalarOp{20, "buffer_load_dword", load<1>},
    ScalarOp{21, "buffer_load_dwordx2", load<2>},
    ScalarOp{22, "buffer_load_dwordx3", load<3>},
    ScalarOp{23, "buffer_load_dwordx4", load<4>},
    ScalarOp{24, "buffer_store_byte", store_narrow<u8>},
    ScalarOp{26, "buffer_store_short", store_narrow<u16>},
    ScalarOp{28, "buffer_store_dword", store<1>},
    ScalarOp{29, "buffer_store_dwordx2", store<2>},
    ScalarOp{30, "buffer_store_dwordx3", store<3>},
    ScalarOp{31, "buffer_store_dwordx4", store<4>},
    ScalarOp{40, "buffer_wbl2", no_effect},
    ScalarOp{41, "buffer_inv", no_effect},
};

constexpr auto table = index_by_opcode<128>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_mubuf(Execution& e) {
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    const unsigned opcode = e.word0 >> 18 & 0x7f;
    if (table[opcode] == nullptr) {
        e.illegal("opcode not modelled");
        return;
    }
    table[opcode](e);
}

std::span<const OpName> mubuf_names() {
    return op_names;
}

} // namespace vgpu::isa
