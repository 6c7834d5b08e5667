// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of the driver to the hardware: one update for a batch, none when nothing changes. Needs
 * the software GPU, which counts, and root.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "gpu_fault.h"
#include "hoard.h"
#include "jobs.h"
#include "kernel_log.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "sdma_queue.h"
#include "wait.h"
#include "verify.h"

#define LONG_MS 60000u
#define BATCH 64u	/* more than the GPU holds at a time */
#define BATCH_SMALL 16u	/* so few that the firmware takes no turns, which are maps as well */
#define BUSY 2u		/* of them, with waves to save */

struct counts {
	int64_t unmaps, maps, hiq_writes, reads, writes;
};

static struct counts count_now(void)
{
	return (struct counts){
		.unmaps = gpu_counter("hiq_packets/UNMAP_QUEUES"),
		.maps = gpu_counter("hiq_packets/RUN_LIST"),
		.hiq_writes = gpu_counter("hiq_packets/WRITE_DATA"),
		.reads = gpu_counter("mmio_reads"),
		.writes = gpu_counter("mmio_writes"),
	};
}

static struct counts count_since(const struct counts *before)
{
	struct counts now = count_now();

	return (struct counts){
		.unmaps = now.unmaps - before->unmaps,
		.maps = now.maps - before->maps,
		.hiq_writes = now.hiq_writes - before->hiq_writes,
		.reads = now.reads - before->reads,
		.writes = now.writes - before->writes,
	};
}

/* The last queue is in no batch: something is on the hardware before and after. */
FIXTURE(counts)
{
	struct kfd_device dev;
	struct aql_queue queue[BATCH + 1];
	struct job job[BUSY];
	struct kfd_preempt_switch_entry entry[BATCH];
	unsigned int num;
	int fd;
	bool verified;
};

FIXTURE_VARIANT(counts)
{
	unsigned int num;
	unsigned int num_no_hws;
};

FIXTURE_VARIANT_ADD(counts, large)
{
	.num = BATCH,
	.num_no_hws = 8,
};

FIXTURE_VARIANT_ADD(counts, small)
{
	.num = BATCH_SMALL,
	.num_no_hws = BUSY,
};

FIXTURE_SETUP(counts)
{
	unsigned int i;

	self->verified = verify_turn(false);
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	self->num = driver_has_no_hws(self->fd) ? variant->num_no_hws : variant->num;
	for (i = 0; i <= self->num; i++) {
		ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue[i]));
		if (i >= BUSY)
			continue;
		ASSERT_EQ(0, checksum_job_start(&self->job[i], &self->queue[i], 2, 2));
		ASSERT_TRUE(job_wait_progress(&self->job[i], 1, LONG_MS));
	}
	ASSERT_LE(0, gpu_counter("mmio_reads"));
}

FIXTURE_TEARDOWN(counts)
{
	unsigned int i;

	for (i = 0; i < BUSY; i++) {
		EXPECT_TRUE(job_wait_progress(&self->job[i], 1, LONG_MS));
		job_stop(&self->job[i]);
		EXPECT_TRUE(job_wait(&self->job[i], LONG_MS));
		EXPECT_EQ(0, job_errors(&self->job[i]));
	}
	for (i = 0; i <= self->num; i++)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	kfd_device_close(&self->dev);
	verify_turn(self->verified);
}

static void order_all(FIXTURE_DATA(counts) *self, uint16_t op)
{
	unsigned int i;

	for (i = 0; i < self->num; i++)
		self->entry[i] = (struct kfd_preempt_switch_entry){
			.queue_id = self->queue[i].id,
			.op = op,
			.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		};
}

static void print_counts(const char *what, unsigned int num, const struct counts *counts)
{
	printf("# %s of %u queues: %lld unmaps, %lld maps, %lld MMIO reads, %lld MMIO writes\n",
	       what, num, (long long)counts->unmaps, (long long)counts->maps,
	       (long long)counts->reads, (long long)counts->writes);
}

static void expect_one_update(struct __test_metadata *_metadata, FIXTURE_DATA(counts) *self,
			      const char *what, uint16_t op)
{
	bool no_hws = driver_has_no_hws(self->fd);
	struct counts before, delta;
	unsigned int i;

	order_all(self, op);
	before = count_now();
	ASSERT_EQ(0, preempt_switch(self->fd, 0, 0, self->entry, self->num));
	delta = count_since(&before);
	for (i = 0; i < self->num; i++)
		EXPECT_EQ(0, self->entry[i].result);
	print_counts(what, self->num, &delta);
	EXPECT_EQ(no_hws ? 0 : 1, delta.unmaps);
	if (self->num <= BATCH_SMALL) {
		EXPECT_EQ(no_hws ? 0 : 1, delta.maps);
	} else {
		EXPECT_LE(1, delta.maps);
	}
}

TEST_F_TIMEOUT(counts, batch_of_stops_and_of_starts_is_one_update_each, 300)
{
	unsigned int i;

	expect_one_update(_metadata, self, "stop", KFD_PREEMPT_OP_PREEMPT);
	for (i = 0; i < BUSY; i++)
		EXPECT_TRUE(job_stands_still(&self->job[i], 20));
	expect_one_update(_metadata, self, "start", KFD_PREEMPT_OP_RESUME);
}

#define PAIRS 20u

/* One busy queue, and one that is in no pair: the runlist of the HWS is never empty. */
FIXTURE(pair)
{
	struct kfd_device dev;
	struct aql_queue queue, other;
	struct job job;
	int fd;
	bool verified;
};

FIXTURE_SETUP(pair)
{
	self->verified = verify_turn(false);
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 2, LONG_MS));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->other));
}

FIXTURE_TEARDOWN(pair)
{
	gpu_fault_disarm_all();
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->other));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
	verify_turn(self->verified);
}

/* A queue that is off the hardware anyway: of 0 percent, or held by another owner. */
TEST_F_TIMEOUT(pair, hardware_is_left_alone_when_nothing_changes, 300)
{
	struct counts before, delta;
	unsigned int i;

	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 0));
	before = count_now();
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
		ASSERT_EQ(-EALREADY, preempt_queue(self->fd, self->queue.id));
		ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
		ASSERT_EQ(-EALREADY, resume_queue(self->fd, self->queue.id));
	}
	delta = count_since(&before);
	print_counts("10 stops and starts off the hardware", 1, &delta);
	EXPECT_EQ(0, delta.unmaps);
	EXPECT_EQ(0, delta.maps);
	EXPECT_EQ(0, delta.hiq_writes);
	/* One of them would read CP_HQD_ACTIVE once a stop; KFD has timers of its own. */
	EXPECT_GT(10, delta.reads);
	EXPECT_GT(10, delta.writes);
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 100));
}

/*
 * preempt_verify=1 reads the slots of each XCC in which a queue may be. The HWS may put it into any of
 * them; without the HWS it has one, which is checked before a start as well. The first check also
 * asks for the addresses of the registers.
 */
#define VERIFY_READS 200
#define VERIFY_READS_NO_HWS 12

TEST_F_TIMEOUT(pair, verified_stop_and_start_read_no_more_slots_than_a_queue_has, 300)
{
	int64_t most = driver_has_no_hws(self->fd) ? VERIFY_READS_NO_HWS : VERIFY_READS;
	/* Idle: one with work is looked for in all slots once more 50 ms after its start. */
	uint32_t id = self->other.id;
	struct counts before, delta = {};
	unsigned int i;

	verify_turn(true);
	for (i = 0; i < 2; i++) {
		before = count_now();
		ASSERT_EQ(0, preempt_queue(self->fd, id));
		ASSERT_EQ(0, resume_queue(self->fd, id));
		delta = count_since(&before);
	}
	verify_turn(false);
	print_counts("verified stop and start", 1, &delta);
	EXPECT_LT(0, delta.reads);
	EXPECT_GE(most * self->dev.num_xcc, delta.reads);
}

/* The read index of a held queue moves between two rechecks: the driver looks for the queue. */
TEST_F_TIMEOUT(pair, recheck_of_a_held_queue_reads_no_more_slots_than_a_queue_has, 300)
{
	/* The stop is verified, too, by a scan of its own. */
	int64_t most = driver_has_no_hws(self->fd) ? VERIFY_READS_NO_HWS : 2 * VERIFY_READS;
	struct aql_queue *queue = &self->other;
	uint64_t index = *queue->read_index;
	int kmsg = kernel_log_open();
	struct counts before, delta;
	unsigned int polls;
	bool said = false;

	ASSERT_LE(0, kmsg);
	verify_turn(true);
	/* Asks for the addresses of the registers. */
	ASSERT_EQ(0, preempt_queue(self->fd, queue->id));
	ASSERT_EQ(0, resume_queue(self->fd, queue->id));
	before = count_now();
	ASSERT_EQ(0, preempt_queue(self->fd, queue->id));
	for (polls = 0; polls < LONG_MS && !said; polls++) {
		*queue->read_index += 1;
		sleep_us(1000);
		said = kernel_said(kmsg, "the read index of queue");
	}
	delta = count_since(&before);
	*queue->read_index = index;
	ASSERT_EQ(0, resume_queue(self->fd, queue->id));
	verify_turn(false);
	close(kmsg);
	print_counts("verified stop and recheck", 1, &delta);
	EXPECT_TRUE(said);
	EXPECT_LT(0, delta.reads);
	EXPECT_GE(most * self->dev.num_xcc, delta.reads);
}

/*
 * Starts and stops of a queue that is held. Without the HWS each stop finds running waves. Under it
 * the driver checks a queue 50 ms after its start, which reads registers: a stop cancels that.
 */
static int make_pairs(FIXTURE_DATA(pair) *self, bool no_hws)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < PAIRS && !ret; i++) {
		ret = resume_queue(self->fd, self->queue.id);
		if (!ret && no_hws && !job_wait_progress(&self->job, 1, LONG_MS))
			return -ETIME;
		if (!ret)
			ret = preempt_queue(self->fd, self->queue.id);
	}
	return ret;
}

static const char *const packets[] = { "UNMAP_QUEUES", "QUERY_STATUS", "RUN_LIST", "MAP_PROCESS",
				       "MAP_QUEUES", "WRITE_DATA" };
#define NUM_PACKETS ARRAY_SIZE(packets)

static void count_packets(int64_t count[NUM_PACKETS])
{
	char name[64];
	unsigned int i;

	for (i = 0; i < NUM_PACKETS; i++) {
		snprintf(name, sizeof(name), "hiq_packets/%s", packets[i]);
		count[i] = gpu_counter(name);
	}
}

/* The first two rows of COSTS.md. KFD has timers of its own, which read and write a few registers. */
TEST_F_TIMEOUT(pair, start_and_stop_of_one_queue_cost_what_COSTS_says, 120)
{
	/* The runlist has one queue after a stop and two after a start. */
	static const int64_t with_hws[NUM_PACKETS] = { 2, 2, 2, 2, 3, 0 };
	bool no_hws = driver_has_no_hws(self->fd);
	int64_t packets_before[NUM_PACKETS], packets_after[NUM_PACKETS];
	unsigned int i, xccs = no_hws ? PAIRS * self->dev.num_xcc : 0;
	struct counts before, delta;

	ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
	count_packets(packets_before);
	before = count_now();
	ASSERT_EQ(0, make_pairs(self, no_hws));
	delta = count_since(&before);
	count_packets(packets_after);
	ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
	print_counts("20 starts and stops", 1, &delta);
	EXPECT_LE(xccs, delta.reads);
	EXPECT_GE(4 * xccs + 10, delta.reads);
	EXPECT_LE(70 * xccs, delta.writes);
	EXPECT_GE(80 * xccs + 10, delta.writes);
	for (i = 0; i < NUM_PACKETS; i++) {
		EXPECT_EQ(no_hws ? 0 : PAIRS * with_hws[i], packets_after[i] - packets_before[i]) {
			TH_LOG("%s", packets[i]);
		}
	}
}

static void stop_and_start(struct __test_metadata *_metadata, int fd, uint32_t id, const char *what,
			   int64_t most_reads)
{
	struct counts before = count_now(), delta;
	unsigned int i;

	for (i = 0; i < PAIRS; i++) {
		ASSERT_EQ(0, preempt_queue(fd, id));
		ASSERT_EQ(0, resume_queue(fd, id));
	}
	delta = count_since(&before);
	print_counts(what, 1, &delta);
	EXPECT_GE(most_reads + 10, delta.reads);
}

/*
 * Newer drivers look after each unmap for SDMA queues that have not left, by two registers of each that the
 * engines could have: 256 reads on a MI300X. Ours looks at those that it stops.
 */
TEST_F_TIMEOUT(pair, stop_reads_two_registers_of_an_SDMA_queue_at_most, 120)
{
	struct sdma_queue sdma;

	if (driver_has_no_hws(self->fd))
		return;
	ASSERT_EQ(0, sdma_queue_create(&self->dev, &sdma));
	stop_and_start(_metadata, self->fd, sdma.id, "20 stops and starts of an SDMA queue", 2 * PAIRS);
	stop_and_start(_metadata, self->fd, self->other.id, "20 stops and starts beside one", 0);
	EXPECT_EQ(0, sdma_queue_destroy(&sdma));
}

/*
 * Two processes with VRAM and an SDMA queue that has no hold, and a queue that is in no call: the runlist is never
 * empty.
 */
FIXTURE(exchange)
{
	struct kfd_device dev;
	struct aql_queue other;
	struct hoard hoard[2];
	bool verified;
};

FIXTURE_SETUP(exchange)
{
	unsigned int i;

	self->verified = verify_turn(false);
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, hoard_start(&self->hoard[i], 4, MIB));
		ASSERT_EQ(0, hoard_order(&self->hoard[i], HOARD_COPY));
	}
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->other));
}

FIXTURE_TEARDOWN(exchange)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		EXPECT_TRUE(hoard_finish(&self->hoard[i]));
	EXPECT_EQ(0, aql_queue_destroy(&self->other));
	kfd_device_close(&self->dev);
	verify_turn(self->verified);
}

static void expect_updates(struct __test_metadata *_metadata, FIXTURE_DATA(exchange) *self,
			   const char *what, struct kfd_preempt_switch_entry *entries, unsigned int num,
			   unsigned int updates)
{
	struct counts before = count_now(), delta;
	unsigned int i;

	ASSERT_EQ(0, preempt_switch(self->dev.kfd_fd, self->hoard[0].pid,
				    KFD_PREEMPT_SWITCH_YIELD_MEMORY, entries, num));
	delta = count_since(&before);
	print_counts(what, num, &delta);
	for (i = 0; i < num; i++)
		EXPECT_EQ(0, entries[i].result);
	if (driver_has_no_hws(self->dev.kfd_fd))
		updates = 0;
	EXPECT_EQ(updates, delta.unmaps);
	EXPECT_EQ(updates, delta.maps);
}

/* One before the memory moves and one behind it, each with all queues that it concerns. */
TEST_F_TIMEOUT(exchange, of_memory_is_two_updates_of_the_runlist, 600)
{
	struct kfd_preempt_switch_entry entries[2];
	unsigned int i, turn;

	for (i = 0; i < 2; i++)
		entries[i] = (struct kfd_preempt_switch_entry){
			.queue_id = self->hoard[i].queue_id,
			.target_pid = self->hoard[i].pid,
			.op = KFD_PREEMPT_OP_PREEMPT,
			.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		};
	expect_updates(_metadata, self, "yield", &entries[0], 1, 2);
	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < 2; i++) {
			entries[i].op = i == turn ? KFD_PREEMPT_OP_RESUME : KFD_PREEMPT_OP_PREEMPT;
			entries[i].preempt_type = i == turn ? 0 : KFD_PREEMPT_TYPE_SAVE;
		}
		expect_updates(_metadata, self, "exchange", entries, 2, 2);
	}
	entries[0].op = KFD_PREEMPT_OP_RESUME;
	entries[0].preempt_type = 0;
	expect_updates(_metadata, self, "return", &entries[0], 1, 2);
}

static long sleeps_of_this_thread(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? -1 : usage.ru_nvcsw;
}

/*
 * The queue leaves the first XCC at the second read of CP_HQD_ACTIVE, which comes at once unless the host makes a
 * read take more than 100 us. No wave runs meanwhile, since each read waits for a slice of the waves' instructions.
 * A driver that sleeps between two reads does it in each round.
 */
TEST_F_TIMEOUT(pair, stop_that_is_confirmed_soon_does_not_sleep, 120)
{
	unsigned int i, without = 0;
	char fault[96];
	int number;
	long before;

	if (!driver_has_no_hws(self->fd))
		return;
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue.id));
	snprintf(fault, sizeof(fault), "dequeue-late:polls=2,xcc=0,count=%u,pasid=%u", PAIRS,
		 gpu_pasid(getpid()));
	number = gpu_fault_arm(fault);
	ASSERT_LE(0, number);
	for (i = 0; i < PAIRS; i++) {
		before = sleeps_of_this_thread();
		ASSERT_LE(0, before);
		ASSERT_EQ(0, preempt_queue(self->fd, self->other.id));
		without += sleeps_of_this_thread() == before;
		ASSERT_EQ(0, resume_queue(self->fd, self->other.id));
	}
	EXPECT_EQ((int)PAIRS, gpu_fault_hits(number));
	printf("# %u of %u stops without a sleep\n", without, PAIRS);
	EXPECT_LT(0, without);
	ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
}

TEST_HARNESS_MAIN
