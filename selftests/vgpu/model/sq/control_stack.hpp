// SPDX-License-Identifier: MIT
// The bytes that the CP keeps for a saved queue: all dispatch bookkeeping, nothing else survives.
#pragma once

#include "model/sq/save_area.hpp"
#include "model/sq/wave.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace vgpu::sq {

// Little-endian, version 5. Real hardware's format is private between CP and SPI; so is this one.
//
//   header        24 bytes: magic, version, dispatches, GWS resources, workgroups, waves, checksum,
//                           bytes
//   per dispatch 160 bytes: AQL packet, its index and addresses, program, scratch, counters
//     when COMPUTE_* registers describe it, 76 bytes: user data, id of the first workgroup
//     per saved workgroup  8 bytes: linear id, mask of saved waves, first wave
//       per saved wave     4 bytes: offset in the CWSR area / 64, scratch slot in [31:22]
//   per GWS resource that is in use 4 bytes: as GlobalWaveSync::state() has it
//
// Workgroups are numbered within the XCC's share. One below `next` that isn't listed has ended;
// one from `next` on was never launched.
// The state of GWS belongs to the queue that the process has it for, also while nothing runs there.
// The firmware saves it in a place that isn't public: KFD gives it no memory for it.
// 12 bytes for a wave alone in its workgroup keep a full array within the driver's
// CNTL_STACK_BYTES_PER_WAVE * 40 bytes per CU (kfd_queue.c), as gfx9 has 32 waves per CU.
inline constexpr std::size_t max_dispatches = 4;

using DispatchList = std::deque<std::unique_ptr<Dispatch>>;

// No bytes for no dispatch and no GWS resource. Every workgroup must have left the hardware.
std::vector<std::byte> encode_control_stack(const DispatchList& dispatches,
                                            std::span<const std::uint32_t> gws = {});

// False when the bytes aren't what encode_control_stack() writes; nothing is in `dispatches` and
// `gws` then.
bool decode_control_stack(std::span<const std::byte> bytes, unsigned queue_slot,
                          const WorkgroupShare& share, DispatchList& dispatches,
                          std::vector<std::uint32_t>& gws);

// LDS is allocated in units of 128 dwords; the trap handler saves in steps of that size.
std::uint32_t lds_allocation(std::uint32_t group_segment_bytes);
// Fills geometry, LDS and workgroup count from packet and share. Null, or what is wrong.
const char* prepare_dispatch(Dispatch& dispatch);

} // namespace vgpu::sq
