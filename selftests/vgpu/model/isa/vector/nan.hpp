// SPDX-License-Identifier: MIT
// NaNs as the GPU makes and passes them on, and the extremes that NaNs and zeros complicate.
#pragma once

#include "model/isa/wave_state.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vgpu::isa {

template <typename Value> using Values = std::array<Value, lane_count>;

template <typename F> F quiet(F nan) {
    if constexpr (sizeof(F) == 8) {
        return std::bit_cast<F>(std::bit_cast<std::uint64_t>(nan) | 1ULL << 51);
    } else {
        return std::bit_cast<F>(std::bit_cast<std::uint32_t>(nan) | 1U << 22);
    }
}
template <typename F> bool is_signalling(F value) {
    if constexpr (sizeof(F) == 8) {
        return std::isnan(value) && (std::bit_cast<std::uint64_t>(value) >> 51 & 1) == 0;
    } else {
        return std::isnan(value) && (std::bit_cast<std::uint32_t>(value) >> 22 & 1) == 0;
    }
}

// The GPU's own NaN is positive, x86's is negative; a NaN source goes through, made quiet.
template <typename F, typename... Sources> F gpu_nan(F result, Sources... sources) {
    if (!std::isnan(result)) [[likely]] {
        return result;
    }
    F chosen = std::numeric_limits<F>::quiet_NaN();
    bool found = false;
    ((chosen = !found && std::isnan(sources) ? quiet(sources) : chosen,
      found = found || std::isnan(sources)),
     ...);
    return chosen;
}

template <typename F> bool any_nan(const Values<F>& values) {
    unsigned nans = 0;
    for (const F value : values) {
        nans |= value != value ? 1U : 0U;
    }
    return nans != 0;
}

// The same for all lanes. Results are rarely NaNs: looking for any first is what compilers make
// vector code of.
template <typename F, typename... Sources>
void settle_nans(Values<F>& results, const Sources&... sources) {
    if (!any_nan(results)) [[likely]] {
        return;
    }
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        results[lane] = gpu_nan(results[lane], sources[lane]...);
    }
}

// One NaN gives the other source; -0 is less than +0.
inline constexpr auto minimum = [](auto a, auto b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) ? b : a;
    }
    return a < b || (a == b && std::signbit(a)) ? a : b;
};
inline constexpr auto maximum = [](auto a, auto b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) ? b : a;
    }
    return a > b || (a == b && !std::signbit(a)) ? a : b;
};

// The first signalling NaN made quiet, which is the result under MODE.IEEE; or `otherwise`.
template <typename F, typename... Sources>
F signalling_or(const WaveState& wave, F otherwise, Sources... sources) {
    if ((wave.mode & mode::ieee) == 0) {
        return otherwise;
    }
    bool found = false;
    ((otherwise = !found && is_signalling(sources) ? quiet(sources) : otherwise,
      found = found || is_signalling(sources)),
     ...);
    return otherwise;
}

} // namespace vgpu::isa
