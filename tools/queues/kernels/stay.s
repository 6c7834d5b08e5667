/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waves that stay until the host says stop: 128 VGPRs each, and as much LDS as the dispatch asks
 * for. What a stop saves is then known, and as large as the host wants it.
 *
 * Workgroups of 512 work items. Each wave has a word in memory that says how far it is: 1, it has
 * filled its registers and its LDS; 2, it saw the stop word and found them as it had left them; 3,
 * it did not.
 *
 * Arguments: see struct stay_args in stay_job.c.
 */
	.include "gfx9.inc"
	.text
	.globl	stay
	.p2align 8
	.type	stay,@function
stay:
	s_load_dwordx4 s[4:7], s[0:1], 0x0	/* words of the waves, stop word */
	s_lshl_b32 s3, s2, 9			/* first work item of this workgroup */
	v_add_u32 v1, s3, v0			/* global id */
	v_lshrrev_b32 v2, 6, v1
	v_lshlrev_b32 v2, 2, v2			/* word of this wave */
	v_mov_b32 v3, 0
	v_lshlrev_b32 v4, 2, v0			/* own LDS word */
	.set	n, 16
	.rept	112
	v_add_u32 v[n], n, v1
	.set	n, n + 1
	.endr
	v_xor_b32 v5, 0x5bd1e995, v1
	ds_write_b32 v4, v5
	s_waitcnt lgkmcnt(0)
	s_mov_b64 exec, 1
	v_mov_b32 v6, 1
	store_system v2, v6, s[4:5]
.Lwait:
	s_sleep	32
	load_system v7, v3, s[6:7]
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s8, v7
	s_cmp_eq_u32 s8, 0
	s_cbranch_scc1 .Lwait

	s_mov_b64 exec, -1
	ds_read_b32 v7, v4
	s_waitcnt lgkmcnt(0)
	v_xor_b32 v8, 0x5bd1e995, v1
	v_xor_b32 v7, v7, v8			/* bits that differ anywhere */
	.set	n, 16
	.rept	112
	v_add_u32 v8, n, v1
	v_xor_b32 v8, v8, v[n]
	v_or_b32 v7, v7, v8
	.set	n, n + 1
	.endr
	v_cmp_ne_u32 vcc, 0, v7
	s_cmp_lg_u64 vcc, 0
	s_cselect_b32 s8, 3, 2
	s_mov_b64 exec, 1
	v_mov_b32 v6, s8
	store_system v2, v6, s[4:5]
	s_waitcnt vmcnt(0)
	s_endpgm
.Lend:
	.size	stay, .Lend-stay

	descriptor stay, 16, 128, 128, 16
