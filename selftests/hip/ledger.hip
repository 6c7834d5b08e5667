// SPDX-License-Identifier: MIT
// Atomics as a ledger: each work item signs exactly once in its own counter and in global sums.
#include "check.hpp"

namespace {

constexpr unsigned group_size = 256;
constexpr unsigned groups = 128;
constexpr unsigned items = group_size * groups;
constexpr unsigned steps = 64; // of arithmetic between two signatures

struct Totals {
    std::uint64_t ids;     // sum of the ids
    std::uint64_t before;  // sum of what atomicAdd returned: who came as which
    std::uint32_t arrived; // tickets drawn
    std::uint32_t toggles; // xor of the ids
    std::uint32_t highest;
    std::uint32_t compared; // counted by compare and swap
};

__global__ void sign(std::uint32_t* entered, std::uint32_t* left, std::uint32_t* tickets,
                     Totals* totals, std::uint32_t* state) {
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&entered[id], 1u);

    std::uint32_t x = state[id];
    for (unsigned i = 0; i < steps; ++i)
        x = test::scramble(x + i);
    state[id] = x;

    const std::uint32_t ticket = atomicAdd(&totals->arrived, 1u);
    atomicAdd(&tickets[ticket % items], 1u);
    atomicAdd(reinterpret_cast<unsigned long long*>(&totals->ids), id);
    atomicAdd(reinterpret_cast<unsigned long long*>(&totals->before), ticket % items);
    atomicXor(&totals->toggles, id);
    atomicMax(&totals->highest, id);
    if (id % 64 == 0) {
        std::uint32_t seen = totals->compared;
        std::uint32_t assumed;
        do {
            assumed = seen;
            seen = atomicCAS(&totals->compared, assumed, assumed + 1);
        } while (seen != assumed);
    }
    atomicAdd(&left[id], 1u);
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("ledger", argc, argv, 10);
    test::DeviceArray<std::uint32_t> entered(items);
    test::DeviceArray<std::uint32_t> left(items);
    test::DeviceArray<std::uint32_t> tickets(items);
    test::DeviceArray<std::uint32_t> state(items);
    test::DeviceArray<Totals> totals(1);

    std::vector<std::uint32_t> seeds(items);
    std::vector<std::uint32_t> results(items);
    Totals want{0, 0, items, 0, items - 1, items / 64};
    for (unsigned id = 0; id < items; ++id) {
        seeds[id] = test::scramble(id + 0x10000);
        results[id] = seeds[id];
        for (unsigned i = 0; i < steps; ++i)
            results[id] = test::scramble(results[id] + i);
        want.ids += id;
        want.before += id;
        want.toggles ^= id;
    }
    const std::vector<std::uint32_t> once(items, 1);

    test::Digest digest;
    digest.add(results);
    while (rounds.next()) {
        entered.clear();
        left.clear();
        tickets.clear();
        totals.clear();
        state.copy_from(seeds);
        sign<<<groups, group_size>>>(entered.get(), left.get(), tickets.get(), totals.get(),
                                     state.get());
        LAUNCH_MUST();
        test::must_equal("entries of a work item", entered.to_host(), once);
        test::must_equal("exits of a work item", left.to_host(), once);
        test::must_equal("holders of a ticket", tickets.to_host(), once);
        test::must_equal("state of a work item", state.to_host(), results);
        test::must_equal("totals", totals.to_host(), {want});
    }
    return test::passed(rounds, digest, std::to_string(items) + " work items");
}
