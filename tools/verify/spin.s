/* SPDX-License-Identifier: MIT */
/*
 * Work of a fixed length: iterations of some rounds of arithmetic. After each iteration a wave adds
 * 1 to a word of its own in memory.
 *
 * Workgroups of 1024 work items. Kernels of one queue run one after the other and share the
 * words, so the words say at any time how far all of them have come.
 *
 * Arguments: see Load::Shared::Arguments. The metadata at the end are for HIP.
 */
	.include "gfx9.inc"
	.text
	.globl	spin
	.protected	spin
	.p2align 8
	.type	spin,@function
spin:
	s_load_dwordx4 s[4:7], s[0:1], 0x0	/* words of the waves, iterations, rounds */
	v_readfirstlane_b32 s3, v0
	s_lshr_b32 s3, s3, 6			/* wave of the workgroup */
	s_lshl_b32 s8, s2, 4
	s_add_u32 s8, s8, s3
	s_lshl_b32 s8, s8, 2
	v_mov_b32 v1, s8			/* word of this wave */
	v_mov_b32 v3, v0
	s_waitcnt lgkmcnt(0)
	load_system v2, v1, s[4:5]
	s_waitcnt vmcnt(0)
.Literation:
	s_mov_b32 s9, s7
.Lround:
	.rept	16
	v_add_u32 v3, v3, v0
	v_xor_b32 v3, 0x2a, v3
	.endr
	s_sub_u32 s9, s9, 1
	s_cmp_lg_u32 s9, 0
	s_cbranch_scc1 .Lround
	v_add_u32 v2, 1, v2
	s_mov_b64 exec, 1
	store_system v1, v2, s[4:5]
	s_mov_b64 exec, -1
	s_waitcnt vmcnt(0)
	s_sub_u32 s6, s6, 1
	s_cmp_lg_u32 s6, 0
	s_cbranch_scc1 .Literation
	s_endpgm
.Lend:
	.size	spin, .Lend-spin

	descriptor spin, 16, 8, 8, 16

	.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: spin
    .symbol: spin.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.size: 4, .offset: 8, .value_kind: by_value}
      - {.size: 4, .offset: 12, .value_kind: by_value}
	.end_amdgpu_metadata
