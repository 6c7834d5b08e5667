/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Initialises resource 0 of global wave sync on the XCC that it runs on: one
 * workgroup for each XCC.
 *
 * Arguments: see struct meeting in gws_test.c.
 */
	.include "gfx9.inc"
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

	descriptor gws_init, 32, 8, 8, 16
