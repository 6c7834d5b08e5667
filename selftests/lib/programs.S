/* SPDX-License-Identifier: GPL-2.0-only */
/* The assembled GPU programs as data of the host program. */
	.macro	program name
	.globl	gpu_\name\()_start
	.globl	gpu_\name\()_end
	.balign	64
gpu_\name\()_start:
	.incbin	"\name\().bin"
gpu_\name\()_end:
	.endm

	.section .rodata
	program	count
	program	checksum
	program	whereabouts
	program	gws_init
	program	gws_meet
	program	count_traps

	.section .note.GNU-stack,"",@progbits
