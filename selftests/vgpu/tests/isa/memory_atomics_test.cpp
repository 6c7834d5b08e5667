// SPDX-License-Identifier: MIT
// Atomics, exchanges, half-register accesses and lane permutes of DS, MUBUF and FLAT.
#include "tests/isa/snippets.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>

namespace vgpu::test {

namespace {

constexpr u64 data_va = FlatMemory::base + 0x10'0000;

u32 bits(float value) {
    return std::bit_cast<u32>(value);
}

// v0 is 4 * lane, v1 is 0, s[4:7] a raw buffer of 4 KiB, s[2:3] its address.
isa::WaveState prepared(Snippets& snippets) {
    isa::WaveState wave = snippets.wave();
    wave.sgpr[2] = wave.sgpr[4] = static_cast<u32>(data_va);
    wave.sgpr[3] = wave.sgpr[5] = static_cast<u32>(data_va >> 32);
    wave.sgpr[6] = 4096;
    wave.sgpr[7] = 0x00058fac & ~(1U << 23);
    for (u32 lane = 0; lane < 64; ++lane) {
        wave.vgpr[0].lane[lane] = lane * 4;
    }
    return wave;
}

u32 lds_word(Snippets& snippets, u32 at) {
    u32 value = 0;
    std::memcpy(&value, snippets.lds.data() + at, 4);
    return value;
}
void set_lds_word(Snippets& snippets, u32 at, u32 value) {
    std::memcpy(snippets.lds.data() + at, &value, 4);
}

} // namespace

TEST(MemoryAtomics, lds_floats) {
    Snippets snippets({
        "ds_min_f32 v1, v4",
        "ds_max_rtn_f32 v20, v1, v4",
        "ds_add_f64 v1, v[4:5]",
        "ds_max_f64 v1, v[4:5]",
        "ds_pk_add_f16 v1, v4",
        "ds_pk_add_rtn_bf16 v20, v1, v4",
        "ds_cmpst_rtn_f32 v20, v1, v4, v5",
    });
    const auto run = [&](std::size_t i, u64 memory, u64 data, u32 extra = 0) {
        set_lds_word(snippets, 0, static_cast<u32>(memory));
        set_lds_word(snippets, 4, static_cast<u32>(memory >> 32));
        isa::WaveState wave = prepared(snippets);
        wave.exec = 0x11; // two lanes hit the same address
        wave.vgpr[4].lane.fill(static_cast<u32>(data));
        wave.vgpr[5].lane.fill(extra != 0 ? extra : static_cast<u32>(data >> 32));
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << i << snippets.problem;
        return wave;
    };
    const auto both = [&] {
        return std::bit_cast<double>(lds_word(snippets, 0) | u64{lds_word(snippets, 4)} << 32);
    };
    run(0, bits(3.5F), bits(-2.0F));
    EXPECT_EQ(lds_word(snippets, 0), bits(-2.0F));
    const isa::WaveState max = run(1, bits(1.0F), bits(7.0F));
    EXPECT_EQ(lds_word(snippets, 0), bits(7.0F));
    EXPECT_EQ(max.vgpr[20].lane[0], bits(1.0F));
    EXPECT_EQ(max.vgpr[20].lane[4], bits(7.0F));
    run(2, std::bit_cast<u64>(0.25), std::bit_cast<u64>(1e100));
    EXPECT_EQ(both(), 2e100);
    run(3, std::bit_cast<u64>(-5.0), std::bit_cast<u64>(-4.5));
    EXPECT_EQ(both(), -4.5);
    run(4, 0x3c00'4000, 0x3800'c000); // {1, 2} + 2 * {0.5, -2}
    EXPECT_EQ(lds_word(snippets, 0), 0x4000'c000U);
    const isa::WaveState bf16 = run(5, 0x3f80'4000, 0x3f00'c000);
    EXPECT_EQ(lds_word(snippets, 0), 0x4000'c000U);
    EXPECT_EQ(bf16.vgpr[20].lane[0], 0x3f80'4000U);
    run(6, bits(0.0F), bits(-0.0F), bits(9.0F)); // zeros compare equal
    EXPECT_EQ(lds_word(snippets, 0), bits(9.0F));
}

TEST(MemoryAtomics, lds_exchanges_and_counters) {
    Snippets snippets({
        "ds_wrxchg2_rtn_b32 v[20:21], v1, v4, v5 offset0:2 offset1:5",
        "ds_mskor_rtn_b32 v20, v1, v4, v5",
        "ds_wrap_rtn_b32 v20, v1, v4, v5",
        "s_movk_i32 m0, 0x40\n ds_append v20 offset:8\n s_nop 0\n ds_consume v21 offset:8",
        "s_movk_i32 m0, 0x100\n ds_write_addtid_b32 v0 offset:4\n ds_read_addtid_b32 v20 offset:8",
    });
    isa::WaveState wave = prepared(snippets);
    const auto run = [&](std::size_t i, u64 exec) {
        wave = prepared(snippets);
        wave.exec = exec;
        wave.vgpr[4].lane.fill(0xff00);
        wave.vgpr[5].lane.fill(0x1234);
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << i << snippets.problem;
    };
    set_lds_word(snippets, 8, 11);
    set_lds_word(snippets, 20, 22);
    run(0, 1);
    EXPECT_EQ(wave.vgpr[20].lane[0], 11U);
    EXPECT_EQ(wave.vgpr[21].lane[0], 22U);
    EXPECT_EQ(lds_word(snippets, 8), 0xff00U);
    EXPECT_EQ(lds_word(snippets, 20), 0x1234U);
    set_lds_word(snippets, 0, 0xabcdef);
    run(1, 1);
    EXPECT_EQ(lds_word(snippets, 0), 0xab00efU | 0x1234U);
    set_lds_word(snippets, 0, 0xff01);
    run(2, 3); // subtracts the limit, then adds the step
    EXPECT_EQ(lds_word(snippets, 0), 1U + 0x1234U);
    EXPECT_EQ(wave.vgpr[20].lane[1], 1U);
    set_lds_word(snippets, 0x48, 100);
    run(3, 0xf0f);
    EXPECT_EQ(wave.vgpr[20].lane[9], 100U);
    EXPECT_EQ(wave.vgpr[21].lane[9], 108U);
    EXPECT_EQ(wave.vgpr[20].lane[4], 0U);
    EXPECT_EQ(lds_word(snippets, 0x48), 100U);
    run(4, ~0ULL);
    EXPECT_EQ(lds_word(snippets, 0x104 + 4 * 63), 4U * 63);
    EXPECT_EQ(wave.vgpr[20].lane[5], 4U * 6);
}

TEST(MemoryAtomics, lds_halves) {
    Snippets snippets({"ds_read_u8_d16 v20, v0 offset:1\n ds_read_i8_d16_hi v21, v0 offset:3\n"
                       " ds_read_u16_d16_hi v22, v0 offset:2\n ds_read_i8_d16 v23, v0",
                       "ds_write_b8_d16_hi v0, v4 offset:1\n ds_write_b16_d16_hi v0, v5 offset:2"});
    for (u32 lane = 0; lane < 64; ++lane) {
        set_lds_word(snippets, lane * 4, 0x8180'f0f1U + lane * 0x0101'0101U);
    }
    isa::WaveState wave = prepared(snippets);
    for (unsigned number = 20; number < 24; ++number) {
        wave.vgpr[number].lane.fill(~0U);
    }
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        const u32 word = lds_word(snippets, lane * 4);
        const auto sign = [](u32 byte) { return (byte & 0x80) != 0 ? 0xff00U | byte : byte; };
        ASSERT_EQ(wave.vgpr[20].lane[lane], word >> 8 & 0xff);
        ASSERT_EQ(wave.vgpr[21].lane[lane], sign(word >> 24) << 16);
        ASSERT_EQ(wave.vgpr[22].lane[lane], word & 0xffff'0000);
        ASSERT_EQ(wave.vgpr[23].lane[lane], sign(word & 0xff));
    }
    wave.vgpr[4].lane.fill(0x0056'1234);
    wave.vgpr[5].lane.fill(0x789a'1234);
    const u32 before = lds_word(snippets, 28);
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(lds_word(snippets, 28), 0x789a'5600U | (before & 0xff));
}

// 252 - 4 * lane, as compilers write it.
TEST(MemoryAtomics, lds_addresses_wrap_at_32_bits) {
    Snippets snippets({"v_sub_u32 v2, 0, v0\n ds_write_b32 v2, v0 offset:252\n"
                       " ds_read_b32 v20, v2 offset:252",
                       "v_sub_u32 v2, 0, v0\n ds_read2_b32 v[20:21], v2 offset0:62 offset1:63",
                       "v_sub_u32 v2, 0, v0\n ds_add_rtn_u32 v20, v2, v0 offset:252"});
    isa::WaveState wave = prepared(snippets);
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        ASSERT_EQ(lds_word(snippets, 252 - 4 * lane), 4 * lane);
        ASSERT_EQ(wave.vgpr[20].lane[lane], 4 * lane);
    }
    wave.exec = ~0ULL >> 1; // the last lane's first word is below 0
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 63; ++lane) {
        ASSERT_EQ(wave.vgpr[20].lane[lane], 4 * (lane + 1));
        ASSERT_EQ(wave.vgpr[21].lane[lane], 4 * lane);
    }
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(lds_word(snippets, 252 - 4 * 9), 2U * 4 * 9);
}

TEST(MemoryAtomics, swizzle) {
    // The lane of the lower half that a lane reads. The FFT's orders are the tables of the ISA
    // document.
    struct Pattern {
        const char* offset;
        std::function<u32(u32)> from;
    };
    constexpr u32 fft[] = {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
                           1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31};
    constexpr u32 fft_of_16[] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
    const Pattern patterns[] = {
        {"swizzle(QUAD_PERM, 1, 0, 3, 2)", [](u32 lane) { return lane ^ 1; }},
        {"swizzle(SWAP, 16)", [](u32 lane) { return (lane + 16) % 32; }},
        {"swizzle(REVERSE, 8)", [](u32 lane) { return lane / 8 * 8 + 7 - lane % 8; }},
        {"swizzle(BROADCAST, 8, 3)", [](u32 lane) { return lane / 8 * 8 + 3; }},
        // From 0xc000 on rotations, from 0xe000 on FFT.
        {"0xc0a0", [](u32 lane) { return (lane + 5) % 32; }},
        {"0xc4a0", [](u32 lane) { return (lane + 27) % 32; }},
        {"0xc610", [](u32 lane) { return lane; }}, // by 16, and bit 4 stays
        {"0xc0b8", [](u32 lane) { return lane / 8 * 8 + (lane + 5) % 8; }},
        {"0xe000", [&](u32 lane) { return fft[lane]; }},
        {"0xe010", [&](u32 lane) { return lane / 16 * 16 + fft_of_16[lane % 16]; }},
        {"0xe01f", [](u32 lane) { return lane; }},
    };
    std::vector<std::string> texts;
    for (const Pattern& pattern : patterns) {
        texts.push_back(std::string("ds_swizzle_b32 v20, v0 offset:") + pattern.offset);
    }
    Snippets snippets(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        isa::WaveState wave = prepared(snippets);
        wave.exec = ~(1ULL << 19);
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        for (u32 lane = 0; lane < 64; ++lane) {
            const u32 from = lane / 32 * 32 + patterns[i].from(lane % 32);
            const u32 expected = lane == 19 || from == 19 ? 0 : from * 4;
            ASSERT_EQ(wave.vgpr[20].lane[lane], expected) << texts[i] << ", lane " << lane;
        }
    }
}

TEST(MemoryAtomics, buffers) {
    Snippets snippets({
        "buffer_atomic_add_f32 v20, v1, s[4:7], 0 offen offset:16 sc0",
        "buffer_atomic_pk_add_f16 v20, v1, s[4:7], 0 offen",
        "buffer_atomic_cmpswap_x2 v[20:23], v1, s[4:7], 0 offen sc0",
        "buffer_atomic_umax v20, v0, s[4:7], 0 offen sc0", // lanes beyond the buffer
        ("buffer_load_short_d16_hi v20, v0, s[4:7], 0 offen offset:2\n"
         " buffer_store_short_d16_hi v20, v0, s[4:7], 0 offen"),
        "buffer_load_dwordx4 v[20:23], v0, s[4:7], 0 offen",
        "s_mov_b32 m0, 64\n buffer_load_ubyte v0, s[4:7], 0 offen offset:1 lds",
    });
    const auto word = [&](u32 at) { return snippets.memory.word(data_va + at); };
    const auto set = [&](u32 at, u32 value) { snippets.memory.set_word(data_va + at, value); };
    isa::WaveState wave = prepared(snippets);
    const auto run = [&](std::size_t i) {
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << i << snippets.problem;
    };
    wave.exec = 5;
    set(16, bits(1.5F));
    wave.vgpr[20].lane.fill(bits(0.25F));
    run(0);
    EXPECT_EQ(word(16), bits(2.0F));
    EXPECT_EQ(wave.vgpr[20].lane[2], bits(1.75F));
    set(0, 0x3c00'0000);
    wave.vgpr[20].lane.fill(0x3c00'3c00);
    run(1);
    EXPECT_EQ(word(0), 0x4200'4000U);
    EXPECT_EQ(wave.vgpr[20].lane[0], 0x3c00'3c00U); // no SC0, no return
    set(0, 5);
    set(4, 6);
    wave.vgpr[20].lane.fill(1);
    wave.vgpr[21].lane.fill(2);
    wave.vgpr[22].lane.fill(5);
    wave.vgpr[23].lane.fill(6);
    run(2);
    EXPECT_EQ(word(0), 1U);
    EXPECT_EQ(word(4), 2U);
    EXPECT_EQ(wave.vgpr[21].lane[0], 6U);
    EXPECT_EQ(wave.vgpr[21].lane[2], 2U); // the second lane found the first one's values
    wave.exec = ~0ULL;
    wave.sgpr[6] = 100;
    set(96, 3);
    set(100, 3);
    wave.vgpr[20].lane.fill(9);
    run(3);
    EXPECT_EQ(word(96), 9U);
    EXPECT_EQ(word(100), 3U);
    EXPECT_EQ(wave.vgpr[20].lane[24], 3U);
    EXPECT_EQ(wave.vgpr[20].lane[25], 0U);
    set(40, 0xaaaa'bbbb);
    wave.vgpr[20].lane.fill(0x1111'2222);
    run(4);
    EXPECT_EQ(wave.vgpr[20].lane[10], 0xaaaa'0000U);
    EXPECT_EQ(word(40), 0xaaaa'aaaaU);
    // Dword by dword: the part within the buffer arrives.
    set(92, 7);
    set(96, 8);
    run(5);
    EXPECT_EQ(wave.vgpr[20].lane[23], 7U);
    EXPECT_EQ(wave.vgpr[21].lane[23], 8U);
    EXPECT_EQ(wave.vgpr[22].lane[23], 0U);
    set(12, 0x1234'5678);
    run(6);
    EXPECT_EQ(lds_word(snippets, 64 + 1 + 12), 0x56U);
}

TEST(MemoryAtomics, flat_floats_and_loads_to_lds) {
    Snippets snippets({"global_atomic_pk_add_bf16 v20, v1, v4, s[2:3] sc0",
                       "global_atomic_min_f64 v1, v[4:5], s[2:3]",
                       "s_movk_i32 m0, 0x80\n global_load_lds_ushort v0, s[2:3] offset:2"});
    isa::WaveState wave = prepared(snippets);
    wave.exec = 1;
    snippets.memory.set_word(data_va, 0x3f80'4000);
    wave.vgpr[4].lane.fill(0x3f80'c000);
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.memory.word(data_va), 0x4000'0000U);
    EXPECT_EQ(wave.vgpr[20].lane[0], 0x3f80'4000U);
    const auto low = std::bit_cast<u64>(-2.5);
    snippets.memory.set_word(data_va, 0);
    snippets.memory.set_word(data_va + 4, 0x4000'0000); // 2.0
    wave.vgpr[4].lane.fill(static_cast<u32>(low));
    wave.vgpr[5].lane.fill(static_cast<u32>(low >> 32));
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.memory.word(data_va + 4), static_cast<u32>(low >> 32));
    wave.exec = ~0ULL;
    snippets.memory.set_word(data_va + 4 * 9, 0xfedc'ba98);
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(lds_word(snippets, 0x80 + 2 + 4 * 9), 0xfedcU);
}

TEST(MemoryAtomics, scalar) {
    Snippets snippets({"s_mov_b32 s8, 5\n s_atomic_add s8, s[2:3], 0x10 glc",
                       "s_mov_b64 s[8:9], -1\n s_atomic_add_x2 s[8:9], s[2:3], 0x20",
                       "s_mov_b32 s8, 77\n s_mov_b32 s9, 9\n"
                       " s_atomic_cmpswap s[8:9], s[2:3], 0x30 glc"});
    for (u32 at = 0; at < 64; at += 4) {
        snippets.memory.set_word(data_va + at, 9);
    }
    isa::WaveState wave = prepared(snippets);
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.memory.word(data_va + 0x10), 14U);
    EXPECT_EQ(wave.sgpr[8], 9U);
    snippets.memory.set_word(data_va + 0x20, 0);
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.memory.word(data_va + 0x20), ~0U);
    EXPECT_EQ(snippets.memory.word(data_va + 0x24), 8U); // borrowed
    EXPECT_EQ(wave.sgpr[9], ~0U);                        // no GLC, no return
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.memory.word(data_va + 0x30), 77U);
    EXPECT_EQ(wave.sgpr[8], 9U);
}

} // namespace vgpu::test
