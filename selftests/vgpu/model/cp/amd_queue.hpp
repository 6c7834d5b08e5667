// SPDX-License-Identifier: MIT
// Byte offsets in the structures that ROCr shares with the CP, and the codes the CP reports in
// them.
#pragma once

#include <cstdint>

namespace vgpu {

// amd_queue_t (amd_hsa_queue.h of ROCr). The CP is told only where read_dispatch_id is, by
// CP_HQD_PQ_RPTR_REPORT_ADDR; the structure lies around it.
namespace amd_queue {
inline constexpr std::uint64_t caps = 0x28;
inline constexpr std::uint64_t read_dispatch_id = 0x80;
inline constexpr std::uint64_t compute_tmpring_size = 0x8c;
inline constexpr std::uint64_t scratch_resource_descriptor = 0x90;
inline constexpr std::uint64_t scratch_backing_memory_location = 0xa0;
inline constexpr std::uint64_t scratch_wave64_lane_byte_size = 0xb0;
inline constexpr std::uint64_t properties = 0xb4;
inline constexpr std::uint64_t inactive_signal = 0xc0;

// Version 2 (amd_queue_v2_t) only.
inline constexpr std::uint64_t scratch_max_use_index = 0xb8;
inline constexpr std::uint64_t alt_scratch_max_use_index = 0xc8;
inline constexpr std::uint64_t alt_scratch_backing_memory_location = 0xe0;
inline constexpr std::uint64_t alt_scratch_dispatch_limit = 0xe8; // x, y, z
inline constexpr std::uint64_t alt_scratch_wave64_lane_byte_size = 0xf4;
inline constexpr std::uint64_t alt_compute_tmpring_size = 0xf8;
inline constexpr std::uint64_t scratch_last_used_index = 0x100; // of each XCC: main, alternate
inline constexpr std::uint64_t last_used_stride = 16;

inline constexpr unsigned cap_cp_async_reclaim = 0;      // bits of `caps`
inline constexpr unsigned cap_sw_async_reclaim = 1;      // the structure is of version 2
inline constexpr unsigned property_enable_profiling = 3; // bits of `properties`
inline constexpr unsigned property_use_scratch_once = 4;

// ROCr expects cap_cp_async_reclaim from this version of the MEC firmware on.
inline constexpr std::uint32_t async_reclaim_firmware = 177;
} // namespace amd_queue

// amd_signal_t (amd_hsa_signal.h of ROCr).
namespace amd_signal {
inline constexpr std::uint64_t value = 0x08;
inline constexpr std::uint64_t event_mailbox = 0x10;
inline constexpr std::uint64_t event_id = 0x18;
inline constexpr std::uint64_t start_ts = 0x20;
inline constexpr std::uint64_t end_ts = 0x28;
} // namespace amd_signal

// Why a queue stopped: the value of its inactive signal, as ROCr's handler of queue events reads
// it, and the exception code (enum kfd_dbg_trap_exception_code) of the CP_BAD_OPCODE interrupt.
// No exception code: the queue makes a request and continues once the signal is 0 again.
struct QueueError {
    std::uint32_t signal_value = 0;
    std::uint32_t exception_code = 0;
};
inline constexpr QueueError needs_scratch{0x1, 0};
inline constexpr QueueError scratch_to_reclaim{0x200, 0};
inline constexpr QueueError bad_dimensions{0x2, 16};
inline constexpr QueueError bad_group_segment{0x4, 17};
inline constexpr QueueError bad_code{0x8, 18};
inline constexpr QueueError bad_packet{0x20, 20};
inline constexpr QueueError bad_workgroup{0x40, 21};
inline constexpr QueueError bad_vendor_packet{0x100, 23};

} // namespace vgpu
