/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts in memory, once per iteration, until the host says stop.
 *
 * One wave per workgroup; each has a 64-byte slot of its own. The counter is
 * read, incremented and written back in memory, the same count is kept in a
 * register: work done twice or lost makes the two differ. It rests after each 64
 * iterations.
 *
 * Arguments: see struct count_args in jobs.c.
 */
	.include "gfx9.inc"
	.text
	.globl	count
	.p2align 8
	.type	count,@function
count:
	s_load_dwordx4 s[4:7], s[0:1], 0x0	/* counters, results */
	s_load_dwordx2 s[8:9], s[0:1], 0x10	/* stop word */
	s_load_dword s10, s[0:1], 0x18		/* most iterations */
	s_mov_b64 exec, 1
	s_lshl_b32 s11, s2, 6			/* slot of this workgroup */
	v_mov_b32 v0, s11
	v_mov_b32 v1, 0
	s_mov_b32 s12, 0
	s_waitcnt lgkmcnt(0)
.Lloop:
	/* the host reads and writes these words */
	load_system v2, v0, s[4:5]
	load_system v3, v1, s[8:9]
	s_waitcnt vmcnt(0)
	v_add_u32 v2, 1, v2
	store_system v0, v2, s[4:5]
	s_add_u32 s12, s12, 1
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s13, v3
	s_cmp_lg_u32 s13, 0
	s_cbranch_scc1 .Ldone
	rest	s12, 63, s13
	s_cmp_lt_u32 s12, s10
	s_cbranch_scc1 .Lloop
.Ldone:
	v_mov_b32 v2, s12
	store_system v0, v2, s[6:7]
	s_waitcnt vmcnt(0)
	s_endpgm
.Lend:
	.size	count, .Lend-count

	descriptor count, 32, 8, 8, 16
