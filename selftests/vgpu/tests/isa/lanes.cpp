// SPDX-License-Identifier: MIT
// Runs lane cases: fills registers, runs, compares every lane.
#include "tests/isa/lanes.hpp"

#include <gtest/gtest.h>

namespace vgpu::test {

namespace {

template <std::size_t count>
u64 mixed(std::mt19937_64& random, const u64 (&special)[count], u64 other) {
    const u64 choice = random();
    return choice % 3 == 0 ? special[choice / 3 % count] : other;
}

u64 one_half(std::mt19937_64& random) {
    static constexpr u64 special[] = {0,      0x8000, 0x3c00, 0xbc00, 0x0001, 0x83ff,
                                      0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
                                      0xfe12, 0x7c01, 0x3800, 0x3555, 0x4248};
    return mixed(random, special, random() & 0xffff);
}

u64 pair(const isa::WaveState& wave, unsigned vgpr, unsigned lane) {
    return wave.vgpr[vgpr].lane[lane] | u64{wave.vgpr[vgpr + 1].lane[lane]} << 32;
}

void set_pair(isa::WaveState& wave, unsigned vgpr, unsigned lane, u64 value) {
    wave.vgpr[vgpr].lane[lane] = static_cast<u32>(value);
    wave.vgpr[vgpr + 1].lane[lane] = static_cast<u32>(value >> 32);
}

} // namespace

u64 random_half(std::mt19937_64& random) {
    const u64 low = one_half(random);
    return low | one_half(random) << 16;
}

u64 random_single(std::mt19937_64& random) {
    static constexpr u64 special[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x00000001,
                                      0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                      0xff800000, 0x7fc00000, 0xffc00123, 0x7f800001, 0x3f000000,
                                      0x3f7fffff, 0x4b000001, 0x4f000000, 0xcf000000, 0x33000000};
    // Exponents near each other make sums interesting.
    const u64 near = (random() & 0x807fffff) | (120 + random() % 16) << 23;
    return mixed(random, special, random() % 2 == 0 ? near : random() & 0xffffffff);
}

u64 random_double(std::mt19937_64& random) {
    static constexpr u64 special[] = {0,
                                      0x8000000000000000,
                                      0x3ff0000000000000,
                                      0xbff0000000000000,
                                      0x0000000000000001,
                                      0x800fffffffffffff,
                                      0x0010000000000000,
                                      0x7fefffffffffffff,
                                      0x7ff0000000000000,
                                      0xfff0000000000000,
                                      0x7ff8000000000000,
                                      0xfff8000000000123,
                                      0x7ff0000000000001,
                                      0x3fe0000000000000,
                                      0x41e0000000000000,
                                      0x47efffffe0000001};
    const u64 near = (random() & 0x800fffffffffffff) | (1016 + random() % 16) << 52;
    return mixed(random, special, random() % 2 == 0 ? near : random());
}

u64 random_integer(std::mt19937_64& random) {
    static constexpr u64 special[] = {0,      1,          31,         0xffffffff, 0x80000000,
                                      0xffff, 0x7fffffff, 0x80007fff, 0x7fff8000, 0xffff0001};
    const u64 high = mixed(random, special, random() & 0xffffffff);
    return high << 32 | mixed(random, special, random() & 0xffffffff);
}

void check_lanes(const std::vector<LaneCase>& cases, const LaneRun& run) {
    std::vector<std::string> texts;
    for (const LaneCase& test : cases) {
        texts.push_back(test.text);
    }
    Snippets snippets(texts, run.isa);
    std::mt19937_64 random(20260101);
    const u64 used = run.wide ? ~u64{0} : 0xffffffff;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        for (unsigned round = 0; round < run.rounds; ++round) {
            isa::WaveState wave = snippets.wave();
            wave.mode = run.mode;
            for (unsigned lane = 0; lane < isa::lane_count; ++lane) {
                for (const unsigned vgpr : {4U, 6U, 8U}) {
                    set_pair(wave, vgpr, lane, run.operand(random));
                }
                set_pair(wave, 2, lane, run.operand(random));
            }
            wave.exec = round % 2 == 0 ? ~u64{0} : random();
            const isa::WaveState before = wave;
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended)
                << cases[i].text << ": " << snippets.problem;
            for (unsigned lane = 0; lane < isa::lane_count; ++lane) {
                const LaneInputs in{pair(before, 4, lane), pair(before, 6, lane),
                                    pair(before, 8, lane), pair(before, 2, lane)};
                const bool on = (before.exec >> lane & 1) != 0;
                const u64 expected = (on ? cases[i].expected(in) : in.old) & used;
                const u64 got = pair(wave, 2, lane) & used;
                ASSERT_TRUE(on ? run.same(got, expected) : got == expected)
                    << cases[i].text << std::hex << " gives " << got << ", not " << expected
                    << ", of " << in.a << ", " << in.b << ", " << in.c << " over " << in.old
                    << (on ? "" : " (lane off)");
            }
        }
    }
}

} // namespace vgpu::test
