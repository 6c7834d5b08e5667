/* SPDX-License-Identifier: MIT */
/* Guardians: kernels that can be taken back after their launch. For host code and for HIP kernels. */
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
 * that the commands of which no kernel has begun do not run: their kernels return at once when
 * their turn comes, and the commands are launched again after the resume. A command that has begun
 * runs to completion. No work runs twice or in half: such a kernel need not be idempotent.
 *
 * One decision holds for one launch of one command. The host or a wave makes it, whichever comes
 * first, and all waves of all kernels of the command follow it. Hence a kernel without XP_GUARD()
 * in a guarded command would run twice; copies, fills and host functions are such work as well.
 */
typedef struct xp_guardian {
	uint32_t *decision; /* in memory of the host; null: nobody will take the command back */
	uint32_t *copy; /* of the decision, in memory of the GPU; or null */
	uint32_t launch; /* which launch the copy belongs to: it is kept in the bits above bit 0 */
	uint32_t reserved; /* 0 */
} xp_guardian_t;

/* Values of *decision, which changes once for each launch. */
#define XP_GUARDIAN_UNDECIDED 0u
#define XP_GUARDIAN_RUN 1u
#define XP_GUARDIAN_SKIP 2u

/**
 * xp_guardian_of_launch() - the guardian of the command that is being launched
 *
 * For the launch function of a command, in the thread that it was called in, to give to the kernels
 * it launches; later the guardian stands for another command. Without XP_COMMAND_GUARDED, and where
 * no guardian could be had, it is one with which kernels always run. -EINVAL: not in a launch
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

/* Decides, or learns what was decided. */
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
	/* So that only the first waves go to the host for it. */
	if (guardian->copy)
		__hip_atomic_store(guardian->copy,
				   guardian->launch << 1 | (decision == XP_GUARDIAN_SKIP),
				   __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
	return decision;
}

/* True: return at once. One lane asks for its wave. */
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
