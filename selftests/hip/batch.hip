// SPDX-License-Identifier: MIT
// A batch job: kernels of many steps, one behind the other, and how far it came.
#include "check.hpp"
#include "sequence.hpp"

namespace {

constexpr unsigned group_size = 64;
constexpr unsigned elements = 64 * group_size; // so many waves find room on the smallest vgpu
constexpr unsigned kernels_a_round = 4;        // even: the result is in `even`
constexpr unsigned steps_a_kernel = 40'000;

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("batch", argc, argv, 3);
    const test::Step all = test::jump(std::uint64_t{steps_a_kernel} * kernels_a_round);
    std::vector<std::uint32_t> start(elements);
    std::vector<std::uint32_t> want(elements);
    for (unsigned i = 0; i < elements; ++i) {
        start[i] = test::scramble(i);
        want[i] = all.of(start[i]);
    }
    const test::DeviceArray<std::uint32_t> input(start);
    const test::DeviceArray<std::uint32_t> odd(elements);
    const test::DeviceArray<std::uint32_t> even(elements);

    test::Digest digest;
    while (rounds.next()) {
        for (unsigned n = 0; n < kernels_a_round; ++n) {
            const std::uint32_t* from = n == 0 ? input.get() : (n % 2 == 1 ? odd : even).get();
            test::walk<<<elements / group_size, group_size>>>(from, (n % 2 == 0 ? odd : even).get(),
                                                              steps_a_kernel);
        }
        LAUNCH_MUST();
        const std::vector<std::uint32_t> got = even.to_host();
        test::must_equal("value", got, want);
        if (rounds.count() == 1)
            digest.add(got);
    }
    return test::passed(rounds, digest,
                        std::to_string(rounds.count() * kernels_a_round) + " kernels of " +
                            std::to_string(steps_a_kernel) + " steps");
}
