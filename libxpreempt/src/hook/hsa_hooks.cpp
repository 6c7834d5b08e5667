// SPDX-License-Identifier: MIT
// The interposer of ROCr: HIP reserves each AQL packet with this call, in the thread of the HIP
// call.
#include "hook/current_call.hpp"
#include "hook/interposers.hpp"
#include "hook/real.hpp"

#include <cstdint>

extern "C" __attribute__((visibility("default"))) std::uint64_t
hsa_queue_add_write_index_screlease(const void* queue, std::uint64_t value) {
    using namespace xpreempt::hook;
    static constinit RocmNext<std::uint64_t(const void*, std::uint64_t)> next{
        "hsa_queue_add_write_index_screlease", Rocm::hsa};
    const std::uint64_t index = next(__builtin_return_address(0))(queue, value);
    note_reserved(queue, index, value);
    return index;
}

namespace xpreempt::hook {

namespace {
const Interposer row = INTERPOSER_ROW(hsa_queue_add_write_index_screlease);
} // namespace

constinit const InterposerList hsa_interposers{&row, 1};

} // namespace xpreempt::hook
