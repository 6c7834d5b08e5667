/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A second-level trap handler, which the driver's own calls: notes TRAPSTS and
 * the PC, counts, clears the hits of address watch and returns to the wave.
 * TTMP14 and 15 have the address of struct trap_log in debugger_test.c.
 */
	.text
	.globl	count_traps
	.p2align 8
	.type	count_traps,@function
count_traps:
	s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
	s_store_dword ttmp2, ttmp[14:15], 0x0 glc
	s_store_dwordx2 ttmp[0:1], ttmp[14:15], 0x8 glc
	s_mov_b32 ttmp3, 1
	s_atomic_add ttmp3, ttmp[14:15], 0x10
	s_mov_b32 ttmp3, 0
	s_setreg_b32 hwreg(HW_REG_TRAPSTS, 7, 1), ttmp3
	s_setreg_b32 hwreg(HW_REG_TRAPSTS, 12, 3), ttmp3
	s_waitcnt lgkmcnt(0)
	s_and_b32 ttmp1, ttmp1, 0xffff
	s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
	s_rfe_b64 ttmp[0:1]
.Lend:
	.size	count_traps, .Lend-count_traps
