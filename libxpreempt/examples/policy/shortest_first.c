/* SPDX-License-Identifier: MIT */
/* A policy in one file: on each GPU the job runs whose last work was the shortest. */
#include <stddef.h>
#include <xpreempt/policy_plugin.h>

#define MS INT64_C(1000000) /* in ns */

/*
 * Goal: short requests do not wait for long ones, whatever bands they have.
 * Definition: work lasts from the moment that a job becomes ready until it is idle. A job is as
 * long as its last work, or as its present work if that is longer by now. On each GPU the shortest
 * job runs. A job that was held for `patience` comes first, for a `turn`; so no job starves.
 * Do not use it for jobs that always have work: the longer one runs for a `turn` after each
 * `patience`.
 */

/* In the order of the table at the end. */
enum { PATIENCE, TURN };

struct state {
	int64_t last; /* decision; 0: none yet */
};

struct job_state {
	int64_t ran; /* of the work under way */
	int64_t length; /* of the last work */
	int64_t held_since; /* 0: it is not held */
	int64_t turn_ends; /* 0: it has none */
	uint64_t ready_edges;
	uint64_t runs; /* by the last verdict */
};

static const struct xp_plugin_job *job_at(const struct xp_plugin_snapshot *snapshot, uint64_t i)
{
	return xp_plugin_job_at(snapshot, i);
}

static int64_t length_of(const struct job_state *state)
{
	return state->ran > state->length ? state->ran : state->length;
}

/* Charges the job for the time since the last decision, and ends its work and its turn. */
static void note(const struct xp_plugin_snapshot *snapshot, int64_t passed, uint64_t i,
		 struct job_state *state)
{
	const struct xp_plugin_job *job = job_at(snapshot, i);

	if (state->runs && !job->held && !job->held_by_others)
		state->ran += passed;
	if (!job->ready || job->ready_edges != state->ready_edges) {
		if (state->ran > 0)
			state->length = state->ran;
		state->ran = 0;
		state->turn_ends = 0;
		state->ready_edges = job->ready_edges;
	}
	if (!job->schedulable)
		state->held_since = 0;
	if (state->turn_ends <= snapshot->now)
		state->turn_ends = 0;
	if (state->held_since && snapshot->now - state->held_since >= snapshot->values[PATIENCE])
		state->turn_ends = snapshot->now + snapshot->values[TURN];
	state->runs = 0;
}

/* Whether `a` comes before `b`. Equal jobs stay in the order of the snapshot. */
static int is_before(const struct job_state *a, const struct job_state *b)
{
	if (a->turn_ends && b->turn_ends)
		return a->turn_ends < b->turn_ends;
	if (a->turn_ends || b->turn_ends)
		return a->turn_ends != 0;
	return length_of(a) < length_of(b);
}

/* The first job that has no verdict yet, or num_jobs. */
static uint64_t first_of(const struct xp_plugin_snapshot *snapshot, const struct job_state *states,
			 const uint8_t *verdicts)
{
	uint64_t first = snapshot->num_jobs;

	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		if (job_at(snapshot, i)->schedulable && !states[i].runs &&
		    verdicts[i] == XP_PLUGIN_RUN &&
		    (first == snapshot->num_jobs || is_before(&states[i], &states[first])))
			first = i;
	return first;
}

/* Each job runs if no job before it runs on one of its GPUs. */
static void give_gpus(const struct xp_plugin_snapshot *snapshot, struct job_state *states,
		      uint8_t *verdicts)
{
	uint64_t taken = 0, i;

	while ((i = first_of(snapshot, states, verdicts)) < snapshot->num_jobs) {
		const uint64_t nodes = job_at(snapshot, i)->nodes;

		if (nodes & taken) {
			verdicts[i] = XP_PLUGIN_HOLD;
			if (!states[i].held_since)
				states[i].held_since = snapshot->now;
		} else {
			states[i].runs = 1;
			states[i].held_since = 0;
			taken |= nodes;
		}
	}
}

/* When a turn ends, or a job has waited for long enough. */
static int64_t next_of(const struct xp_plugin_snapshot *snapshot, const struct job_state *states)
{
	int64_t next = XP_PLUGIN_NEVER;

	for (uint64_t i = 0; i < snapshot->num_jobs; i++) {
		int64_t at = states[i].turn_ends;

		if (!at && states[i].held_since)
			at = states[i].held_since + snapshot->values[PATIENCE];
		if (at && at - snapshot->now < next)
			next = at - snapshot->now;
	}
	return next;
}

static int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
		      uint8_t *verdicts)
{
	struct state *own = state;
	struct job_state *states = job_states;
	const int64_t passed = own->last ? snapshot->now - own->last : 0;

	own->last = snapshot->now;
	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		note(snapshot, passed, i, &states[i]);
	give_gpus(snapshot, states, verdicts);
	return next_of(snapshot, states);
}

static const struct xp_plugin_parameter parameters[] = {
	[PATIENCE] = {
		.name = "patience",
		.meaning = "a job that is held for so long comes first",
		.unit = XP_PLUGIN_DURATION,
		.value = 50 * MS,
		.least = 1 * MS,
		.most = 5000 * MS,
	},
	[TURN] = {
		.name = "turn",
		.meaning = "for so long",
		.unit = XP_PLUGIN_DURATION,
		.value = 10 * MS,
		.least = 1 * MS,
		.most = 1000 * MS,
	},
};

const struct xp_policy_plugin xp_plugin = {
	.abi = XP_PLUGIN_ABI,
	.size = sizeof(struct xp_policy_plugin),
	.name = "SHORTEST-FIRST",
	.state_bytes = sizeof(struct state),
	.job_state_bytes = sizeof(struct job_state),
	.parameters = parameters,
	.num_parameters = sizeof(parameters) / sizeof(parameters[0]),
	.decide = decide,
};
