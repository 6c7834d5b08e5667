/* SPDX-License-Identifier: MIT */
/* Guardians: kernels that can be taken back after their launch. For host code and HIP kernels. */
#ifndef XPREEMPT_GUARDIAN_H
#define XPREEMPT_GUARDIAN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A guarded kernel has a parameter of this type, by value, and begins with XP_GUARD():
 *
 *	__global__ void work(float *data, xp_guardian_t guardian)
 *	{
 *		XP_GUARD(guardian);
 *		...
 *	}
 *
 * and is launched by a command with XP_COMMAND_GUARDED. To deactivate the xqueue, the host decides
 * that commands without a started kernel do not run: their kernels return at once, and the resume
 * launches the commands again. A command that has started runs to completion. No work runs twice or
 * in part, so these kernels need not be idempotent.
 *
 * There is one decision for each launch of a command. Either the host or the first wave makes it,
 * and all waves of all kernels of the command follow it. Work in a guarded command that does not
 * check XP_GUARD() would run twice: other kernels, copies, fills and host functions.
 */
typedef struct xp_guardian {
	uint32_t *decision; /* in host memory; null: the command is never taken back */
	uint32_t *copy; /* of the decision, in GPU memory; or null */
	uint32_t launch; /* number of the launch; bits 31:1 of the copy say whose decision it is */
	uint32_t reserved; /* 0 */
} xp_guardian_t;

/* Values of *decision, which changes once per launch. */
#define XP_GUARDIAN_UNDECIDED 0u
#define XP_GUARDIAN_RUN 1u
#define XP_GUARDIAN_SKIP 2u

/**
 * xp_guardian_of_launch() - the guardian of the command that is being launched
 *
 * Call it in a launch function, in the thread that runs it, and pass the guardian to the kernels
 * launched there. It is reused for other commands later. Without XP_COMMAND_GUARDED, or if the
 * library could not allocate one, kernels with this guardian always run. -EINVAL outside a launch
 * function.
 */
int xp_guardian_of_launch(xp_guardian_t *guardian);

#ifdef __cplusplus
}
#endif

#if defined(__HIP__)

#define XP_GUARD(guardian)                                                                         \
	do {                                                                                       \
		if (xp_guardian_skips(guardian))                                                   \
			return;                                                                    \
	} while (0)

/* Makes the decision, or reads the one already made. */
static inline __attribute__((device)) uint32_t xp_guardian_ask(const xp_guardian_t *guardian)
{
	uint32_t decision = XP_GUARDIAN_UNDECIDED;
	uint32_t known;

	if (guardian->copy) {
		known = __hip_atomic_load(guardian->copy, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
		if (known >> 1 == guardian->launch)
			return known & 1u ? XP_GUARDIAN_SKIP : XP_GUARDIAN_RUN;
	}
	if (__hip_atomic_compare_exchange_strong(guardian->decision, &decision, XP_GUARDIAN_RUN,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED,
						 __HIP_MEMORY_SCOPE_SYSTEM))
		decision = XP_GUARDIAN_RUN;
	/* Later waves read the copy and need not access host memory. */
	if (guardian->copy)
		__hip_atomic_store(guardian->copy,
				   guardian->launch << 1 | (decision == XP_GUARDIAN_SKIP),
				   __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	return decision;
}

/* Returns true if the kernel must return at once. One lane asks for its wave. */
static inline __attribute__((device)) int xp_guardian_skips(const xp_guardian_t guardian)
{
	uint32_t decision = XP_GUARDIAN_RUN;
	uint32_t lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));

	if (!guardian.decision)
		return 0;
	if (lane == (uint32_t)__builtin_amdgcn_readfirstlane((int)lane))
		decision = xp_guardian_ask(&guardian);
	return (uint32_t)__builtin_amdgcn_readfirstlane((int)decision) == XP_GUARDIAN_SKIP;
}

#endif /* __HIP__ */

#endif /* XPREEMPT_GUARDIAN_H */
