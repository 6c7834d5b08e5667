/* SPDX-License-Identifier: MIT */
/* The policy RR once more, in C: it must decide as the built-in one does. */
#include <stddef.h>
#include <xpreempt/policy_plugin.h>

#define LONGEST_INTERVAL (24 * 3600 * INT64_C(1000000000))

struct state {
	int64_t last_number;
	int64_t last_time;
	uint64_t started;
};

struct turn {
	int64_t key; /* the lowest is next */
	int64_t used; /* of the quantum */
	uint64_t joins; /* at this decision */
	uint64_t waiting; /* was schedulable at the last decision */
	uint64_t running;
	uint64_t owns_nodes; /* until the quantum is used */
	uint64_t done; /* in one of the loops below */
};

static const struct xp_plugin_job *job_at(const struct xp_plugin_snapshot *snapshot, uint64_t i)
{
	return xp_plugin_job_at(snapshot, i);
}

static int64_t quantum_of(const struct xp_plugin_snapshot *snapshot)
{
	const int64_t least = 20 * snapshot->switch_cost;

	return snapshot->values[0] > least ? snapshot->values[0] : least;
}

static int64_t lap(struct state *state, int64_t now)
{
	int64_t passed = state->started ? now - state->last_time : 0;

	state->last_time = now;
	state->started = 1;
	if (passed < 0)
		return 0;
	return passed < LONGEST_INTERVAL ? passed : LONGEST_INTERVAL;
}

/* Jobs that became schedulable get the next numbers, in the order of ready_since, then of ids. */
static void join(const struct xp_plugin_snapshot *snapshot, struct state *state, struct turn *turns)
{
	for (uint64_t i = 0; i < snapshot->num_jobs; i++)
		turns[i].joins = job_at(snapshot, i)->schedulable && !turns[i].waiting;
	for (;;) {
		uint64_t first = snapshot->num_jobs;

		for (uint64_t i = 0; i < snapshot->num_jobs; i++)
			if (turns[i].joins && (first == snapshot->num_jobs ||
					       job_at(snapshot, i)->ready_since <
						       job_at(snapshot, first)->ready_since))
				first = i;
		if (first == snapshot->num_jobs)
			return;
		turns[first].joins = 0;
		turns[first].key = ++state->last_number;
	}
}

static void charge(const struct xp_plugin_snapshot *snapshot, struct state *state,
		   struct turn *turns, int64_t passed)
{
	for (uint64_t i = 0; i < snapshot->num_jobs; i++) {
		const struct xp_plugin_job *job = job_at(snapshot, i);

		if (turns[i].running && !job->held && !job->held_by_others)
			turns[i].used += passed;
		if (turns[i].used < quantum_of(snapshot))
			continue;
		turns[i].key = ++state->last_number;
		turns[i].used = 0;
		turns[i].owns_nodes = 0;
	}
}

/* Jobs keep the nodes that they own. */
static uint64_t keep_owners(const struct xp_plugin_snapshot *snapshot, struct turn *turns)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < snapshot->num_jobs; i++) {
		const struct xp_plugin_job *job = job_at(snapshot, i);
		struct turn *turn = &turns[i];

		turn->waiting = job->schedulable;
		turn->owns_nodes = turn->owns_nodes && turn->waiting && !(job->nodes & taken);
		turn->running = turn->owns_nodes;
		turn->done = turn->owns_nodes || !turn->waiting;
		if (turn->owns_nodes)
			taken |= job->nodes;
		else if (!turn->waiting)
			turn->used = 0;
	}
	return taken;
}

/* The others follow by key, and run if all their nodes are free. Returns the nodes waited for. */
static uint64_t give_rest(const struct xp_plugin_snapshot *snapshot, struct turn *turns,
			  uint64_t taken, uint8_t *verdicts)
{
	uint64_t wanted = 0;

	for (;;) {
		uint64_t next = snapshot->num_jobs, nodes;

		for (uint64_t i = 0; i < snapshot->num_jobs; i++)
			if (!turns[i].done &&
			    (next == snapshot->num_jobs || turns[i].key < turns[next].key))
				next = i;
		if (next == snapshot->num_jobs)
			return wanted;
		nodes = job_at(snapshot, next)->nodes;
		turns[next].done = 1;
		if (nodes & taken) {
			wanted |= nodes;
			turns[next].used = 0;
			verdicts[next] = XP_PLUGIN_HOLD;
			continue;
		}
		turns[next].running = 1;
		turns[next].owns_nodes = !(nodes & wanted);
		taken |= nodes;
	}
}

static int64_t decide(const struct xp_plugin_snapshot *snapshot, void *state, void *job_states,
		      uint8_t *verdicts)
{
	struct turn *turns = job_states;
	int64_t passed = lap(state, snapshot->now), next = XP_PLUGIN_NEVER;
	uint64_t wanted;

	join(snapshot, state, turns);
	charge(snapshot, state, turns, passed);
	wanted = give_rest(snapshot, turns, keep_owners(snapshot, turns), verdicts);
	for (uint64_t i = 0; i < snapshot->num_jobs; i++) {
		int64_t left = quantum_of(snapshot) - turns[i].used;

		if (turns[i].owns_nodes && (job_at(snapshot, i)->nodes & wanted) && left < next)
			next = left;
	}
	return next;
}

static const struct xp_plugin_parameter parameters[] = {
	{ .name = "quantum", .meaning = "a job runs so long", .unit = XP_PLUGIN_DURATION,
	  .value = 5000000, .least = 100000, .most = 10000000000 },
};

const struct xp_policy_plugin xp_plugin = {
	.abi = XP_PLUGIN_ABI,
	.size = sizeof(struct xp_policy_plugin),
	.name = "TURNS",
	.state_bytes = sizeof(struct state),
	.job_state_bytes = sizeof(struct turn),
	.parameters = parameters,
	.num_parameters = sizeof(parameters) / sizeof(parameters[0]),
	.decide = decide,
};
