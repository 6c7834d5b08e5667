// SPDX-License-Identifier: MIT
// SCRATCH instructions and FLAT accesses in the private aperture: where each lane's bytes lie.
#include "tests/isa/snippets.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace vgpu::test {

namespace {

constexpr u64 scratch_va = FlatMemory::base + 0x20'0000;

// s33 is a stack pointer of 64, v1 the lane times 8, v[2:3] the same in the private aperture.
isa::WaveState prepared(Snippets& snippets) {
    isa::WaveState wave = snippets.wave();
    wave.sgpr[wave.sgpr.size() - 6] = static_cast<u32>(scratch_va);
    wave.sgpr[wave.sgpr.size() - 5] = static_cast<u32>(scratch_va >> 32);
    wave.sgpr[33] = 64;
    for (u32 lane = 0; lane < 64; ++lane) {
        wave.vgpr[1].lane[lane] = lane * 8;
        wave.vgpr[2].lane[lane] = lane * 8;
        wave.vgpr[3].lane[lane] = 1U << 16;
        for (unsigned reg = 4; reg < 8; ++reg) {
            wave.vgpr[reg].lane[lane] = reg << 24 | lane << 16 | 0x8000 | lane;
        }
    }
    return wave;
}

// One byte of a lane's private memory: dword 0 of all lanes first, then dword 1 of all lanes.
u8& byte_of(Snippets& snippets, u32 lane, u32 offset) {
    const u32 dword = offset / 4;
    const u64 at = scratch_va + (u64{dword} * 64 + lane) * 4 + offset % 4;
    return *reinterpret_cast<u8*>(snippets.memory.at(at));
}
u32 word_of(Snippets& snippets, u32 lane, u32 offset) {
    u32 value = 0;
    for (u32 i = 0; i < 4; ++i) {
        value |= u32{byte_of(snippets, lane, offset + i)} << (8 * i);
    }
    return value;
}

// Every byte of 1 KiB per lane gets a value of its own.
void fill(Snippets& snippets) {
    for (u32 lane = 0; lane < 64; ++lane) {
        for (u32 offset = 0; offset < 1024; ++offset) {
            byte_of(snippets, lane, offset) = static_cast<u8>(lane * 37 + offset * 11 + offset / 7);
        }
    }
}

} // namespace

TEST(Scratch, loads_in_every_address_mode) {
    Snippets snippets({
        "scratch_load_dword v20, off, off offset:12",
        "scratch_load_dwordx4 v[20:23], off, s33",
        "scratch_load_dwordx2 v[20:21], v1, off offset:16",
        "scratch_load_dwordx3 v[20:22], v1, s33 offset:-8",
        "flat_load_dwordx2 v[20:21], v[2:3] offset:4",
        "scratch_load_dword a3, v1, off",
    });
    fill(snippets);
    for (std::size_t n = 0; n < 12; ++n) {
        const std::size_t i = n % 6;
        isa::WaveState wave = prepared(snippets);
        wave.exec = n < 6 ? 0xffff'0000'f00f'ffff : ~0ULL;
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << i << snippets.problem;
        for (u32 lane = 0; lane < 64; ++lane) {
            const bool on = (wave.exec >> lane & 1) != 0;
            const auto reg = [&](unsigned r) { return wave.vgpr[r].lane[lane]; };
            const auto word = [&](u32 offset) { return word_of(snippets, lane, offset); };
            switch (i) {
            case 0: ASSERT_EQ(reg(20), on ? word(12) : 0); break;
            case 1: ASSERT_EQ(reg(23), on ? word(64 + 12) : 0); break;
            case 2: ASSERT_EQ(reg(21), on ? word(lane * 8 + 20) : 0); break;
            case 3: ASSERT_EQ(reg(22), on ? word(lane * 8 + 64) : 0); break;
            case 4: ASSERT_EQ(reg(21), on ? word(lane * 8 + 8) : 0); break;
            default: ASSERT_EQ(reg(32 + 3), on ? word(lane * 8) : 0); break;
            }
        }
    }
}

TEST(Scratch, narrow_and_unaligned_accesses) {
    Snippets snippets({
        "scratch_load_sbyte v20, off, off offset:5\n scratch_load_ushort v21, off, off offset:6\n"
        " scratch_load_short_d16_hi v22, off, off offset:10",
        "scratch_load_dword v20, off, off offset:6\n scratch_load_ushort v21, off, off offset:7",
        "scratch_store_byte off, v4, s33 offset:1\n scratch_store_short_d16_hi off, v5, s33 "
        "offset:6\n scratch_store_dword off, v6, s33 offset:9",
        "flat_store_byte v[2:3], v4 offset:3",
    });
    fill(snippets);
    isa::WaveState wave = prepared(snippets);
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        const auto byte = static_cast<std::int8_t>(byte_of(snippets, lane, 5));
        ASSERT_EQ(wave.vgpr[20].lane[lane], static_cast<u32>(std::int32_t{byte}));
        ASSERT_EQ(wave.vgpr[21].lane[lane], word_of(snippets, lane, 6) & 0xffff);
        ASSERT_EQ(wave.vgpr[22].lane[lane], word_of(snippets, lane, 10) << 16);
    }
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        ASSERT_EQ(wave.vgpr[20].lane[lane], word_of(snippets, lane, 6));
        ASSERT_EQ(wave.vgpr[21].lane[lane], word_of(snippets, lane, 7) & 0xffff);
    }
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    ASSERT_EQ(snippets.run(3, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        const auto reg = [&](unsigned r) { return wave.vgpr[r].lane[lane]; };
        ASSERT_EQ(byte_of(snippets, lane, 65), reg(4) & 0xff);
        ASSERT_EQ(word_of(snippets, lane, 70) & 0xffff, reg(5) >> 16);
        ASSERT_EQ(word_of(snippets, lane, 73), reg(6));
        ASSERT_EQ(byte_of(snippets, lane, lane * 8 + 3), reg(4) & 0xff);
    }
}

TEST(Scratch, stores_change_nothing_else) {
    Snippets snippets({"scratch_store_dwordx4 v1, v[4:7], s33 offset:32",
                       "scratch_store_dwordx4 off, v[4:7], s33 offset:32"});
    for (const bool same : {false, true}) {
        SCOPED_TRACE(same);
        fill(snippets);
        isa::WaveState wave = prepared(snippets);
        wave.exec = same ? ~0ULL : 0x0123'4567'89ab'cdef;
        std::vector<u32> before;
        for (u32 lane = 0; lane < 64; ++lane) {
            for (u32 offset = 0; offset < 1024; offset += 4) {
                before.push_back(word_of(snippets, lane, offset));
            }
        }
        ASSERT_EQ(snippets.run(same ? 1 : 0, wave), isa::Outcome::ended) << snippets.problem;
        for (u32 lane = 0; lane < 64; ++lane) {
            const u32 first = same ? 96 : lane * 8 + 96;
            for (u32 offset = 0; offset < 1024; offset += 4) {
                const bool stored =
                    (wave.exec >> lane & 1) != 0 && offset >= first && offset < first + 16;
                const u32 expected = stored ? wave.vgpr[4 + (offset - first) / 4].lane[lane]
                                            : before[lane * 256 + offset / 4];
                ASSERT_EQ(word_of(snippets, lane, offset), expected) << lane << " " << offset;
            }
        }
    }
}

TEST(Scratch, atomics_and_loads_to_lds) {
    Snippets snippets({"flat_atomic_add v20, v[2:3], v4 sc0",
                       "s_movk_i32 m0, 0x200\n scratch_load_lds_dword off, s33 offset:8",
                       "flat_atomic_add_x2 v[2:3], v[4:5]"});
    fill(snippets);
    isa::WaveState wave = prepared(snippets);
    std::vector<u32> before;
    for (u32 lane = 0; lane < 64; ++lane) {
        before.push_back(word_of(snippets, lane, lane * 8));
    }
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        ASSERT_EQ(wave.vgpr[20].lane[lane], before[lane]);
        ASSERT_EQ(word_of(snippets, lane, lane * 8), before[lane] + wave.vgpr[4].lane[lane]);
    }
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        u32 in_lds = 0;
        std::memcpy(&in_lds, snippets.lds.data() + 0x200 + 8 + lane * 4, 4);
        ASSERT_EQ(in_lds, word_of(snippets, lane, 72));
    }
    EXPECT_EQ(snippets.run(2, wave), isa::Outcome::illegal);
}

// Without scratch FLAT_SCRATCH is 0; beyond 4 GiB and in no aperture there is nothing either.
TEST(Scratch, addresses_that_lead_nowhere) {
    Snippets snippets({"scratch_load_dword v20, off, off", "flat_load_dword v20, v[2:3]"});
    isa::WaveState wave = prepared(snippets);
    wave.sgpr[wave.sgpr.size() - 6] = 0;
    wave.sgpr[wave.sgpr.size() - 5] = 0;
    EXPECT_EQ(snippets.run(0, wave), isa::Outcome::memory_fault);
    EXPECT_EQ(snippets.run(1, wave), isa::Outcome::memory_fault);
    wave = prepared(snippets);
    for (const u32 high : {1U << 16 | 1, 2U << 16 | 1, 3U << 16, 0x8000U << 16}) {
        wave.vgpr[3].lane.fill(high);
        EXPECT_EQ(snippets.run(1, wave), isa::Outcome::memory_fault) << high;
    }
    EXPECT_EQ(snippets.memory.faults, 0U); // no translation was asked for
}

} // namespace vgpu::test
