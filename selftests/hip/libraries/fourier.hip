// SPDX-License-Identifier: MIT
// rocFFT: transforms of lengths with the factors 2, 3, 5 and 7, against the sum that defines them
// in double; and bit for bit its own first round.
#include "status.hpp"

#include <rocfft/rocfft.h>

#include <cmath>
#include <complex>
#include <numbers>

namespace {

using Wave = std::vector<std::complex<float>>;

Wave signal(std::size_t length) {
    Wave wave(length);
    for (std::size_t i = 0; i < length; ++i) {
        const std::uint32_t bits = test::scramble(static_cast<std::uint32_t>(i + length));
        wave[i] = {static_cast<float>(bits & 0xffff) / 65536.0f - 0.5f,
                   static_cast<float>(bits >> 16) / 65536.0f - 0.5f};
    }
    return wave;
}

Wave transformed(const Wave& wave) {
    test::DeviceArray<std::complex<float>> values(wave);
    rocfft_plan plan = nullptr;
    const std::size_t lengths[] = {wave.size()};
    MUST(rocfft_plan_create(&plan, rocfft_placement_inplace, rocfft_transform_type_complex_forward,
                            rocfft_precision_single, 1, lengths, 1, nullptr));
    void* buffers[] = {values.get()};
    MUST(rocfft_execute(plan, buffers, nullptr, nullptr));
    HIP_MUST(hipDeviceSynchronize());
    MUST(rocfft_plan_destroy(plan));
    return values.to_host();
}

void must_be_near(const Wave& got, const Wave& wave) {
    const std::size_t length = wave.size();
    std::vector<std::complex<double>> turns(length);
    for (std::size_t i = 0; i < length; ++i)
        turns[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) /
                                       static_cast<double>(length));
    for (std::size_t k = 0; k < length; ++k) {
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < length; ++i)
            sum += std::complex<double>(wave[i]) * turns[i * k % length];
        const double error = std::abs(std::complex<double>(got[k]) - sum);
        if (error > 1e-4 * std::sqrt(static_cast<double>(length)))
            test::die(1, "value %zu of %zu is wrong by %g", k, length, error);
    }
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("fourier", argc, argv, 2);
    MUST(rocfft_setup());
    test::Digest digest;
    Wave first;
    while (rounds.next()) {
        Wave all;
        for (const std::size_t length : {64u, 105u}) {
            const Wave wave = signal(length);
            const Wave got = transformed(wave);
            must_be_near(got, wave);
            all.insert(all.end(), got.begin(), got.end());
        }
        if (first.empty()) {
            first = all;
            digest.add(first);
        }
        test::must_equal("value of a transform", all, first);
    }
    MUST(rocfft_cleanup());
    return test::passed(rounds, digest, "transforms of 64 and 105 values");
}
