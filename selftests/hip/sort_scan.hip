// SPDX-License-Identifier: MIT
// rocPRIM, by itself and through hipCUB and Thrust: sorts, sums of all before, a reduction.
#include "check.hpp"

#include <hipcub/hipcub.hpp>
#include <rocprim/rocprim.hpp>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <algorithm>
#include <numeric>

namespace {

using Words = std::vector<std::uint32_t>;
constexpr std::size_t count = 100003;

// The two calls of these libraries: the first one tells how much memory the second one needs.
template <typename Call> void with_storage(Call call) {
    std::size_t bytes = 0;
    HIP_MUST(call(nullptr, bytes));
    const test::DeviceArray<std::uint8_t> storage(std::max<std::size_t>(bytes, 1));
    HIP_MUST(call(storage.get(), bytes));
    HIP_MUST(hipDeviceSynchronize());
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("sort_scan", argc, argv, 1);
    Words values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = test::scramble(static_cast<std::uint32_t>(i));
    Words sorted = values;
    std::sort(sorted.begin(), sorted.end());
    Words sums(count);
    std::inclusive_scan(values.begin(), values.end(), sums.begin());

    test::DeviceArray<std::uint32_t> in(count);
    test::DeviceArray<std::uint32_t> out(count);
    test::Digest digest;
    digest.add(sorted);
    digest.add(sums);
    while (rounds.next()) {
        in.copy_from(values);
        with_storage([&](void* storage, std::size_t& bytes) {
            return rocprim::radix_sort_keys(storage, bytes, in.get(), out.get(), count);
        });
        test::must_equal("key that rocPRIM sorted", out.to_host(), sorted);
        out.clear();
        with_storage([&](void* storage, std::size_t& bytes) {
            return hipcub::DeviceScan::InclusiveSum(storage, bytes, in.get(), out.get(),
                                                    static_cast<int>(count));
        });
        test::must_equal("sum of hipCUB", out.to_host(), sums);
        const thrust::device_ptr<std::uint32_t> begin(in.get());
        const std::uint32_t total = thrust::reduce(thrust::device, begin, begin + count);
        test::must_equal("total of Thrust", Words{total}, Words{sums.back()});
        thrust::sort(thrust::device, begin, begin + count);
        test::must_equal("key that Thrust sorted", in.to_host(), sorted);
    }
    return test::passed(rounds, digest, "100003 words by rocPRIM, hipCUB, Thrust");
}
