// SPDX-License-Identifier: MIT
// rocRAND: what its generators draw on the GPU, against the same generators on the CPU.
#include "status.hpp"

#include <rocrand/rocrand.h>

namespace {

constexpr std::size_t count = 60000;

struct Kind {
    const char* name;
    rocrand_rng_type type;
};
constexpr Kind kinds[] = {
    {"xorwow", ROCRAND_RNG_PSEUDO_XORWOW},
    {"mrg32k3a", ROCRAND_RNG_PSEUDO_MRG32K3A},
    {"philox", ROCRAND_RNG_PSEUDO_PHILOX4_32_10},
};

void draw(rocrand_generator generator, std::uint32_t* words, float* fractions) {
    MUST(rocrand_set_seed(generator, 20260901));
    MUST(rocrand_generate(generator, words, count));
    MUST(rocrand_generate_uniform(generator, fractions, count));
    MUST(rocrand_destroy_generator(generator));
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("random_numbers", argc, argv, 1);
    const test::DeviceArray<std::uint32_t> words(count);
    const test::DeviceArray<float> fractions(count);
    std::vector<std::uint32_t> want_words(count);
    std::vector<float> want_fractions(count);
    test::Digest digest;
    while (rounds.next()) {
        digest = {};
        for (const Kind& kind : kinds) {
            rocrand_generator generator = nullptr;
            MUST(rocrand_create_generator_host_blocking(&generator, kind.type));
            draw(generator, want_words.data(), want_fractions.data());
            MUST(rocrand_create_generator(&generator, kind.type));
            draw(generator, words.get(), fractions.get());
            HIP_MUST(hipDeviceSynchronize());
            test::must_equal(kind.name, words.to_host(), want_words);
            test::must_equal(kind.name, fractions.to_host(), want_fractions);
            digest.add(want_words);
            digest.add(want_fractions);
        }
    }
    return test::passed(rounds, digest, "60000 words and fractions of 3 generators");
}
