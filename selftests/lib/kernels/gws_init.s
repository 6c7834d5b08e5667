/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Initialises resource 0 of global wave sync on the XCC that it runs on: one
 * workgroup for each XCC.
 *
 * Arguments: see struct meeting in gws_test.c.
 */
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	gws_init
	.p2align 8
	.type	gws_init,@function
gws_init:
	s_load_dword s4, s[0:1], 0x14		/* counter */
	s_mov_b64 exec, 1
	s_mov_b32 m0, 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32 v2, s4
	ds_gws_init v2 gds
	s_waitcnt lgkmcnt(0)
	s_endpgm
.Lend:
	.size	gws_init, .Lend-gws_init

	.rodata
	.p2align 6
	.amdhsa_kernel gws_init
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
