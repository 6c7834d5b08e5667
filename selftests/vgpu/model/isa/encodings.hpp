// SPDX-License-Identifier: MIT
// The instruction formats of MI300 (ISA document, "Microcode Formats"), one function each.
#pragma once

#include "model/isa/execution.hpp"
#include "model/isa/op_table.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace vgpu::isa {

// Each runs the instruction whose first word is in word0; an unknown opcode is `illegal`.
void execute_sop1(Execution& e);
void execute_sop2(Execution& e);
void execute_sopc(Execution& e);
void execute_sopk(Execution& e);
void execute_sopp(Execution& e);
void execute_smem(Execution& e);
// 32-bit encodings of vector ALU instructions, and VOP3, which contains them all.
void execute_vop1(Execution& e);
void execute_vop2(Execution& e);
void execute_vopc(Execution& e);
void execute_vop3(Execution& e);
void execute_vop3p(Execution& e);
void execute_ds(Execution& e);
void execute_mubuf(Execution& e);
void execute_flat(Execution& e);

std::span<const OpName> sop1_names();
std::span<const OpName> sop2_names();
std::span<const OpName> sopc_names();
std::span<const OpName> sopk_names();
std::span<const OpName> sopp_names();
std::span<const OpName> smem_names();
// VOP1, VOP2, VOPC and VOP3: all in VOP3's opcode space (VOPC 0, VOP2 0x100, VOP1 0x140).
std::vector<OpName> vector_names();
std::vector<OpName> vop3p_names();
std::vector<OpName> ds_names();
std::vector<OpName> mubuf_names();
// Without their "flat_", "scratch_" or "global_".
enum class Segment : std::uint8_t { flat = 0, scratch = 1, global = 2 };
std::vector<OpName> flat_names(Segment segment);

} // namespace vgpu::isa
