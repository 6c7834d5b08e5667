/* SPDX-License-Identifier: MIT */
/* The assembled GPU program as data of the host program. */
	.section .rodata
	.irp	target, gfx942, gfx90a, gfx908
	.globl	gpu_spin_\target\()_start
	.globl	gpu_spin_\target\()_end
	.balign	64
gpu_spin_\target\()_start:
	.incbin	"spin.\target\().bin"
gpu_spin_\target\()_end:
	.endr

	.section .note.GNU-stack,"",@progbits
