// SPDX-License-Identifier: MIT
// SMEM, DS, MUBUF and FLAT: addresses, widths, atomics, faults.
#include "tests/isa/snippets.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

namespace vgpu::test {

namespace {

constexpr u64 data_va = FlatMemory::base + 0x10'0000;

void set_pair(isa::WaveState& wave, unsigned sgpr, u64 value) {
    wave.sgpr[sgpr] = static_cast<u32>(value);
    wave.sgpr[sgpr + 1] = static_cast<u32>(value >> 32);
}

// s[2:3] is the data, v0 the lane times 4, v[2:3] data + 16 * lane, v4.. numbered values.
isa::WaveState prepared(Snippets& snippets) {
    isa::WaveState wave = snippets.wave();
    set_pair(wave, 2, data_va);
    for (u32 lane = 0; lane < 64; ++lane) {
        wave.vgpr[0].lane[lane] = lane * 4;
        const u64 va = data_va + lane * 16;
        wave.vgpr[2].lane[lane] = static_cast<u32>(va);
        wave.vgpr[3].lane[lane] = static_cast<u32>(va >> 32);
        for (unsigned reg = 4; reg < 16; ++reg) {
            wave.vgpr[reg].lane[lane] = reg << 16 | lane;
        }
    }
    return wave;
}

void fill(Snippets& snippets, u32 words) {
    std::mt19937 random(17);
    for (u32 i = 0; i < words; ++i) {
        snippets.memory.set_word(data_va + i * 4ULL, static_cast<u32>(random()));
    }
}

} // namespace

TEST(ScalarMemory, loads_stores_and_offsets) {
    Snippets snippets({"s_load_dwordx4 s[8:11], s[2:3], 0x10",
                       "s_load_dwordx16 s[16:31], s[2:3], 0x0",
                       "s_movk_i32 s5, 0x20\n s_load_dword s8, s[2:3], s5",
                       "s_movk_i32 s5, 0x20\n s_load_dword s8, s[2:3], s5 offset:0x8",
                       "s_load_dwordx2 s[8:9], s[2:3], -0x8",
                       "s_mov_b32 s8, 5\n s_mov_b32 s9, 6\n s_store_dwordx2 s[8:9], s[2:3], 0x40",
                       "s_memtime s[8:9]\n s_dcache_wb\n s_dcache_inv"});
    fill(snippets, 64);
    snippets.memory.set_word(data_va - 8, 11);
    const auto run = [&](std::size_t i) {
        isa::WaveState wave = prepared(snippets);
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        return wave;
    };
    const auto word = [&](u32 i) { return snippets.memory.word(data_va + i * 4ULL); };
    EXPECT_EQ(run(0).sgpr[11], word(7));
    EXPECT_EQ(run(1).sgpr[31], word(15));
    EXPECT_EQ(run(2).sgpr[8], word(8));
    EXPECT_EQ(run(3).sgpr[8], word(10));
    EXPECT_EQ(run(4).sgpr[8], 11U);
    run(5);
    EXPECT_EQ(word(16), 5U);
    EXPECT_EQ(word(17), 6U);
    EXPECT_EQ(run(6).sgpr[8], 0x1234U);
}

TEST(ScalarMemory, buffers_check_their_range) {
    Snippets snippets({"s_buffer_load_dwordx4 s[12:15], s[4:7], 0x8",
                       "s_mov_b32 m0, 4\n s_buffer_store_dword s12, s[4:7], m0",
                       "s_buffer_store_dwordx2 s[12:13], s[4:7], 0xc"});
    fill(snippets, 8);
    isa::WaveState wave = prepared(snippets);
    set_pair(wave, 4, data_va);
    wave.sgpr[6] = 16; // bytes
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.sgpr[13], snippets.memory.word(data_va + 12));
    EXPECT_EQ(wave.sgpr[14], 0U);
    wave.sgpr[12] = 1;
    wave.sgpr[13] = 2;
    const u32 behind = snippets.memory.word(data_va + 16);
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended);
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended);
    EXPECT_EQ(snippets.memory.word(data_va + 4), 1U);
    EXPECT_EQ(snippets.memory.word(data_va + 12), 1U);
    EXPECT_EQ(snippets.memory.word(data_va + 16), behind);
}

TEST(GlobalMemory, widths_and_addresses) {
    Snippets snippets({
        "global_load_dwordx4 v[20:23], v[2:3], off",
        "global_load_dwordx3 v[2:4], v[2:3], off offset:4", // over its own address
        "global_load_ubyte v20, v0, s[2:3] offset:1\n global_load_sbyte v21, v0, s[2:3] offset:1\n"
        " global_load_ushort v22, v0, s[2:3] offset:2\n global_load_sshort v23, v0, s[2:3] "
        "offset:2",
        "global_load_dword v20, v0, s[2:3] offset:-16",
        "flat_load_dwordx2 v[20:21], v[2:3] offset:8",
        "global_store_dwordx4 v[2:3], v[4:7], off",
        "global_store_byte v0, v5, s[2:3] offset:2\n global_store_short v0, v6, s[2:3]",
        "global_load_dword a3, v0, s[2:3]\n global_store_dword v0, a3, s[2:3] offset:2048",
        "global_load_short_d16_hi v20, v0, s[2:3]\n global_load_ubyte_d16 v21, v0, s[2:3]",
    });
    const auto byte = [&](u64 va) { return std::to_integer<u32>(*snippets.memory.at(va)); };
    for (std::size_t i = 0; i < 9; ++i) {
        fill(snippets, 2048);
        isa::WaveState wave = prepared(snippets);
        wave.exec = 0xf0f0'ffff'0000'0001;
        const isa::WaveState before = wave;
        const auto word = [&](u64 va) { return snippets.memory.word(va); };
        const u32 untouched = word(data_va + 16 * 20);
        if (i == 3) {
            set_pair(wave, 2, data_va + 64);
        }
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << i << snippets.problem;
        for (u32 lane = 0; lane < 64; ++lane) {
            const u64 at4 = data_va + lane * 4;
            const u64 at16 = data_va + lane * 16;
            const bool on = (before.exec >> lane & 1) != 0;
            const auto reg = [&](unsigned r) { return wave.vgpr[r].lane[lane]; };
            if (!on) {
                EXPECT_EQ(reg(20), before.vgpr[20].lane[lane]);
                continue;
            }
            switch (i) {
            case 0: ASSERT_EQ(reg(23), word(at16 + 12)); break;
            case 1: ASSERT_EQ(reg(4), word(at16 + 12)); break;
            case 2:
                ASSERT_EQ(reg(20), byte(at4 + 1));
                ASSERT_EQ(reg(21), static_cast<u32>(static_cast<std::int8_t>(byte(at4 + 1))));
                ASSERT_EQ(reg(22), word(at4) >> 16);
                ASSERT_EQ(reg(23), static_cast<u32>(static_cast<std::int32_t>(word(at4)) >> 16));
                break;
            case 3: ASSERT_EQ(reg(20), word(data_va + 48 + lane * 4)); break;
            case 4: ASSERT_EQ(reg(21), word(at16 + 12)); break;
            case 5: ASSERT_EQ(word(at16 + 12), 7U << 16 | lane); break;
            case 6: ASSERT_EQ(word(at4) & 0xffffff, lane << 16 | lane); break;
            case 7:
                ASSERT_EQ(wave.vgpr[32 + 3].lane[lane], word(at4));
                ASSERT_EQ(word(at4 + 2048), word(at4));
                break;
            default:
                ASSERT_EQ(reg(20), word(at4) << 16);
                ASSERT_EQ(reg(21), byte(at4));
                break;
            }
        }
        if (i == 5) { // lane 20 is off
            EXPECT_EQ(word(data_va + 16 * 20), untouched);
        }
    }
}

// Lanes that lie one behind the other, over a page's end and within one.
TEST(GlobalMemory, full_waves_side_by_side) {
    Snippets snippets({"global_load_dwordx4 v[20:23], v[2:3], off\n"
                       " global_store_dwordx4 v[2:3], v[4:7], off",
                       "global_load_dword v20, v0, s[2:3]\n global_store_dword v0, v4, s[2:3]"});
    for (const u64 start : {u64{0}, u64{20}, u64{4096 - 512}, u64{4096 - 8}}) {
        for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
            fill(snippets, 4096);
            isa::WaveState wave = prepared(snippets);
            set_pair(wave, 2, data_va + start);
            const u32 lane_bytes = i == 0 ? 16 : 4;
            std::vector<u32> before;
            for (u32 word = 0; word < 64 * lane_bytes / 4; ++word) {
                before.push_back(snippets.memory.word(data_va + start + word * 4));
            }
            for (u32 lane = 0; lane < 64; ++lane) {
                const u64 va = data_va + start + lane * 16;
                wave.vgpr[2].lane[lane] = static_cast<u32>(va);
                wave.vgpr[3].lane[lane] = static_cast<u32>(va >> 32);
            }
            const u32 behind = snippets.memory.word(data_va + start + 64 * lane_bytes);
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
            for (u32 word = 0; word < before.size(); ++word) {
                const u32 lane = word * 4 / lane_bytes;
                const u32 part = word % (lane_bytes / 4);
                ASSERT_EQ(wave.vgpr[20 + part].lane[lane], before[word]) << start << " " << word;
                ASSERT_EQ(snippets.memory.word(data_va + start + word * 4),
                          wave.vgpr[4 + part].lane[lane]);
            }
            EXPECT_EQ(snippets.memory.word(data_va + start + 64 * lane_bytes), behind);
        }
    }
}

TEST(GlobalMemory, atomics_with_and_without_return) {
    Snippets snippets({
        "global_atomic_add v20, v1, v4, s[2:3] sc0",
        "global_atomic_add v1, v4, s[2:3]",
        "global_atomic_umax v20, v1, v4, s[2:3] sc0",
        "global_atomic_add_x2 v[20:21], v1, v[4:5], s[2:3] sc0",
        "global_atomic_cmpswap v20, v1, v[8:9], s[2:3] sc0",
        "global_atomic_swap v20, v1, v4, s[2:3] sc0",
        "global_atomic_inc v20, v1, v8, s[2:3] sc0",
        "flat_atomic_or v20, v[2:3], v4 sc0",
    });
    // All lanes that are on hit the same word (v1 is 0), in lane order.
    const u64 exec = 0x8000'0000'0000'0017; // lanes 0 1 2 4 63
    const auto run = [&](std::size_t i, u32 initial) {
        snippets.memory.set_word(data_va, initial);
        snippets.memory.set_word(data_va + 4, 9);
        isa::WaveState wave = prepared(snippets);
        wave.exec = exec;
        for (u32 lane = 0; lane < 64; ++lane) {
            wave.vgpr[4].lane[lane] = lane + 1;
            wave.vgpr[5].lane[lane] = 0;
            wave.vgpr[8].lane[lane] = lane == 2 ? 55 : 2;
            wave.vgpr[9].lane[lane] = lane == 2 ? 7 : 1000;
        }
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << i << snippets.problem;
        return wave;
    };
    const auto word = [&] { return snippets.memory.word(data_va); };
    const isa::WaveState added = run(0, 100);
    EXPECT_EQ(word(), 100U + 1 + 2 + 3 + 5 + 64);
    EXPECT_EQ(added.vgpr[20].lane[0], 100U);
    EXPECT_EQ(added.vgpr[20].lane[63], 111U);
    EXPECT_EQ(added.vgpr[20].lane[3], 0U); // off
    EXPECT_EQ(run(1, 100).vgpr[20].lane[0], 0U);
    EXPECT_EQ(word(), 175U);
    run(2, 4);
    EXPECT_EQ(word(), 64U);
    EXPECT_EQ(run(3, 0xffffffff).vgpr[21].lane[63], 10U); // carried into the high half
    EXPECT_EQ(snippets.memory.word(data_va + 4), 10U);
    const isa::WaveState swapped = run(4, 7); // only lane 2 compares equal
    EXPECT_EQ(word(), 55U);
    EXPECT_EQ(swapped.vgpr[20].lane[63], 55U);
    EXPECT_EQ(run(5, 7).vgpr[20].lane[63], 5U);
    EXPECT_EQ(word(), 64U);
    run(6, 1); // wraps at 2: 1 -> 2 -> 0 -> (55) 1 -> 2 -> 0
    EXPECT_EQ(word(), 0U);
    snippets.memory.set_word(data_va + 16, 0x100);
    EXPECT_EQ(run(7, 0).vgpr[20].lane[1], 0x100U);
    EXPECT_EQ(snippets.memory.word(data_va + 16), 0x102U);
}

TEST(GlobalMemory, faults_and_page_boundaries) {
    Snippets snippets({"global_load_dwordx4 v[20:23], v[2:3], off",
                       "global_store_dwordx2 v[2:3], v[4:5], off",
                       "s_load_dwordx4 s[8:11], s[2:3], 0x0", "global_atomic_add v[2:3], v4, off",
                       "flat_load_dword v20, v[2:3]"});
    fill(snippets, 8192);
    isa::WaveState wave = prepared(snippets);
    wave.exec = 1;
    const u64 across = data_va + 4096 - 6; // unaligned, over two pages
    wave.vgpr[2].lane[0] = static_cast<u32>(across);
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended);
    u32 expected = 0;
    std::memcpy(&expected, snippets.memory.at(across + 4), 4);
    EXPECT_EQ(wave.vgpr[21].lane[0], expected);
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended);
    std::memcpy(&expected, snippets.memory.at(across), 4);
    EXPECT_EQ(expected, wave.vgpr[4].lane[0]);
    EXPECT_EQ(snippets.run(3, wave), isa::Outcome::memory_fault); // unaligned atomic

    snippets.memory.unmap(data_va + 4096);
    wave.vgpr[20].lane[0] = 77;
    EXPECT_EQ(snippets.run(0, wave), isa::Outcome::memory_fault);
    EXPECT_EQ(wave.vgpr[20].lane[0], 77U); // no half of a load arrives
    set_pair(wave, 2, data_va + 4096 - 8);
    EXPECT_EQ(snippets.run(2, wave), isa::Outcome::memory_fault);
    wave.exec = 0; // no lane, no fault
    EXPECT_EQ(snippets.run(0, wave), isa::Outcome::ended);
}

TEST(GlobalMemory, flat_addresses_in_the_shared_aperture_reach_lds) {
    Snippets snippets({"flat_store_dword v[2:3], v4\n flat_load_dword v20, v[2:3] offset:4"});
    isa::WaveState wave = prepared(snippets);
    for (u32 lane = 0; lane < 64; ++lane) {
        wave.vgpr[2].lane[lane] = lane * 4;
        wave.vgpr[3].lane[lane] = 2U << 16;
    }
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.vgpr[20].lane[5], 4U << 16 | 6);
    u32 in_lds = 0;
    std::memcpy(&in_lds, snippets.lds.data() + 40, 4);
    EXPECT_EQ(in_lds, 4U << 16 | 10);
}

TEST(Lds, widths_offsets_and_limits) {
    Snippets snippets({
        "ds_write_b32 v0, v4 offset:256\n ds_read_b32 v20, v0 offset:256",
        "v_lshlrev_b32 v1, 2, v0\n ds_write_b128 v1, v[4:7]\n ds_read_b128 v[20:23], v1\n"
        " ds_read_b64 v[24:25], v1 offset:8",
        "v_lshlrev_b32 v1, 1, v0\n ds_write2_b32 v1, v4, v5 offset0:1 offset1:0\n"
        " ds_read2_b32 v[20:21], v1 offset0:1 offset1:0",
        "ds_write2st64_b32 v0, v4, v5 offset0:0 offset1:2\n ds_read_b32 v20, v0 offset:512",
        "ds_write_b8 v0, v4 offset:3\n ds_read_u8 v20, v0 offset:3\n ds_read_i16 v21, v0 offset:2",
        "v_add_u32 v1, 0xfff, v0\n ds_write_b32 v1, v4\n ds_read_b32 v20, v1",
        "v_mov_b32 v1, 0\n ds_add_u32 v1, v4\n ds_read_b32 v20, v1",
        "v_mov_b32 v1, 0\n v_mov_b32 v6, 1\n ds_add_rtn_u32 v20, v1, v6",
        "v_lshlrev_b32 v1, 1, v0\n ds_write_b64 v1, v[4:5]\n ds_add_u64 v1, v[6:7]\n"
        " ds_read_b64 v[20:21], v1",
        "v_xor_b32 v1, 4, v0\n ds_bpermute_b32 v20, v1, v4",
        "v_mov_b32 v1, 0\n v_mov_b32 v6, 0\n v_mov_b32 v7, 5\n ds_cmpst_rtn_b32 v20, v1, v6, v7",
    });
    const auto run = [&](std::size_t i) {
        std::fill(snippets.lds.begin(), snippets.lds.end(), std::byte{0});
        isa::WaveState wave = prepared(snippets);
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << i << snippets.problem;
        return wave;
    };
    for (u32 lane = 0; lane < 64; ++lane) {
        const auto value = [&](std::size_t i, unsigned reg) {
            static std::vector<isa::WaveState> done = [&] {
                std::vector<isa::WaveState> all;
                for (std::size_t j = 0; j < 11; ++j) {
                    all.push_back(run(j));
                }
                return all;
            }();
            return done[i].vgpr[reg].lane[lane];
        };
        const u32 v4 = 4U << 16 | lane;
        ASSERT_EQ(value(0, 20), v4);
        ASSERT_EQ(value(1, 23), 7U << 16 | lane);
        ASSERT_EQ(value(1, 24), 6U << 16 | lane);
        ASSERT_EQ(value(2, 20), v4);
        ASSERT_EQ(value(2, 21), 5U << 16 | lane);
        ASSERT_EQ(value(3, 20), 5U << 16 | lane);
        ASSERT_EQ(value(4, 20), lane);
        ASSERT_EQ(value(4, 21), lane << 8);
        // 4096 bytes of LDS: lane 0 still reaches over the end, nothing is stored.
        ASSERT_EQ(value(5, 20), 0U);
        ASSERT_EQ(value(6, 20), 64 * (4U << 16) + 64 * 63 / 2);
        ASSERT_EQ(value(7, 20), lane);
        ASSERT_EQ(value(8, 20), (4U << 16 | lane) + (6U << 16 | lane));
        ASSERT_EQ(value(8, 21), (5U << 16 | lane) + (7U << 16 | lane));
        ASSERT_EQ(value(9, 20), 4U << 16 | (lane ^ 1));
        ASSERT_EQ(value(10, 20), lane == 0 ? 0U : 5U);
    }
}

// As scratch of an MI250: the same dword of all lanes lies together.
TEST(Buffer, swizzled_by_lanes) {
    Snippets snippets({
        "buffer_load_dword v20, off, s[4:7], 0 offset:8",
        "buffer_load_dwordx2 v[20:21], v1, s[4:7], s9 offen offset:4",
        "buffer_load_ushort v20, off, s[4:7], 0 offset:7",
        "buffer_store_dword v4, off, s[4:7], 0 offset:10",
    });
    constexpr u32 records = 64 * 64;
    fill(snippets, records);
    isa::WaveState wave = prepared(snippets);
    set_pair(wave, 4, data_va | 1ULL << 63);
    wave.sgpr[6] = records;
    wave.sgpr[7] = 1U << 23 | 3U << 21; // a lane is an index, 64 of them side by side
    wave.sgpr[9] = 256;
    const auto byte = [&](u32 lane, u32 offset) {
        return snippets.memory.at(data_va + (offset / 4 * 64 + lane) * 4 + offset % 4);
    };
    const auto value = [&](u32 lane, u32 offset, u32 count) {
        u32 all = 0;
        for (u32 i = 0; i < count; ++i) {
            all |= std::to_integer<u32>(*byte(lane, offset + i)) << 8 * i;
        }
        return all;
    };
    for (u32 lane = 0; lane < 64; ++lane) {
        wave.vgpr[1].lane[lane] = lane % 8 * 4;
    }
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        ASSERT_EQ(wave.vgpr[20].lane[lane], value(lane, 8, 4));
    }
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) { // the scalar offset of 256 bytes is one dword of each
        ASSERT_EQ(wave.vgpr[20].lane[lane], value(lane, lane % 8 * 4 + 8, 4));
        ASSERT_EQ(wave.vgpr[21].lane[lane], value(lane, lane % 8 * 4 + 12, 4));
    }
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) { // over the end of a dword
        ASSERT_EQ(wave.vgpr[20].lane[lane], value(lane, 7, 2));
    }
    ASSERT_EQ(snippets.run(3, wave), isa::Outcome::ended) << snippets.problem;
    for (u32 lane = 0; lane < 64; ++lane) {
        ASSERT_EQ(value(lane, 10, 4), 4U << 16 | lane);
    }
}

TEST(Buffer, thread_id_offsets_and_lds_loads_as_the_trap_handler_uses_them) {
    Snippets snippets({
        "buffer_store_dword v4, off, s[4:7], s9 offset:256\n"
        " buffer_load_dword v20, off, s[4:7], s9 offset:256",
        "s_movk_i32 m0, 0x100\n buffer_load_dword off, s[4:7], s9 offset:64 lds",
        "buffer_store_dwordx2 v[4:5], v1, s[4:7], s9 offen\n"
        " buffer_load_dwordx2 v[20:21], v1, s[4:7], s9 offen",
        "buffer_load_ubyte v20, v0, s[4:7], 0 offen\n buffer_load_sshort v21, v0, s[4:7], 0 offen",
        "buffer_load_dword v20, v0, s[4:7], 0 idxen",
    });
    fill(snippets, 1024);
    constexpr u32 add_tid = 0x00807fac;
    isa::WaveState wave = prepared(snippets);
    set_pair(wave, 4, data_va | 4ULL << 48); // stride 4
    wave.sgpr[6] = 0x1000000;
    wave.sgpr[7] = add_tid;
    wave.sgpr[9] = 1024;
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.memory.word(data_va + 1024 + 256 + 63 * 4), 4U << 16 | 63);
    EXPECT_EQ(wave.vgpr[20].lane[63], 4U << 16 | 63);
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    u32 in_lds = 0;
    std::memcpy(&in_lds, snippets.lds.data() + 0x100 + 64 + 9 * 4, 4);
    EXPECT_EQ(in_lds, snippets.memory.word(data_va + 1024 + 64 + 9 * 4));
    wave.sgpr[7] = 0x00058fac & ~(1U << 23);
    for (u32 lane = 0; lane < 64; ++lane) {
        wave.vgpr[1].lane[lane] = lane * 8;
    }
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.memory.word(data_va + 1024 + 63 * 8 + 4), 5U << 16 | 63);
    EXPECT_EQ(wave.vgpr[21].lane[63], 5U << 16 | 63);
    // Raw buffer: bytes beyond the size read 0.
    set_pair(wave, 4, data_va);
    wave.sgpr[6] = 100;
    ASSERT_EQ(snippets.run(3, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.vgpr[20].lane[10], snippets.memory.word(data_va + 40) & 0xff);
    EXPECT_EQ(wave.vgpr[20].lane[25], 0U);
    EXPECT_EQ(wave.vgpr[21].lane[63], 0U);
    // Structured: index times stride, checked in records.
    set_pair(wave, 4, data_va | 8ULL << 48);
    wave.sgpr[6] = 64;
    ASSERT_EQ(snippets.run(4, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.vgpr[20].lane[3], snippets.memory.word(data_va + 12 * 8));
    EXPECT_EQ(wave.vgpr[20].lane[16], 0U);
}

} // namespace vgpu::test
