// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that give their VRAM to each other, many times, and what goes wrong while memory
 * moves. Needs a small VRAM (vramlimit=128 or 256); takes COUNT (of turns, 20) and SEED from the environment.
 */
#include "gpu_fault.h"
#include "random.h"
#include "yield.h"

/* SEED, or the clock. */
static struct random seeded(void)
{
	uint64_t seed = number_from_environment("SEED", now_ns());
	struct random random;

	printf("# SEED=%" PRIu64 "\n", seed);
	random_init(&random, seed, 0);
	return random;
}

enum victim { OPERATOR_DIES, OWNER_DIES };

/* Some of the memory of a process, which was all in VRAM in the ledger `before`, has left it. */
static bool memory_moves(struct kfd_device *dev, const struct hoard *hoard,
			 const struct ledger *before)
{
	uint64_t vram = ledger_read(dev).vram;

	return vram > before->vram && vram < before->vram + hoard->bytes;
}

/* At a random time while memory of a process moves. Returns whether it still did. */
static bool kill_while_memory_moves(struct __test_metadata *_metadata, struct kfd_device *dev,
				    struct hoard *hoard, enum victim victim, struct random *random)
{
	const struct ledger before = ledger_read(dev);
	pid_t operator = fork();
	bool moves, ended = false;
	int fd;

	if (!operator) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = kfd_open();
		_exit(switch_preempt(fd, hoard->pid, YIELD | KFD_PREEMPT_SWITCH_STICKY,
				     hoard->queue_id) ? 1 : 0);
	}
	ASSERT_LT(0, operator);
	while (!memory_moves(dev, hoard, &before) && !ended)
		ended = waitpid(operator, NULL, WNOHANG) == operator;
	sleep_us(random_below(random, 40000));
	moves = memory_moves(dev, hoard, &before);
	if (victim == OWNER_DIES)
		hoard_kill(hoard);
	else if (!ended)
		kill(operator, SIGKILL);
	if (!ended)
		waitpid(operator, NULL, 0);
	if (victim == OPERATOR_DIES)
		EXPECT_EQ(0, hoard_order(hoard, HOARD_CHECK));
	return moves;
}

TEST_F_TIMEOUT(yield, an_operator_dies_while_memory_moves, 1800)
{
	struct random random = seeded();
	unsigned int round, met = 0;

	ASSERT_EQ(0, hoard_start(&self->a, MOST * 4, 2 * MIB));
	for (round = 0; round < 10; round++) {
		met += kill_while_memory_moves(_metadata, &self->dev, &self->a, OPERATOR_DIES,
					       &random);
		ASSERT_EQ(0, switch_resume(self->dev.kfd_fd, self->a.pid,
					   KFD_PREEMPT_SWITCH_STICKY, self->a.queue_id));
		ASSERT_EQ(0, status_of(&self->dev, &self->a).yielded_bytes);
	}
	printf("# %u of 10 operators were killed while memory moved\n", met);
	EXPECT_LT(0, met);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, a_process_dies_while_its_memory_moves, 1800)
{
	struct random random = seeded();
	unsigned int round, met = 0;

	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, hoard_start(&self->a, MOST * 4, 2 * MIB));
		met += kill_while_memory_moves(_metadata, &self->dev, &self->a, OWNER_DIES, &random);
		ASSERT_TRUE(is_as_before(&self->dev, &self->before));
	}
	printf("# %u of 5 owners were killed while memory moved\n", met);
	EXPECT_LT(0, met);
}

/* The driver waits ten seconds for its ring of SDMA, and resets the GPU. The queues are lost. */
static void expect_reset(struct __test_metadata *_metadata, FIXTURE_DATA(yield) *self, bool leave)
{
	int fault, ret;

	ASSERT_EQ(0, hoard_start(&self->a, MOST / 2, BUFFER_BYTES));
	if (!leave)
		ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	fault = gpu_fault_arm("kernel-sdma-stuck");
	ASSERT_LE(0, fault);
	ret = leave ? stop(&self->dev, &self->a, YIELD) : start(&self->dev, &self->a);
	EXPECT_EQ(-EIO, ret);
	EXPECT_EQ(1, gpu_fault_hits(fault));
	EXPECT_EQ(KFD_PREEMPT_STATE_DEAD, status_of(&self->dev, &self->a).state);
	hoard_kill(&self->a);
	EXPECT_TRUE(is_as_before(&self->dev, &self->before));

	ASSERT_EQ(0, hoard_start(&self->b, MOST / 2, BUFFER_BYTES));
	EXPECT_EQ(0, stop(&self->dev, &self->b, YIELD));
	EXPECT_EQ(0, hoard_order(&self->b, HOARD_CHECK));
	EXPECT_EQ(0, start(&self->dev, &self->b));
	EXPECT_EQ(0, hoard_order(&self->b, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->b));
}

TEST_F_TIMEOUT(yield, a_copy_out_that_never_ends_costs_the_queues, 900)
{
	expect_reset(_metadata, self, true);
}

TEST_F_TIMEOUT(yield, a_copy_back_that_never_ends_costs_the_queues, 900)
{
	expect_reset(_metadata, self, false);
}

/* One of two processes has the VRAM. */
TEST_F_TIMEOUT(yield, no_word_is_lost_in_many_turns, 7200)
{
	unsigned int turns = (unsigned int)number_from_environment("COUNT", 20), turn;
	struct hoard *out = &self->a, *in = &self->b, *swap;

	ASSERT_EQ(0, hoard_start(out, MOST, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, out, YIELD));
	ASSERT_EQ(0, hoard_start(in, MOST, BUFFER_BYTES));
	for (turn = 0; turn < turns; turn++) {
		swap = out, out = in, in = swap;
		ASSERT_EQ(0, stop(&self->dev, out, YIELD));
		ASSERT_EQ(0, start(&self->dev, in));
		if (turn % 3 == 2)
			ASSERT_EQ(0, hoard_order(in, turn % 2 ? HOARD_COPY : HOARD_CHECK));
		if (turn % 100 == 99)
			printf("# %u turns\n", turn + 1);
	}
	EXPECT_TRUE(hoard_finish(in));
	wait_for_vram(&self->dev, &self->before);
	ASSERT_EQ(0, start(&self->dev, out));
	EXPECT_TRUE(hoard_finish(out));
}

/* Each of three needs nearly all of the VRAM. */
TEST_F_TIMEOUT(yield, three_processes_take_turns_with_all_of_vram, 7200)
{
	unsigned int turns = (unsigned int)number_from_environment("COUNT", 20), turn;
	unsigned int num = (unsigned int)(self->before.vram / BUFFER_BYTES) - 2;
	struct hoard *hoards[3] = { &self->a, &self->b, &self->c };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, hoard_start(hoards[i], num, BUFFER_BYTES));
		if (i < 2)
			ASSERT_EQ(0, stop(&self->dev, hoards[i], YIELD));
	}
	for (turn = 0; turn < turns; turn++) {
		ASSERT_EQ(0, stop(&self->dev, hoards[(turn + 2) % 3], YIELD));
		ASSERT_EQ(0, start(&self->dev, hoards[turn % 3]));
		if (turn % 5 == 4)
			ASSERT_EQ(0, hoard_order(hoards[turn % 3], HOARD_COPY));
		if (turn % 100 == 99)
			printf("# %u turns\n", turn + 1);
	}
	EXPECT_TRUE(hoard_finish(hoards[(turn + 2) % 3]));
	for (i = 0; i < 2; i++) {
		wait_for_vram(&self->dev, &self->before);
		ASSERT_EQ(0, start(&self->dev, hoards[(turn + i) % 3]));
		EXPECT_TRUE(hoard_finish(hoards[(turn + i) % 3]));
	}
}

TEST_HARNESS_MAIN
