/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts in memory, once per iteration, until the host says stop.
 *
 * One wave per workgroup; each has a 64-byte slot of its own. The counter is
 * read, incremented and written back in memory, the same count is kept in a
 * register: work done twice or lost makes the two differ.
 *
 * Arguments: see struct count_args in jobs.c.
 */
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
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
	/* sc0 sc1: system scope, the host reads and writes these words */
	global_load_dword v2, v0, s[4:5] sc0 sc1
	global_load_dword v3, v1, s[8:9] sc0 sc1
	s_waitcnt vmcnt(0)
	v_add_u32 v2, 1, v2
	global_store_dword v0, v2, s[4:5] sc0 sc1
	s_add_u32 s12, s12, 1
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s13, v3
	s_cmp_lg_u32 s13, 0
	s_cbranch_scc1 .Ldone
	s_cmp_lt_u32 s12, s10
	s_cbranch_scc1 .Lloop
.Ldone:
	v_mov_b32 v2, s12
	global_store_dword v0, v2, s[6:7] sc0 sc1
	s_waitcnt vmcnt(0)
	s_endpgm
.Lend:
	.size	count, .Lend-count

	.rodata
	.p2align 6
	.amdhsa_kernel count
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 16
		.amdhsa_accum_offset 8
	.end_amdhsa_kernel
