// SPDX-License-Identifier: MIT
// Scratch of waves: each has its own, no more than the queue's ring has, across saves.
#include "model/sq/program.hpp"
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace vgpu::test {

namespace {

constexpr std::uint64_t ring_va = FlatMemory::base + 0x40'0000;
constexpr std::uint32_t wave_bytes = 4096; // 64 bytes a lane
constexpr unsigned groups = 6;
constexpr unsigned group_items = 128;

// On an MI300X the wave finds its scratch in FLAT_SCRATCH. On an older GPU it makes that, and a
// buffer resource, of what it gets in SGPRs.
constexpr unsigned older_properties = sq::property::private_segment_buffer |
                                      sq::property::kernarg_segment_ptr |
                                      sq::property::flat_scratch_init;
const std::string older_prologue = R"(
        s_add_u32 flat_scratch_lo, s6, s9
        s_addc_u32 flat_scratch_hi, s7, 0
        s_add_u32 s12, s0, s9
        s_addc_u32 s13, s1, 0
        s_mov_b64 s[14:15], s[2:3]
        s_mov_b64 s[0:1], s[4:5]
)";

// Each work-item keeps eight numbers in its private memory and mixes them, by SCRATCH and by FLAT
// instructions, on older GPUs by MUBUF as well; the wave's FLAT_SCRATCH goes out, too.
std::string mixing_kernel(isa::Isa isa) {
    const bool older = isa != isa::Isa::gfx942;
    const std::string load =
        older ? "buffer_load_dword v6, v3, s[12:15], 0 offen" : "scratch_load_dword v6, v3, off";
    return (older ? older_prologue : "") + R"(
        s_load_dwordx2 s[16:17], s[0:1], 0x0
        s_load_dword s18, s[0:1], 0x8
        v_and_b32_e32 v0, 0x3ff, v0
        s_lshl_b32 s22, s8, 7
        v_add_u32_e32 v1, s22, v0              ; number of the work-item
        v_mov_b32_e32 v2, v1
        s_movk_i32 s33, 0
    init:
        scratch_store_dword off, v2, s33
        v_add_u32_e32 v2, 0x3021, v2
        s_add_u32 s33, s33, 4
        s_cmp_lg_u32 s33, 32
        s_cbranch_scc1 init
        s_mov_b64 s[24:25], src_private_base
        v_mov_b32_e32 v5, s25
    loop:
        v_add_u32_e32 v3, s18, v1
        v_and_b32_e32 v3, 7, v3
        v_lshlrev_b32_e32 v3, 2, v3            ; private address
)" + load + R"(
        v_xor_b32_e32 v4, 4, v3
        flat_load_dword v7, v[4:5]
        v_mul_lo_u32 v6, v6, 3
        v_add3_u32 v6, v6, v7, s18
        scratch_store_dword v3, v6, off
        s_sub_u32 s18, s18, 1
        s_cmp_lg_u32 s18, 0
        s_cbranch_scc1 loop
        s_movk_i32 s33, 0
        scratch_load_dwordx4 v[8:11], off, s33
        scratch_load_dwordx4 v[12:15], off, s33 offset:16
        v_xor_b32_e32 v8, v8, v9
        v_xor_b32_e32 v10, v10, v11
        v_xor_b32_e32 v12, v12, v13
        v_xor_b32_e32 v14, v14, v15
        v_xor_b32_e32 v8, v8, v10
        v_xor_b32_e32 v12, v12, v14
        v_xor_b32_e32 v8, v8, v12
        v_lshlrev_b32_e32 v1, 3, v1
        v_mov_b32_e32 v9, flat_scratch_lo
        global_store_dwordx2 v1, v[8:9], s[16:17]
        s_endpgm
    )";
}

std::uint32_t expected(std::uint32_t item, std::uint32_t iterations) {
    std::array<std::uint32_t, 8> a{};
    for (std::uint32_t i = 0; i < 8; ++i) {
        a[i] = item + i * 0x3021;
    }
    for (std::uint32_t i = iterations; i != 0; --i) {
        const std::uint32_t at = (item + i) % 8;
        a[at] = a[at] * 3 + a[at ^ 1] + i;
    }
    std::uint32_t sum = 0;
    for (const std::uint32_t value : a) {
        sum ^= value;
    }
    return sum;
}

class Mixing {
public:
    Mixing(isa::Isa isa, std::uint32_t iterations, std::uint32_t ring_waves)
        : gpu({.isa = isa}), iterations_(iterations) {
        static const std::map<isa::Isa, std::vector<std::uint32_t>> code{
            {isa::Isa::gfx908, assemble(mixing_kernel(isa::Isa::gfx908), isa::Isa::gfx908)},
            {isa::Isa::gfx90a, assemble(mixing_kernel(isa::Isa::gfx90a), isa::Isa::gfx90a)},
            {isa::Isa::gfx942, assemble(mixing_kernel(isa::Isa::gfx942))}};
        Kernel kernel;
        kernel.code = code.at(isa);
        kernel.scratch = true;
        if (isa != isa::Isa::gfx942) {
            kernel.properties = older_properties;
        }
        gpu.load_trap_handler();
        gpu.load_kernel(kernel);
        gpu.array().bind(gpu.queue());
        dispatch(3, ring_waves, groups);
    }
    // Each dispatch has arguments and results of its own.
    void dispatch(std::uint64_t index, std::uint32_t ring_waves, unsigned group_count) {
        const std::uint64_t kernarg = Gpu::kernarg_va + index * 64;
        const std::uint64_t output = output_va(index);
        gpu.memory.set_word(kernarg, static_cast<std::uint32_t>(output));
        gpu.memory.set_word(kernarg + 4, static_cast<std::uint32_t>(output >> 32));
        gpu.memory.set_word(kernarg + 8, iterations_);
        Grid grid;
        grid.x = group_count * group_items;
        grid.group_x = group_items;
        AqlDispatch aql = gpu.packet(grid, Gpu::code_va, index);
        aql.packet[6] = 40;
        aql.packet[10] = static_cast<std::uint32_t>(kernarg);
        aql.scratch = {ring_va, ring_waves, wave_bytes, resource(ring_waves)};
        EXPECT_TRUE(gpu.array().dispatch(0, aql));
        items_[index] = group_count * group_items;
    }
    void expect_right_results() {
        ASSERT_EQ(gpu.failed_waves, 0U);
        ASSERT_TRUE(gpu.unmodelled_texts.empty()) << gpu.unmodelled_texts[0];
        std::sort(gpu.completed.begin(), gpu.completed.end());
        std::vector<std::uint64_t> all;
        for (const auto& [index, items] : items_) {
            all.push_back(index);
            for (std::uint32_t item = 0; item < items; ++item) {
                ASSERT_EQ(gpu.memory.word(output_va(index) + item * 8), expected(item, iterations_))
                    << "work-item " << item << " of packet " << index;
            }
        }
        ASSERT_EQ(gpu.completed, all);
    }
    // FLAT_SCRATCH of each wave, as it says itself.
    std::vector<std::uint32_t> places() {
        std::vector<std::uint32_t> all;
        for (std::uint32_t item = 0; item < groups * group_items; item += 64) {
            const std::uint64_t va = output_va(3) + item * 8 + 4;
            all.push_back(gpu.memory.word(va) - static_cast<std::uint32_t>(ring_va));
        }
        return all;
    }
    Gpu gpu;

private:
    // Swizzled, 64 lanes side by side, each with an index of its own.
    static std::array<std::uint32_t, 4> resource(std::uint32_t ring_waves) {
        return {static_cast<std::uint32_t>(ring_va),
                static_cast<std::uint32_t>(ring_va >> 32) | 1U << 31, ring_waves * wave_bytes,
                1U << 23 | 3U << 21};
    }
    static std::uint64_t output_va(std::uint64_t index) { return Gpu::data_va + index * 0x4000; }

    std::uint32_t iterations_;
    std::map<std::uint64_t, std::uint32_t> items_; // of each packet
};

} // namespace

class WaveScratch : public testing::TestWithParam<isa::Isa> {};
INSTANTIATE_TEST_SUITE_P(EachIsa, WaveScratch,
                         testing::Values(isa::Isa::gfx908, isa::Isa::gfx90a, isa::Isa::gfx942));

TEST_P(WaveScratch, every_wave_has_its_own) {
    Mixing run(GetParam(), 5, 64);
    run.gpu.run_all();
    run.expect_right_results();
    std::set<std::uint32_t> different;
    for (const std::uint32_t place : run.places()) {
        EXPECT_EQ(place % wave_bytes, 0U);
        EXPECT_LT(place, 12 * wave_bytes);
        different.insert(place);
    }
    EXPECT_EQ(different.size(), 12U); // all of them ran together
}

TEST_P(WaveScratch, a_small_ring_is_shared_one_workgroup_after_the_other) {
    for (const std::uint32_t waves : {2U, 3U, 4U, 5U}) {
        Mixing run(GetParam(), 5, waves);
        run.gpu.run_all();
        run.expect_right_results();
        for (const std::uint32_t place : run.places()) {
            EXPECT_LT(place, waves * wave_bytes);
        }
    }
}

TEST_P(WaveScratch, a_ring_that_no_workgroup_fits_is_an_error) {
    Mixing run(GetParam(), 5, 1);
    run.gpu.run_all();
    EXPECT_TRUE(run.gpu.completed.empty());
    ASSERT_EQ(run.gpu.unmodelled_texts.size(), 1U);
}

TEST_P(WaveScratch, survives_a_save_at_every_instruction) {
    Mixing undisturbed(GetParam(), 2, 5);
    const std::uint64_t instructions = undisturbed.gpu.run_all();
    undisturbed.expect_right_results();
    for (std::uint64_t k = 0; k < instructions; k += 3) {
        Mixing run(GetParam(), 2, 5);
        run.gpu.array().run(k);
        ASSERT_TRUE(run.gpu.save_and_restore()) << k;
        run.gpu.run_all();
        run.expect_right_results();
        if (testing::Test::HasFatalFailure()) {
            FAIL() << "after instruction " << k;
        }
    }
}

// Waves that come back have the places they left, whoever came in between.
TEST_P(WaveScratch, a_new_dispatch_leaves_the_places_of_saved_waves_alone) {
    constexpr std::uint32_t ring_waves = 14; // 12 for the first dispatch: 2 are left
    Mixing undisturbed(GetParam(), 9, ring_waves);
    const std::uint64_t instructions = undisturbed.gpu.run_all();
    for (std::uint64_t k = 0; k < instructions; k += 41) {
        Mixing run(GetParam(), 9, ring_waves);
        run.gpu.array().run(k);
        run.dispatch(4, ring_waves, 2);
        run.gpu.array().run(k % 97);
        ASSERT_TRUE(run.gpu.save_and_restore()) << k;
        run.dispatch(5, ring_waves, 3); // before any saved wave has run
        run.gpu.array().run(k % 389);
        ASSERT_TRUE(run.gpu.save_and_restore()) << k;
        run.gpu.run_all();
        run.expect_right_results();
        if (testing::Test::HasFatalFailure()) {
            FAIL() << "after instruction " << k;
        }
    }
}

TEST_P(WaveScratch, many_saves_in_a_row) {
    Mixing run(GetParam(), 120, 6);
    std::mt19937_64 random(3);
    unsigned saves = 0;
    while (run.gpu.completed.empty() && saves < 500) {
        run.gpu.array().run(random() % 3000);
        ASSERT_TRUE(run.gpu.save_and_restore());
        ++saves;
    }
    EXPECT_GT(saves, 10U);
    run.expect_right_results();
}

} // namespace vgpu::test
