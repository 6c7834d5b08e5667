// SPDX-License-Identifier: MIT
// The bytes that the CP keeps for a saved queue: all dispatch bookkeeping, nothing else survives.
#pragma once

#include "model/sq/wave.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace vgpu::sq {

// Dwords, and the order of the waves' data, are as ROCdbgapi reads them of hardware:
//
//   2 dwords of PM4
//   events: what SPI needs beyond the rest, here a header, and for each dispatch its packet,
//           program, scratch, counters, or the COMPUTE_* registers that describe it; GWS
//   for each saved workgroup
//     if it is of another dispatch than the one before: an event with its number, a state dword
//     an event with its linear id, and one with the mask of its saved waves unless it has all
//     for each saved wave a wave dword, an event before it if its scratch slot has more than 9 bits
//
// The first wave of the stack has the last bytes of the area that are in use, and each wave lies
// right below the one before it: a stack, of which a restore takes the waves at the top, and to
// which the next save adds. So no place is stored for a wave.
//
// Workgroups are numbered within the XCC's share. One below `next` that isn't listed has ended;
// one from `next` on was never launched.
// The state of GWS belongs to the queue that the process has it for, also while nothing runs there.
// The firmware saves it in a place that isn't public: KFD gives it no memory for it.
// 8 bytes for a wave alone in its workgroup keep a full array within the driver's
// CNTL_STACK_BYTES_PER_WAVE * 40 bytes per CU (kfd_queue.c), as gfx9 has 32 waves per CU.
// The last wave of a larger workgroup has 12: 38 CUs full of these do not fit, which
// store_control_stack() reports.
inline constexpr std::size_t max_dispatches = 4;

using DispatchList = std::deque<std::unique_ptr<Dispatch>>;

// No bytes for no dispatch and no GWS resource. Every workgroup must have left the hardware.
std::vector<std::byte> encode_control_stack(const DispatchList& dispatches,
                                            std::span<const std::uint32_t> gws = {});

// The waves' data begins at `area` in the CWSR area. False when the bytes aren't what
// encode_control_stack() writes; nothing is in `dispatches` and `gws` then.
bool decode_control_stack(std::span<const std::byte> bytes, unsigned queue_slot,
                          const WorkgroupShare& share, std::uint32_t area, DispatchList& dispatches,
                          std::vector<std::uint32_t>& gws);
// Bytes of the data of all saved waves.
std::uint64_t saved_bytes(const DispatchList& dispatches);

// LDS is allocated in units of 128 dwords; the trap handler saves in steps of that size.
std::uint32_t lds_allocation(std::uint32_t group_segment_bytes);
// Fills geometry, LDS and workgroup count from packet and share. Null, or what is wrong.
const char* prepare_dispatch(Dispatch& dispatch);

} // namespace vgpu::sq
