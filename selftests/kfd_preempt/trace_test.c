// SPDX-License-Identifier: GPL-2.0-only
/* The tracepoints: what a call, a node and a queue are said to have done. Needs root, tracefs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpu_fault.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "target.h"
#include "text_file.h"

#define LONG_MS 30000u
/* A buffer of our own: what others trace is neither read nor stopped. */
#define INSTANCE "/sys/kernel/tracing/instances/kfd_preempt_test"

#define LINES_MAX 64u
#define LINE_BYTES 512u

static const char *const backends[] = { "HWS", "HWS_NO_OVERSUB", "NO_HWS", "MES" };

/* The lines of our events, oldest first: "name: field=value ...". */
struct trace {
	unsigned int num;
	char line[LINES_MAX][LINE_BYTES];
};

static int trace_begin(void)
{
	int ret;

	if (mkdir(INSTANCE, 0700) && errno != EEXIST)
		return -errno;
	ret = text_file_write(INSTANCE "/trace", "");
	return ret ? ret : text_file_write(INSTANCE "/events/kfd_preempt/enable", "1");
}

static void trace_end(void)
{
	text_file_write(INSTANCE "/events/kfd_preempt/enable", "0");
	rmdir(INSTANCE);
}

/* Reads everything that was traced so far. */
static int trace_read(struct trace *trace)
{
	char line[1024], *event;
	FILE *file = fopen(INSTANCE "/trace", "re");

	if (!file)
		return -errno;
	trace->num = 0;
	while (trace->num < LINES_MAX && fgets(line, sizeof(line), file)) {
		event = strstr(line, ": kfd_preempt_");
		if (line[0] == '#' || !event)
			continue;
		event[strcspn(event, "\n")] = 0;
		snprintf(trace->line[trace->num++], LINE_BYTES, "%s", event + 2);
	}
	fclose(file);
	return 0;
}

/* The line that begins with `event` and has all of `fields`; NULL without one. */
static const char *trace_find(const struct trace *trace, const char *event, const char *fields)
{
	unsigned int i;

	for (i = 0; i < trace->num; i++)
		if (!strncmp(trace->line[i], event, strlen(event)) &&
		    trace->line[i][strlen(event)] == ':' && strstr(trace->line[i], fields))
			return trace->line[i];
	return NULL;
}

static uint64_t trace_number(const char *line, const char *field)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), " %s=", field);
	at = line ? strstr(line, key) : NULL;
	return at ? strtoull(at + strlen(key), NULL, 0) : UINT64_MAX;
}

static void trace_print(const struct trace *trace)
{
	unsigned int i;

	for (i = 0; i < trace->num; i++)
		printf("# %s\n", trace->line[i]);
}

FIXTURE(trace)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	struct trace trace;
	char fields[256];
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(trace)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 2, LONG_MS));
	self->id = self->queue.id;
	ASSERT_EQ(0, trace_begin()) {
		TH_LOG("tracefs has no events/kfd_preempt: is this the patched driver?");
	}
}

FIXTURE_TEARDOWN(trace)
{
	trace_end();
	aql_queue_destroy(&self->queue);
	kfd_device_close(&self->dev);
}

#define READ_TRACE() \
	do { \
		ASSERT_EQ(0, trace_read(&self->trace)); \
		trace_print(&self->trace); \
	} while (0)

/* Fields of the event of a queue, up to its result. */
static const char *queue_fields(FIXTURE_DATA(trace) *self, pid_t pid, uint32_t queue_id,
				const char *rest)
{
	snprintf(self->fields, sizeof(self->fields),
		 " pid=%d gpu_id=%u queue_id=%u backend=%s %s ", pid, self->dev.gpu_id, queue_id,
		 backends[driver_facts(self->fd).sched_mode & 3], rest);
	return self->fields;
}

TEST_F(trace, a_stop_is_told_from_the_call_to_the_queue)
{
	const char *begin, *queue, *node, *end;
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	READ_TRACE();
	ASSERT_EQ(4, self->trace.num);
	begin = trace_find(&self->trace, "kfd_preempt_switch_begin",
			   " flags=0x0 processes=1 queues=1");
	queue = trace_find(&self->trace, "kfd_preempt_queue",
			   queue_fields(self, getpid(), self->id,
					"op=preempt from=running to=held holds=0x0->0x1 result=0"));
	node = trace_find(&self->trace, "kfd_preempt_node", " preempts=1 resumes=0 ");
	end = trace_find(&self->trace, "kfd_preempt_switch_end", " ret=0 done=1/1 ");
	EXPECT_EQ(&self->trace.line[0][0], begin);
	EXPECT_EQ(&self->trace.line[1][0], queue);
	EXPECT_EQ(&self->trace.line[2][0], node);
	EXPECT_EQ(&self->trace.line[3][0], end);

	/* One clock for all: of the call, the node in it, the queue in that, and STATUS. */
	EXPECT_EQ(status.last_preempt_ns, trace_number(queue, "ns"));
	EXPECT_LT(0, trace_number(node, "hw_ns"));
	EXPECT_LE(trace_number(node, "hw_ns"), trace_number(node, "ns"));
	EXPECT_LE(trace_number(queue, "ns"), trace_number(end, "ns"));
	EXPECT_LE(trace_number(node, "ns"), trace_number(end, "ns"));
	EXPECT_EQ(trace_number(node, "hw_ns"), trace_number(end, "hw_ns"));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST_F(trace, a_start_is_told)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	READ_TRACE();
	EXPECT_TRUE(trace_find(&self->trace, "kfd_preempt_queue",
			       queue_fields(self, getpid(), self->id,
					    "op=resume from=held to=running holds=0x1->0x0 result=0")));
	EXPECT_TRUE(trace_find(&self->trace, "kfd_preempt_node", " preempts=0 resumes=1 "));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

/* Nothing became of a queue, so that only the call is told. */
TEST_F(trace, a_refused_call_says_so)
{
	EXPECT_EQ(-EALREADY, resume_queue(self->fd, self->id));
	READ_TRACE();
	EXPECT_EQ(2, self->trace.num);
	EXPECT_TRUE(trace_find(&self->trace, "kfd_preempt_switch_end", " ret=0 done=0/1 "));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

/* The hardware isn't asked, and the node says so. */
TEST_F(trace, a_stop_off_the_hardware_costs_it_nothing)
{
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 0));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	READ_TRACE();
	EXPECT_TRUE(trace_find(&self->trace, "kfd_preempt_queue",
			       queue_fields(self, getpid(), self->id,
					    "op=preempt from=inactive to=held holds=0x0->0x1 result=0")));
	if (!driver_has_no_hws(self->fd)) {
		EXPECT_TRUE(trace_find(&self->trace, "kfd_preempt_node", " hw_ns=0"));
	}
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 100));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

static bool release_is_told(const void *arg)
{
	const char *fields = arg;
	static struct trace trace;

	return !trace_read(&trace) && trace_find(&trace, "kfd_preempt_queue", fields);
}

/* The starts when its file is closed are in no call, but told. */
TEST_F(trace, an_operator_and_its_end_are_told)
{
	struct target target = {};
	int fd;

	ASSERT_EQ(0, target_start(&target));
	/* After the fork, which would share it. */
	fd = kfd_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, switch_preempt(fd, target.pid, 0, target.queue_id));
	READ_TRACE();
	EXPECT_TRUE(trace_find(&self->trace, "kfd_preempt_switch_begin",
			       " flags=0x20 processes=1 queues=1"));
	EXPECT_TRUE(trace_find(&self->trace, "kfd_preempt_queue",
			       queue_fields(self, target.pid, target.queue_id,
					    "op=preempt from=running to=held holds=0x0->0x2 result=0")));
	close(fd);
	EXPECT_TRUE(wait_until(release_is_told,
			       queue_fields(self, target.pid, target.queue_id,
					    "op=resume from=held to=running holds=0x2->0x0 result=0"),
			       LONG_MS));
	EXPECT_TRUE(target_finish(&target));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

static bool loss_is_told(const void *arg)
{
	static struct trace trace;

	return !trace_read(&trace) && trace_find(&trace, "kfd_preempt_lost", arg);
}

/* Only where a boot is for it: the driver resets the GPU. */
TEST_F_TIMEOUT(trace, a_lost_queue_is_told, 180)
{
	ASSERT_EQ(KFD_PREEMPT_SCHED_HWS, driver_facts(self->fd).sched_mode);
	ASSERT_LE(0, gpu_fault_arm("drop-fence"));
	EXPECT_EQ(-EIO, preempt_queue(self->fd, self->id));
	snprintf(self->fields, sizeof(self->fields), " pid=%d gpu_id=%u queue_id=%u from=",
		 getpid(), self->dev.gpu_id, self->id);
	EXPECT_TRUE(wait_until(loss_is_told, self->fields, LONG_MS));
	READ_TRACE();
	EXPECT_EQ(0, gpu_fault_disarm_all());
}

TEST_HARNESS_MAIN
