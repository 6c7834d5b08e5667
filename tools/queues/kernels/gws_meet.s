/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Meets the other workgroups of its XCC at a barrier of global wave sync, in
 * rounds.
 *
 * One wave per workgroup; each has a 64-byte slot. In each round it writes the
 * round to its slot, waits at the barrier, and reads the slots of the others:
 * all of them must be in this round, or in the next one already. The first
 * workgroup of each XCC comes to a round when the host has opened the gate for
 * it.
 *
 * Arguments: see struct meeting in gws_test.c.
 */
	.include "gfx9.inc"
	.text
	.globl	gws_meet
	.p2align 8
	.type	gws_meet,@function
gws_meet:
	s_load_dwordx4 s[4:7], s[0:1], 0x0	/* slots, gate */
	s_load_dwordx4 s[8:11], s[0:1], 0x10	/* rounds, counter, workgroups, XCCs */
	s_mov_b32 m0, 0
	v_and_b32 v0, 0x3ff, v0
	s_lshl_b32 s13, s2, 6
	v_mov_b32 v3, s13			/* own slot */
	v_mov_b32 v4, 0
	v_mov_b32 v6, 0				/* wrong slots seen by this lane */
	s_mov_b32 s16, 0			/* rounds */
	s_waitcnt lgkmcnt(0)
	s_sub_u32 s12, s11, 1			/* XCCs are a power of two */
	s_and_b32 s12, s2, s12
	v_mul_lo_u32 v1, v0, s11
	v_add_u32 v1, s12, v1			/* a workgroup of this XCC for each lane */
	v_cmp_gt_u32 s[14:15], s10, v1
	v_lshlrev_b32 v2, 6, v1
	v_mov_b32 v10, s9
.Lround:
	s_mov_b64 exec, 1
	s_cmp_ge_u32 s2, s11
	s_cbranch_scc1 .Larrive
.Lgate:
	load_system v7, v4, s[6:7]
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s17, v7
	s_cmp_gt_u32 s17, s16
	s_cbranch_scc1 .Larrive
	s_sleep 8
	s_branch .Lgate
.Larrive:
	s_add_u32 s16, s16, 1
	v_mov_b32 v7, s16
	store_system v3, v7, s[4:5]
	s_waitcnt vmcnt(0)
	ds_gws_barrier v10 gds
	s_waitcnt lgkmcnt(0)
	s_mov_b64 exec, s[14:15]
	load_system v8, v2, s[4:5]
	s_waitcnt vmcnt(0)
	v_subrev_u32 v8, s16, v8
	v_cmp_lt_u32 vcc, 1, v8
	v_addc_co_u32 v6, vcc, 0, v6, vcc
	s_cmp_lt_u32 s16, s8
	s_cbranch_scc1 .Lround
	s_mov_b64 exec, -1
	v_cmp_ne_u32 vcc, 0, v6
	s_or_b32 s17, vcc_lo, vcc_hi
	s_mov_b64 exec, 1
	v_mov_b32 v7, s17
	v_mov_b32 v8, s16
	store_system v3, v7, s[4:5] offset:4
	store_system v3, v8, s[4:5] offset:8
	s_waitcnt vmcnt(0)
	s_endpgm
.Lend:
	.size	gws_meet, .Lend-gws_meet

	descriptor gws_meet, 32, 16, 16, 32
