/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notes for each workgroup which XCC it runs on.
 *
 * One wave per workgroup. It adds 65536 + XCC_ID to its word, so that a
 * workgroup that runs twice or never shows.
 *
 * Argument: address of one word for each workgroup.
 */
	.include "gfx9.inc"
	.text
	.globl	whereabouts
	.p2align 8
	.type	whereabouts,@function
whereabouts:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mov_b64 exec, 1
	xcc_id s6
	s_add_u32 s6, s6, 0x10000
	s_lshl_b32 s7, s2, 2
	v_mov_b32 v0, s7
	v_mov_b32 v1, s6
	s_waitcnt lgkmcnt(0)
	add_system v0, v1, s[4:5]
	s_waitcnt vmcnt(0)
	s_endpgm
.Lend:
	.size	whereabouts, .Lend-whereabouts

	descriptor whereabouts, 8, 8, 8, 16
