// SPDX-License-Identifier: MIT
// N bodies with square roots, sines and exponentials: each run bit for bit like the first one.
#include "check.hpp"

#include <cmath>

namespace {

constexpr unsigned bodies = 256;
constexpr unsigned group_size = 64;
constexpr unsigned steps = 6;
constexpr float dt = 1.0f / 64;
// The device's functions may be a few ulp off; what comes of that in a few steps is far below this.
constexpr double tolerance = 1e-3;

struct Body {
    float x, y, z, mass;
    float vx, vy, vz, phase;
};

// The functions under test, in float for the GPU and in double for the host's idea of the result.
struct OnGpu {
    using Real = float;
    static __device__ float root(float x) { return sqrtf(x); }
    static __device__ float inverse_root(float x) { return rsqrtf(x); }
    static __device__ float sine(float x) { return sinf(x); }
    static __device__ float exponential(float x) { return expf(x); }
};

struct OnHost {
    using Real = double;
    static double root(double x) { return std::sqrt(x); }
    static double inverse_root(double x) { return 1 / std::sqrt(x); }
    static double sine(double x) { return std::sin(x); }
    static double exponential(double x) { return std::exp(x); }
};

// One step of one body. Gravity that is screened with distance and swings with time.
template <typename On, typename B>
__host__ __device__ void advance(const B* all, B& body, typename On::Real time) {
    using Real = typename On::Real;
    Real ax = 0;
    Real ay = 0;
    Real az = 0;
    for (unsigned j = 0; j < bodies; ++j) {
        const Real dx = all[j].x - body.x;
        const Real dy = all[j].y - body.y;
        const Real dz = all[j].z - body.z;
        const Real square = dx * dx + dy * dy + dz * dz + Real(0.02);
        const Real inverse = On::inverse_root(square);
        const Real swing = Real(1) + Real(0.25) * On::sine(time * Real(40) + all[j].phase);
        const Real pull =
            all[j].mass * inverse * inverse * inverse * On::exponential(-On::root(square)) * swing;
        ax += dx * pull;
        ay += dy * pull;
        az += dz * pull;
    }
    body.vx += ax * Real(dt);
    body.vy += ay * Real(dt);
    body.vz += az * Real(dt);
    body.x += body.vx * Real(dt);
    body.y += body.vy * Real(dt);
    body.z += body.vz * Real(dt);
}

__global__ void step(const Body* before, Body* after, float time) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    Body body = before[i];
    advance<OnGpu>(before, body, time);
    after[i] = body;
}

std::vector<Body> start() {
    std::vector<Body> all(bodies);
    auto unit = [n = 0u]() mutable {
        return static_cast<float>(test::scramble(++n) & 0xffff) * 0x1p-15f - 1.0f;
    };
    for (Body& body : all)
        body = {unit(), unit(), unit(), unit() * 0.1f + 0.2f,
                unit(), unit(), unit(), unit() * 3000.0f};
    return all;
}

struct DoubleBody {
    double x, y, z, mass, vx, vy, vz, phase;
};

void must_be_physics(const std::vector<Body>& begin, const std::vector<Body>& got) {
    std::vector<DoubleBody> all;
    for (const Body& b : begin)
        all.push_back({b.x, b.y, b.z, b.mass, b.vx, b.vy, b.vz, b.phase});
    for (unsigned n = 0; n < steps; ++n) {
        const std::vector<DoubleBody> before = all;
        for (DoubleBody& body : all)
            advance<OnHost>(before.data(), body, static_cast<double>(n) * dt);
    }
    for (unsigned i = 0; i < bodies; ++i) {
        const double off = std::fabs(all[i].x - got[i].x) + std::fabs(all[i].y - got[i].y) +
                           std::fabs(all[i].z - got[i].z);
        if (!(off < tolerance))
            test::die(1, "body %u is %g away from where it should be", i, off);
    }
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("nbody", argc, argv, 3);
    const std::vector<Body> begin = start();
    test::DeviceArray<Body> even(bodies);
    const test::DeviceArray<Body> odd(bodies);
    std::vector<Body> first;
    test::Digest digest;
    while (rounds.next()) {
        even.copy_from(begin);
        for (unsigned n = 0; n < steps; ++n)
            step<<<bodies / group_size, group_size>>>(n % 2 == 0 ? even.get() : odd.get(),
                                                      n % 2 == 0 ? odd.get() : even.get(),
                                                      static_cast<float>(n) * dt);
        LAUNCH_MUST();
        const std::vector<Body> got = (steps % 2 == 0 ? even : odd).to_host();
        if (first.empty()) {
            must_be_physics(begin, got);
            first = got;
            digest.add(first);
        }
        test::must_equal("body, compared with the first run", got, first);
    }
    return test::passed(rounds, digest,
                        std::to_string(bodies) + " bodies, " + std::to_string(steps) + " steps");
}
