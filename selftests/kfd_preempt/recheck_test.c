// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checks of the hardware (preempt_verify=1) cost others little: bounds for the registers that
 * the driver reads, and for the time that it keeps the queue manager locked, with many queues whose
 * indexes, which are memory of the process, say that they have work and make no progress. Under the
 * HWS. Times are those of the guest, so the boot counts instructions. Needs the vgpu, root, tracefs.
 */
#include <errno.h>
#include <sys/stat.h>

#include "gpu_fault.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "target.h"
#include "text_file.h"
#include "verify.h"

#define QUEUES 250u
/* More than one scan of an XCC: 56 registers, 32 slots, five registers of each slot in use. */
#define SCAN_READS 400
#define HOLD_QUEUES 8u
#define HOLD_NS 1000000ull
/* Both checks of a queue are over by then. */
#define CHECKED_US 300000u

#define INSTANCE "/sys/kernel/tracing/instances/recheck_test"
#define EVENT INSTANCE "/events/kfd_preempt/kfd_preempt_recheck/enable"

FIXTURE(recheck)
{
	struct kfd_device dev;
	struct aql_queue first, idle[QUEUES];
	struct kfd_preempt_switch_entry entry[QUEUES];
	int num_xcc;
};

FIXTURE_SETUP(recheck)
{
	unsigned int i;

	ASSERT_TRUE(verify_is_on());
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_FALSE(driver_has_no_hws(self->dev.kfd_fd));
	self->num_xcc = (int)self->dev.num_xcc;
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->first));
	for (i = 0; i < QUEUES; i++)
		ASSERT_EQ(0, aql_queue_create_idle(&self->first, &self->idle[i]));
}

FIXTURE_TEARDOWN(recheck)
{
	unsigned int i;

	text_file_write(EVENT, "0");
	rmdir(INSTANCE);
	for (i = 0; i < QUEUES; i++)
		EXPECT_EQ(0, aql_queue_destroy_idle(&self->idle[i]));
	EXPECT_EQ(0, aql_queue_destroy(&self->first));
	kfd_device_close(&self->dev);
}

static bool switch_all(FIXTURE_DATA(recheck) *self, uint16_t op)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		self->entry[i] = (struct kfd_preempt_switch_entry){
			.queue_id = self->idle[i].id,
			.op = op,
			.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		};
	if (preempt_switch(self->dev.kfd_fd, 0, 0, self->entry, QUEUES))
		return false;
	for (i = 0; i < QUEUES && !self->entry[i].result; i++)
		;
	return i == QUEUES;
}

TEST_F_TIMEOUT(recheck, stops_of_many_queues_are_verified_by_one_scan, 300)
{
	int64_t before = gpu_counter("mmio_reads"), reads;

	ASSERT_LE(0, before);
	ASSERT_TRUE(switch_all(self, KFD_PREEMPT_OP_PREEMPT));
	reads = gpu_counter("mmio_reads") - before;
	printf("# %lld reads for %u stops\n", (long long)reads, QUEUES);
	EXPECT_GT(SCAN_READS * self->num_xcc, reads);
	ASSERT_TRUE(switch_all(self, KFD_PREEMPT_OP_RESUME));
}

/* The most queues of one hold of the lock, and the longest hold. Returns the number of holds. */
static unsigned int read_holds(unsigned int *queues, unsigned long long *ns)
{
	FILE *file = fopen(INSTANCE "/trace", "re");
	unsigned int holds = 0, num;
	unsigned long long time;
	char line[512], *event;

	*queues = 0;
	*ns = 0;
	while (file && fgets(line, sizeof(line), file)) {
		event = strstr(line, "kfd_preempt_recheck: ");
		if (!event || sscanf(event, "%*s gpu_id=%*u queues=%u ns=%llu", &num, &time) != 2)
			continue;
		holds++;
		*queues = num > *queues ? num : *queues;
		*ns = time > *ns ? time : *ns;
	}
	if (file)
		fclose(file);
	return holds;
}

TEST_F_TIMEOUT(recheck, queues_with_false_indexes_are_rechecked_by_one_scan_and_a_few_at_a_time, 300)
{
	unsigned int holds, queues;
	unsigned long long ns;
	int64_t before, reads;

	ASSERT_TRUE(switch_all(self, KFD_PREEMPT_OP_PREEMPT));
	/* All of them share these. The CP waits for a packet that never becomes valid. */
	*(volatile uint16_t *)self->first.ring.addr = 1;
	*self->first.write_index = 1;
	ASSERT_TRUE(switch_all(self, KFD_PREEMPT_OP_RESUME));
	before = gpu_counter("mmio_reads");
	ASSERT_LE(0, before);
	mkdir(INSTANCE, 0700);
	text_file_write(EVENT, "1");
	sleep_us(CHECKED_US);
	reads = gpu_counter("mmio_reads") - before;
	holds = read_holds(&queues, &ns);
	printf("# %lld reads; the longest of %u holds took %llu ns, the largest had %u queues\n",
	       (long long)reads, holds, ns, queues);
	EXPECT_LT(0, reads);
	EXPECT_GT(SCAN_READS * self->num_xcc, reads);
	EXPECT_LT(2 * QUEUES / HOLD_QUEUES, holds);
	EXPECT_GE(HOLD_QUEUES, queues);
	EXPECT_GE(HOLD_NS, ns);
	EXPECT_EQ(0, driver_facts(self->dev.kfd_fd).degraded);
}

TEST_HARNESS_MAIN
