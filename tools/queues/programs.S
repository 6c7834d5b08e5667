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
	.irp	name, count, checksum, stay, whereabouts, gws_init, gws_meet, count_traps
	program	\name
	program	\name, gfx90a
	program	\name, gfx908
	.endr

	.section .note.GNU-stack,"",@progbits
