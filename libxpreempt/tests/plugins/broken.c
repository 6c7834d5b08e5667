/* SPDX-License-Identifier: MIT */
/* Plug-ins that aren't loaded: each is wrong in one field, which a macro sets. */
#include <stddef.h>
#define xp_plugin declared_plugin /* its type there is that of this version */
#include <xpreempt/policy_plugin.h>
#undef xp_plugin

#ifndef ABI
#define ABI XP_PLUGIN_ABI
#endif
#ifndef SIZE
#define SIZE sizeof(struct xp_policy_plugin)
#endif
#ifndef NAME
#define NAME "BROKEN"
#endif
#ifndef STATE
#define STATE 8
#endif
#ifndef DECIDE
#define DECIDE decide
#endif
#ifndef PARAMETER
#define PARAMETER .name = "slice", .value = 1, .least = 0, .most = 2
#endif
#ifndef COUNT
#define COUNT 1
#endif
#ifndef SYMBOL
#define SYMBOL xp_plugin
#endif
#ifndef TAIL
#define TAIL 0
#endif

int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
	       uint8_t *verdicts);

int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
	       uint8_t *verdicts)
{
	(void)snapshot;
	(void)state;
	(void)job_states;
	(void)verdicts;
	return XP_PLUGIN_NEVER;
}

static const struct xp_plugin_parameter parameters[2] = { { PARAMETER }, { PARAMETER } };

/* As a later version may have it. */
struct longer {
	struct xp_policy_plugin plugin;
	uint64_t tail;
};

extern const struct longer SYMBOL;
const struct longer SYMBOL = {
	.plugin = {
		.abi = ABI,
		.size = SIZE,
		.name = NAME,
		.state_bytes = STATE,
		.parameters = parameters,
		.num_parameters = COUNT,
		.decide = DECIDE,
	},
	.tail = TAIL,
};
