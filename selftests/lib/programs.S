/* SPDX-License-Identifier: GPL-2.0-only */
/* The assembled GPU programs as data of the host program. */
	.macro	program name, target
	.globl	gpu_\name\target\()_start
	.globl	gpu_\name\target\()_end
	.balign	64
gpu_\name\target\()_start:
	.ifb	\target
	.incbin	"\name\().bin"
	.else
	.incbin	"\name\().\target\().bin"
	.endif
gpu_\name\target\()_end:
	.endm

	.section .rodata
	program	count
	program	count, gfx90a
	program	count, gfx908
	program	checksum
	program	checksum, gfx90a
	program	checksum, gfx908
	program	stay
	program	stay, gfx90a
	program	stay, gfx908
	program	whereabouts
	program	gws_init
	program	gws_meet
	program	count_traps

	.section .note.GNU-stack,"",@progbits
