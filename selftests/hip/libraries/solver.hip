// SPDX-License-Identifier: MIT
// rocSOLVER: linear equations by LU and by Cholesky. The solution is near the one they were made
// from, and bit for bit that of the first round.
#include "integers.hpp"

#include <rocsolver/rocsolver.h>

#include <cmath>

namespace {

constexpr int n = 72;
constexpr std::size_t size = n;
using Numbers = std::vector<double>;

// Symmetric, with a diagonal that outweighs the rest: both methods solve it.
Numbers matrix() {
    Numbers values(size * size);
    for (std::size_t row = 0; row < size; ++row)
        for (std::size_t column = 0; column <= row; ++column) {
            const auto bits = test::scramble(static_cast<std::uint32_t>(row * size + column));
            const double value = row == column ? 2.0 * n : (bits % 2001) / 1000.0 - 1.0;
            values[column * size + row] = value;
            values[row * size + column] = value;
        }
    return values;
}

Numbers product(const Numbers& a, const Numbers& x) {
    Numbers b(size, 0.0);
    for (std::size_t column = 0; column < size; ++column)
        for (std::size_t row = 0; row < size; ++row)
            b[row] += a[column * size + row] * x[column];
    return b;
}

void must_be_near(const char* method, const Numbers& got, const Numbers& want) {
    for (std::size_t i = 0; i < size; ++i)
        if (!(std::fabs(got[i] - want[i]) < 1e-10))
            test::die(1, "%s: unknown %zu is %.17g, want %.17g", method, i, got[i], want[i]);
}

Numbers by_lu(const test::Handle& handle, const Numbers& a, const Numbers& b) {
    const test::DeviceArray<double> left(a);
    const test::DeviceArray<double> right(b);
    const test::DeviceArray<rocblas_int> pivots(size);
    const test::DeviceArray<rocblas_int> info(1);
    ROCBLAS_MUST(rocsolver_dgetrf(handle.get(), n, n, left.get(), n, pivots.get(), info.get()));
    ROCBLAS_MUST(rocsolver_dgetrs(handle.get(), rocblas_operation_none, n, 1, left.get(), n,
                                  pivots.get(), right.get(), n));
    HIP_MUST(hipDeviceSynchronize());
    test::must_equal("info of LU", info.to_host(), std::vector<rocblas_int>{0});
    return right.to_host();
}

Numbers by_cholesky(const test::Handle& handle, const Numbers& a, const Numbers& b) {
    const test::DeviceArray<double> left(a);
    const test::DeviceArray<double> right(b);
    const test::DeviceArray<rocblas_int> info(1);
    ROCBLAS_MUST(rocsolver_dposv(handle.get(), rocblas_fill_lower, n, 1, left.get(), n, right.get(),
                                 n, info.get()));
    HIP_MUST(hipDeviceSynchronize());
    test::must_equal("info of Cholesky", info.to_host(), std::vector<rocblas_int>{0});
    return right.to_host();
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("solver", argc, argv, 2);
    const test::Handle handle;
    const Numbers a = matrix();
    Numbers want(size);
    for (std::size_t i = 0; i < size; ++i)
        want[i] = test::scramble(static_cast<std::uint32_t>(i)) % 1000 / 100.0;
    const Numbers b = product(a, want);
    test::Digest digest;
    Numbers first;
    while (rounds.next()) {
        Numbers all = by_lu(handle, a, b);
        must_be_near("LU", all, want);
        const Numbers other = by_cholesky(handle, a, b);
        must_be_near("Cholesky", other, want);
        all.insert(all.end(), other.begin(), other.end());
        if (first.empty()) {
            first = all;
            digest.add(first);
        }
        test::must_equal("unknown", all, first);
    }
    return test::passed(rounds, digest, "72 equations by LU and by Cholesky");
}
