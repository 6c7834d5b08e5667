/* SPDX-License-Identifier: MIT */
/* The GPU program as code objects for HIP. */
	.section .rodata
	.irp	target, gfx942, gfx90a, gfx908
	.globl	hip_spin_\target
	.balign	4096
hip_spin_\target:
	.incbin	"spin.\target\().co"
	.endr

	.section .note.GNU-stack,"",@progbits
