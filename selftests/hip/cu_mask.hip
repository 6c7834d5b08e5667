// SPDX-License-Identifier: MIT
// Streams with masks of compute units: each wave records where it runs, from its start to its end.
//
// KFD deals the bits of a mask to the XCCs in turn, and those of an XCC to its shader engines in
// turn (mqd_symmetrically_map_cu_mask() of kfd_mqd_manager.c). The program learns the units from a
// run without a mask.
#include "check.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace {

constexpr unsigned group_size = 64;
constexpr unsigned records = 3; // of a wave
constexpr unsigned work = 1500;

constexpr unsigned whole_register(unsigned id) {
    return 31u << 11 | id;
}

// XCC, shader engine, compute unit.
using Unit = std::tuple<unsigned, unsigned, unsigned>;

__device__ std::uint32_t where() {
    const std::uint32_t hw_id = __builtin_amdgcn_s_getreg(whole_register(4));
#ifdef __gfx942__
    const std::uint32_t xcc = __builtin_amdgcn_s_getreg(whole_register(20)) & 15;
#else
    const std::uint32_t xcc = 0;
#endif
    return xcc << 16 | (hw_id & 0xff00);
}

__global__ void record(std::uint32_t* units, std::uint32_t* values) {
    std::uint32_t value = threadIdx.x;
    for (unsigned n = 0; n < records; ++n) {
        if (threadIdx.x == 0)
            units[blockIdx.x * records + n] = where();
        for (unsigned i = 0; i < work; ++i)
            value = test::scramble(value + i);
    }
    values[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

std::vector<std::uint32_t> expected(unsigned groups) {
    std::vector<std::uint32_t> want(group_size * groups);
    for (unsigned i = 0; i < group_size; ++i) {
        want[i] = i;
        for (unsigned n = 0; n < records * work; ++n)
            want[i] = test::scramble(want[i] + n % work);
    }
    for (unsigned i = group_size; i < want.size(); ++i)
        want[i] = want[i - group_size];
    return want;
}

Unit unit_of(std::uint32_t word) {
    return {word >> 16, word >> 13 & 7, word >> 8 & 15};
}

std::set<Unit> run(hipStream_t stream, unsigned groups) {
    const test::DeviceArray<std::uint32_t> units(groups * records);
    const test::DeviceArray<std::uint32_t> values(std::size_t{groups} * group_size);
    record<<<groups, group_size, 0, stream>>>(units.get(), values.get());
    LAUNCH_MUST();
    HIP_MUST(hipStreamSynchronize(stream));
    test::must_equal("value", values.to_host(), expected(groups));
    std::set<Unit> used;
    for (const std::uint32_t word : units.to_host())
        used.insert(unit_of(word));
    return used;
}

// In the order of a mask's bits.
std::vector<Unit> in_mask_order(const std::set<Unit>& units) {
    std::vector<std::tuple<unsigned, unsigned, Unit>> sorted; // place in the XCC, XCC
    unsigned place = 0;
    std::vector<Unit> of_xcc(units.begin(), units.end());
    std::sort(of_xcc.begin(), of_xcc.end(), [](const Unit& a, const Unit& b) {
        return std::make_tuple(std::get<0>(a), std::get<2>(a), std::get<1>(a)) <
               std::make_tuple(std::get<0>(b), std::get<2>(b), std::get<1>(b));
    });
    for (std::size_t i = 0; i < of_xcc.size(); ++i) {
        place = i > 0 && std::get<0>(of_xcc[i]) == std::get<0>(of_xcc[i - 1]) ? place + 1 : 0;
        sorted.emplace_back(place, std::get<0>(of_xcc[i]), of_xcc[i]);
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<Unit> result;
    for (const auto& [at, xcc, unit] : sorted)
        result.push_back(unit);
    return result;
}

// Some of the units, at random, and at least one of each XCC: another would never end its part of a
// kernel.
std::set<std::size_t> random_bits(const std::vector<Unit>& units, std::uint32_t seed) {
    std::set<std::size_t> bits;
    std::set<unsigned> xccs;
    for (std::size_t i = units.size(); i-- > 0;) {
        const bool chosen = (test::scramble(seed + 1000 * static_cast<std::uint32_t>(i)) & 3) == 0;
        const bool last_chance = i < 8 && xccs.count(std::get<0>(units[i])) == 0;
        if (chosen || last_chance) {
            bits.insert(i);
            xccs.insert(std::get<0>(units[i]));
        }
    }
    return bits;
}

void must_use(const std::vector<Unit>& units, std::uint32_t seed, unsigned groups,
              test::Digest& digest) {
    std::vector<std::uint32_t> mask((units.size() + 31) / 32);
    std::set<Unit> wanted;
    for (const std::size_t bit : random_bits(units, seed)) {
        mask[bit / 32] |= 1u << bit % 32;
        wanted.insert(units[bit]);
    }
    hipStream_t stream{};
    HIP_MUST(hipExtStreamCreateWithCUMask(&stream, static_cast<std::uint32_t>(mask.size()),
                                          mask.data()));
    const std::set<Unit> used = run(stream, groups);
    HIP_MUST(hipStreamDestroy(stream));
    for (const Unit& unit : used) {
        if (wanted.count(unit) == 0)
            test::die(1, "mask 0x%x...: a wave ran on XCC %u, engine %u, unit %u", mask[0],
                      std::get<0>(unit), std::get<1>(unit), std::get<2>(unit));
    }
    if (used != wanted)
        test::die(1, "mask 0x%x...: %zu units ran waves, want %zu", mask[0], used.size(),
                  wanted.size());
    digest.add(mask);
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("cu_mask", argc, argv, 2);
    hipDeviceProp_t properties{};
    HIP_MUST(hipGetDeviceProperties(&properties, 0));
    const auto count = static_cast<unsigned>(properties.multiProcessorCount);
    const unsigned groups = 4 * count;
    const std::vector<Unit> units = in_mask_order(run(nullptr, groups));
    if (units.size() != count)
        test::die(1, "%zu units ran waves of a stream without a mask, want %u", units.size(),
                  count);
    test::Digest digest;
    while (rounds.next()) {
        digest = {};
        for (std::uint32_t seed = 1; seed <= 4; ++seed)
            must_use(units, seed, groups, digest);
    }
    return test::passed(rounds, digest, "compute units of masked streams");
}
