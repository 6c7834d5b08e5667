// SPDX-License-Identifier: GPL-2.0-only
/* SDMA queues of users: copies, fences, interrupts, and being off the hardware in between. */
#include <stdlib.h>
#include <string.h>

#include "kfd_event.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "sdma_queue.h"
#include "wait.h"

#define LONG_MS 30000u
#define SMALL_BYTES (1ul << 20)
#define LARGE_BYTES (32ul << 20)

FIXTURE(sdma)
{
	struct kfd_device dev;
	struct sdma_queue queue;
	struct kfd_buffer host, back, vram, flags;
	volatile uint32_t *fence;
};

/* Every dword tells its place and the pass. */
static void fill(struct kfd_buffer *buf, uint32_t pass)
{
	uint32_t *words = buf->addr;
	size_t i;

	for (i = 0; i < buf->bytes / sizeof(*words); i++)
		words[i] = (uint32_t)i * 2654435761u + pass;
}

static bool fence_is_1(const void *fence)
{
	return *(const volatile uint32_t *)fence == 1;
}

/* The read pointer is told after the last packet, so a fence there is seen before it. */
static bool all_is_read(const void *queue)
{
	return sdma_read_pointer(queue) == ((const struct sdma_queue *)queue)->written;
}

static void setup(struct __test_metadata *_metadata, FIXTURE_DATA(sdma) *self, size_t bytes)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, bytes, &self->host));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, bytes, &self->back));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_VRAM, bytes, &self->vram));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, 4096, &self->flags));
	self->fence = self->flags.addr;
	ASSERT_EQ(0, sdma_queue_create(&self->dev, &self->queue));
}

FIXTURE_SETUP(sdma)
{
	setup(_metadata, self, SMALL_BYTES);
}

FIXTURE_TEARDOWN(sdma)
{
	if (self->queue.ring.addr)
		EXPECT_EQ(0, sdma_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

static void push_round_trip(FIXTURE_DATA(sdma) *self)
{
	sdma_copy(&self->queue, self->host.addr, self->vram.addr, self->host.bytes);
	sdma_copy(&self->queue, self->vram.addr, self->back.addr, self->host.bytes);
	sdma_fence(&self->queue, self->fence, 1);
}

static bool round_trip_is_right(FIXTURE_DATA(sdma) *self)
{
	return memcmp(self->host.addr, self->back.addr, self->host.bytes) == 0;
}

TEST_F(sdma, copies_arrive_before_their_fence)
{
	uint32_t pass;

	for (pass = 0; pass < 4; pass++) {
		fill(&self->host, pass);
		*self->fence = 0;
		push_round_trip(self);
		sdma_submit(&self->queue);
		ASSERT_TRUE(wait_until(fence_is_1, (const void *)self->fence, LONG_MS));
		ASSERT_TRUE(round_trip_is_right(self));
	}
	EXPECT_TRUE(wait_until(all_is_read, &self->queue, LONG_MS));
}

TEST_F(sdma, trap_signals_the_event_of_the_process)
{
	struct kfd_event_page page;
	struct kfd_event first, second;

	ASSERT_EQ(0, kfd_event_page_create(&self->dev, &page));
	ASSERT_EQ(0, kfd_event_create(&self->dev, &page, &first));
	ASSERT_EQ(0, kfd_event_create(&self->dev, &page, &second));
	EXPECT_EQ(-ETIME, kfd_event_wait(&self->dev, &second, 50, NULL));
	sdma_fence(&self->queue, (volatile uint32_t *)second.mailbox, second.id);
	sdma_trap(&self->queue, second.id);
	sdma_submit(&self->queue);
	EXPECT_EQ(0, kfd_event_wait(&self->dev, &second, LONG_MS, NULL));
	EXPECT_EQ(-ETIME, kfd_event_wait(&self->dev, &first, 50, NULL));
}

TEST_F(sdma, what_was_written_while_it_was_off_runs_when_it_is_back)
{
	fill(&self->host, 7);
	ASSERT_EQ(0, sdma_queue_set_percentage(&self->queue, 0));
	push_round_trip(self);
	sdma_submit(&self->queue);
	sleep_us(50000);
	EXPECT_EQ(0, *self->fence);
	EXPECT_EQ(0, sdma_read_pointer(&self->queue));
	ASSERT_EQ(0, sdma_queue_set_percentage(&self->queue, 100));
	ASSERT_TRUE(wait_until(fence_is_1, (const void *)self->fence, LONG_MS));
	EXPECT_TRUE(round_trip_is_right(self));
}

/* It stops at a packet, whatever the type; its packets can not be killed. */
TEST_F(sdma, types_are_one_and_reset_is_refused)
{
	bool no_hws = driver_has_no_hws(self->dev.kfd_fd);
	int fd = self->dev.kfd_fd;
	uint32_t id = self->queue.id;

	EXPECT_EQ(-EOPNOTSUPP, preempt_queue_type(fd, id, KFD_PREEMPT_TYPE_RESET, 0));
	EXPECT_EQ(no_hws ? 0 : -EOPNOTSUPP,
		  preempt_queue_type(fd, id, KFD_PREEMPT_TYPE_DRAIN, 0));
	EXPECT_EQ(no_hws ? 0 : -EALREADY, resume_queue(fd, id));
	ASSERT_EQ(0, preempt_queue(fd, id));
	fill(&self->host, 7);
	push_round_trip(self);
	sdma_submit(&self->queue);
	sleep_us(100000);
	EXPECT_EQ(0, *self->fence);
	ASSERT_EQ(0, resume_queue(fd, id));
	ASSERT_TRUE(wait_until(fence_is_1, (const void *)self->fence, LONG_MS));
	EXPECT_TRUE(round_trip_is_right(self));
}

TEST_F(sdma, several_queues_of_a_process_do_not_mix)
{
	struct sdma_queue more[3];
	volatile uint32_t *fences = self->fence;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, sdma_queue_create(&self->dev, &more[i]));
		sdma_fence(&more[i], &fences[i + 1], i + 10);
	}
	for (i = 0; i < 3; i++)
		sdma_submit(&more[i]);
	sdma_fence(&self->queue, self->fence, 1);
	sdma_submit(&self->queue);
	ASSERT_TRUE(wait_until(fence_is_1, (const void *)self->fence, LONG_MS));
	for (i = 0; i < 3; i++) {
		unsigned int ms;

		for (ms = 0; ms < LONG_MS && fences[i + 1] != i + 10; ms++)
			sleep_us(1000);
		EXPECT_EQ(i + 10, fences[i + 1]);
		EXPECT_EQ(0, sdma_queue_destroy(&more[i]));
	}
}

TEST_F(sdma, queue_with_work_left_is_destroyed)
{
	fill(&self->host, 1);
	push_round_trip(self);
	push_round_trip(self);
	sdma_submit(&self->queue);
	EXPECT_EQ(0, sdma_queue_destroy(&self->queue));
	ASSERT_EQ(0, sdma_queue_create(&self->dev, &self->queue));
	*self->fence = 0;
	push_round_trip(self);
	sdma_submit(&self->queue);
	ASSERT_TRUE(wait_until(fence_is_1, (const void *)self->fence, LONG_MS));
	EXPECT_TRUE(round_trip_is_right(self));
}

FIXTURE(sdma_large)
{
	FIXTURE_DATA(sdma) base;
};

FIXTURE_SETUP(sdma_large)
{
	setup(_metadata, &self->base, LARGE_BYTES);
}

FIXTURE_TEARDOWN(sdma_large)
{
	EXPECT_EQ(0, sdma_queue_destroy(&self->base.queue));
	kfd_device_close(&self->base.dev);
}

/* Off and on while the copy is under way: nothing is lost and nothing is done at a wrong place. */
TEST_F_TIMEOUT(sdma_large, copy_survives_being_taken_off_in_the_middle, 120)
{
	FIXTURE_DATA(sdma) *base = &self->base;
	unsigned int stops = 0, pass;

	/* On a busy machine a copy can end before this process runs again: then one more. */
	for (pass = 1; !stops; pass++) {
		fill(&base->host, pass);
		*base->fence = 0;
		push_round_trip(base);
		sdma_submit(&base->queue);
		while (!fence_is_1((const void *)base->fence) && stops < 1000) {
			ASSERT_EQ(0, sdma_queue_set_percentage(&base->queue, 0));
			if (!fence_is_1((const void *)base->fence))
				stops++;
			ASSERT_EQ(0, sdma_queue_set_percentage(&base->queue, 100));
			sleep_us(1000);
		}
		ASSERT_TRUE(wait_until(fence_is_1, (const void *)base->fence, LONG_MS));
		ASSERT_TRUE(round_trip_is_right(base));
	}
	TH_LOG("taken off %u times before the end, in pass %u", stops, pass - 1);
	EXPECT_TRUE(wait_until(all_is_read, &base->queue, LONG_MS));
}

#define MAX_ENGINES 16u			/* of a MI300X */
#define ENGINE_BYTES (4ul << 20)
#define HOPS 31u			/* odd: the last one goes to host memory */
#define ENGINE_STRIDE 4096u		/* between what two engines copy */

/* A queue on each engine. All read the same buffer, each from another page on. */
FIXTURE(sdma_engines)
{
	struct kfd_device dev;
	struct sdma_queue queue[MAX_ENGINES];
	struct kfd_buffer host, flags;
	struct kfd_buffer vram[MAX_ENGINES], back[MAX_ENGINES];
	volatile uint32_t *fences;
	uint32_t engines;
};

FIXTURE_SETUP(sdma_engines)
{
	uint32_t i;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->engines = self->dev.num_sdma;
	if (self->dev.gfx_target_version >= 90402)	/* older GPUs have one XCC and more engines */
		ASSERT_EQ(2 * self->dev.num_xcc, self->engines);
	ASSERT_GE(MAX_ENGINES, self->engines);
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM,
				      ENGINE_BYTES + MAX_ENGINES * ENGINE_STRIDE, &self->host));
	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, 4096, &self->flags));
	self->fences = self->flags.addr;
	fill(&self->host, 5);
	for (i = 0; i < self->engines; i++) {
		ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_VRAM, ENGINE_BYTES,
					      &self->vram[i]));
		ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, ENGINE_BYTES,
					      &self->back[i]));
		ASSERT_EQ(0, sdma_queue_create_on(&self->dev, i, &self->queue[i]));
	}
}

FIXTURE_TEARDOWN(sdma_engines)
{
	uint32_t i;

	for (i = 0; i < self->engines; i++)
		EXPECT_EQ(0, sdma_queue_destroy(&self->queue[i]));
	kfd_device_close(&self->dev);
}

static const char *engine_source(FIXTURE_DATA(sdma_engines) *self, uint32_t engine)
{
	return (const char *)self->host.addr + engine * ENGINE_STRIDE;
}

static uint32_t first_word(const void *where)
{
	return *(const volatile uint32_t *)where;
}

static void push_engine_round_trip(FIXTURE_DATA(sdma_engines) *self, uint32_t engine,
				   size_t bytes)
{
	struct sdma_queue *queue = &self->queue[engine];

	sdma_copy(queue, engine_source(self, engine), self->vram[engine].addr, bytes);
	sdma_copy(queue, self->vram[engine].addr, self->back[engine].addr, bytes);
	sdma_fence(queue, &self->fences[engine], 1);
}

static bool engine_is_right(FIXTURE_DATA(sdma_engines) *self, uint32_t engine, size_t bytes)
{
	return memcmp(engine_source(self, engine), self->back[engine].addr, bytes) == 0;
}

TEST_F(sdma_engines, each_copies_and_signals_its_event)
{
	struct kfd_event_page page;
	uint32_t i;

	ASSERT_EQ(0, kfd_event_page_create(&self->dev, &page));
	for (i = 0; i < self->engines; i++) {
		struct sdma_queue *queue = &self->queue[i];
		struct kfd_event event;

		ASSERT_EQ(0, kfd_event_create(&self->dev, &page, &event));
		push_engine_round_trip(self, i, SMALL_BYTES);
		sdma_fence(queue, (volatile uint32_t *)event.mailbox, event.id);
		sdma_trap(queue, event.id);
		sdma_submit(queue);
		/* The interrupt names the engine's AID, and KFD must take it for its own. */
		EXPECT_EQ(0, kfd_event_wait(&self->dev, &event, LONG_MS, NULL)) {
			TH_LOG("engine %u", i);
		}
		EXPECT_EQ(1, self->fences[i]);
		EXPECT_TRUE(engine_is_right(self, i, SMALL_BYTES));
		EXPECT_TRUE(wait_until(all_is_read, queue, LONG_MS));
	}
}

/* There and back many times: what one copy leaves out is missing at the end. */
static void push_hops(FIXTURE_DATA(sdma_engines) *self, uint32_t engine)
{
	struct sdma_queue *queue = &self->queue[engine];
	void *vram = self->vram[engine].addr, *back = self->back[engine].addr;
	uint32_t i;

	sdma_copy(queue, engine_source(self, engine), vram, ENGINE_BYTES);
	for (i = 0; i < HOPS; i++)
		sdma_copy(queue, i % 2 ? back : vram, i % 2 ? vram : back, ENGINE_BYTES);
	sdma_fence(queue, &self->fences[engine], 1);
}

static bool all_are_done(const void *self)
{
	const FIXTURE_DATA(sdma_engines) *data = self;
	uint32_t i;

	for (i = 0; i < data->engines; i++)
		if (data->fences[i] != 1)
			return false;
	return true;
}

/* Holds and resumes each queue in turn while all of them copy. */
TEST_F_TIMEOUT(sdma_engines, copies_of_all_survive_holds_in_the_middle, 300)
{
	uint32_t holds[MAX_ENGINES] = {};
	int fd = self->dev.kfd_fd;
	uint32_t i, k, pass, missing = self->engines;

	for (pass = 0; missing && pass < 2 * MAX_ENGINES; pass++) {
		fill(&self->host, pass);
		for (i = 0; i < self->engines; i++) {
			self->fences[i] = 0;
			push_hops(self, i);
			sdma_submit(&self->queue[i]);
		}
		for (k = 0; k < self->engines; k++) {
			bool begun;

			/* Another one is first in each pass: the last may be done by then. */
			i = (pass + k) % self->engines;
			begun = first_word(self->vram[i].addr) ==
				first_word(engine_source(self, i));
			ASSERT_EQ(0, preempt_queue(fd, self->queue[i].id));
			if (begun && self->fences[i] != 1 && holds[i]++ == 0)
				missing--;
			ASSERT_EQ(0, resume_queue(fd, self->queue[i].id));
		}
		ASSERT_TRUE(wait_until(all_are_done, self, LONG_MS));
		for (i = 0; i < self->engines; i++) {
			ASSERT_TRUE(engine_is_right(self, i, ENGINE_BYTES)) {
				TH_LOG("engine %u in pass %u", i, pass);
			}
			ASSERT_EQ(self->queue[i].written, sdma_read_pointer(&self->queue[i]));
		}
	}
	EXPECT_EQ(0, missing) {
		TH_LOG("%u engines were never held in the middle of a copy", missing);
	}
}

TEST_HARNESS_MAIN
