/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notes for each workgroup which XCC it runs on.
 *
 * One wave per workgroup. It adds 65536 + XCC_ID to its word, so that a
 * workgroup that runs twice or never shows.
 *
 * Argument: address of one word for each workgroup.
 */
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	whereabouts
	.p2align 8
	.type	whereabouts,@function
whereabouts:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mov_b64 exec, 1
	s_getreg_b32 s6, hwreg(20)		/* XCC_ID */
	s_add_u32 s6, s6, 0x10000
	s_lshl_b32 s7, s2, 2
	v_mov_b32 v0, s7
	v_mov_b32 v1, s6
	s_waitcnt lgkmcnt(0)
	global_atomic_add v0, v1, s[4:5] sc1
	s_waitcnt vmcnt(0)
	s_endpgm
.Lend:
	.size	whereabouts, .Lend-whereabouts

	.rodata
	.p2align 6
	.amdhsa_kernel whereabouts
		.amdhsa_kernarg_size 8
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
