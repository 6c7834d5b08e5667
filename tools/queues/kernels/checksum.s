/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps state in every kind of place a wave has and mixes it every iteration.
 *
 * VGPRs, AccVGPRs, SGPRs, M0, LDS (exchanged between waves across barriers) and
 * two ledgers in memory, which are read, changed and written back: no iteration
 * can be lost, done twice or done with a wrong register without changing the
 * result. The host computes the same: model_step() in jobs.c.
 *
 * A workgroup ends when its first wave sees the stop word, or after the most
 * iterations; all waves of a workgroup end at the same iteration.
 *
 * It rests after iterations that the arguments choose.
 *
 * Arguments: see struct checksum_args in jobs.c.
 */
	.include "gfx9.inc"

	/* LDS: the stop word at 0, one word per work item from 64 */
	.set	lds_bytes, 64 + 4 * 512

	.text
	.globl	checksum
	.p2align 8
	.type	checksum,@function
checksum:
	s_load_dwordx4 s[4:7], s[0:1], 0x0	/* results, ledger */
	s_load_dwordx4 s[8:11], s[0:1], 0x10	/* progress, stop word */
	s_load_dwordx4 s[12:15], s[0:1], 0x20	/* tickets, most, group size */
	s_load_dword s25, s[0:1], 0x30		/* mask of rests */
	v_readfirstlane_b32 s3, v0		/* first work item of this wave */
	s_waitcnt lgkmcnt(0)

	s_mul_i32 s17, s2, s15
	v_add_u32 v1, s17, v0			/* global id */
	v_lshlrev_b32 v2, 2, v0
	v_add_u32 v2, 64, v2			/* own LDS word */
	v_xor_b32 v3, 64, v0			/* the same lane of another wave */
	v_lshlrev_b32 v3, 2, v3
	v_add_u32 v3, 64, v3			/* its LDS word */
	v_mov_b32 v9, 0
	s_lshl_b32 s18, s2, 6
	v_mov_b32 v10, s18			/* 64-byte slot of this workgroup */
	s_mov_b32 s24, 1664525

	v_add_u32 v4, 0x9e3779b9, v1		/* x */
	v_xor_b32 v6, 0x5bd1e995, v4
	v_accvgpr_write_b32 a0, v6		/* a */
	s_add_u32 s16, s17, s3			/* s */
	s_mov_b32 m0, s16			/* m */
	s_mov_b32 s19, 0			/* i */
	v_lshlrev_b32 v1, 2, v1			/* byte offset of this work item */

	/* Registers that nothing writes until they are summed up at the end. */
	.irp	n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	v_add_u32 v\n, \n, v4
	.endr
	.irp	n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	v_xor_b32 v6, \n, v4
	v_accvgpr_write_b32 a\n, v6
	.endr
	.irp	n, 40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59
	s_add_u32 s\n, s16, \n
	.endr

.Lloop:
	v_mul_lo_u32 v4, v4, s24		/* x = x * 1664525 + s */
	v_add_u32 v4, s16, v4
	v_accvgpr_read_b32 v6, a0		/* a = (a ^ x) + (x >> 7) */
	v_xor_b32 v6, v6, v4
	v_lshrrev_b32 v7, 7, v4
	v_add_u32 v6, v6, v7
	v_accvgpr_write_b32 a0, v6
	s_mul_i32 s16, s16, 5			/* i = i + 1, s = s * 5 + i */
	s_add_u32 s19, s19, 1
	s_add_u32 s16, s16, s19
	s_xor_b32 m0, m0, s16			/* m = m ^ s */

	ds_write_b32 v2, v4
	s_cmp_lg_u32 s3, 0
	s_cbranch_scc1 .Lexchange
	s_mov_b64 exec, 1			/* first wave, first lane */
	load_system v8, v9, s[10:11]
	v_mov_b32 v11, s19
	store_system v10, v11, s[8:9]
	s_waitcnt vmcnt(0)
	ds_write_b32 v9, v8
	s_mov_b64 exec, -1
.Lexchange:
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v7, v3
	ds_read_b32 v8, v9
	s_waitcnt lgkmcnt(0)
	s_barrier
	v_xor_b32 v7, v7, v6			/* x = x + (partner's x ^ a) */
	v_add_u32 v4, v4, v7

	v_and_b32 v7, 1, v4			/* odd lanes: x = x ^ 0xa5a5a5a5 */
	v_cmp_ne_u32 vcc, 0, v7
	s_and_saveexec_b64 s[20:21], vcc
	v_xor_b32 v4, 0xa5a5a5a5, v4
	s_mov_b64 exec, s[20:21]

	load_system v5, v1, s[6:7]
	s_waitcnt vmcnt(0)
	v_lshlrev_b32 v7, 1, v5			/* ledger = ledger * 3 + x */
	v_add_u32 v5, v5, v7
	v_add_u32 v5, v5, v4
	store_system v1, v5, s[6:7]
	s_mov_b64 exec, 1			/* one ticket per wave */
	v_mov_b32 v7, 1
	global_atomic_add v10, v7, s[12:13]
	s_mov_b64 exec, -1
	s_waitcnt vmcnt(0)

	v_readfirstlane_b32 s22, v8
	s_cmp_lg_u32 s22, 0
	s_cbranch_scc1 .Lsum
	rest	s19, s25, s23
	s_cmp_lt_u32 s19, s14
	s_cbranch_scc1 .Lloop

.Lsum:	/* x = x * 1664525 + each of the other places */
	.macro	fold src
	v_mul_lo_u32 v4, v4, s24
	v_add_u32 v4, \src, v4
	.endm
	.irp	n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	fold	v\n
	.endr
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	v_accvgpr_read_b32 v6, a\n
	fold	v6
	.endr
	.irp	n, 40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59
	fold	s\n
	.endr
	fold	s16
	s_mov_b32 s23, m0
	fold	s23
	store_system v1, v4, s[4:5]
	s_waitcnt vmcnt(0)
	s_endpgm
.Lend:
	.size	checksum, .Lend-checksum

	descriptor checksum, 56, 48, 32, 64, lds_bytes
