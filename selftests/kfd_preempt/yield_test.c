// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of held processes: what leaves VRAM, what KFD then gives to others, and that every word
 * is right wherever it is. Needs a small VRAM (vramlimit=128 or 256).
 */
#include <sys/time.h>

#include "evict.h"
#include "gem_client.h"
#include "gpu_debugfs.h"
#include "yield.h"

TEST_F_TIMEOUT(yield, memory_leaves_and_returns_with_its_contents, 900)
{
	struct kfd_ioctl_preempt_status_args status;
	struct ledger running, yielded;

	ASSERT_EQ(0, hoard_start(&self->a, MOST, BUFFER_BYTES));
	running = ledger_read(&self->dev);
	status = status_of(&self->dev, &self->a);
	EXPECT_LE(self->a.bytes, status.vram_bytes);
	EXPECT_EQ(0, status.yielded_bytes);

	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	yielded = ledger_read(&self->dev);
	EXPECT_LE(running.vram + self->a.bytes, yielded.vram);
	EXPECT_LE(running.ttm_mib + (long)(self->a.bytes / MIB), yielded.ttm_mib);
	status = status_of(&self->dev, &self->a);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_EQ(KFD_PREEMPT_STATUS_YIELDED, status.status & KFD_PREEMPT_STATUS_YIELDED);
	EXPECT_LE(self->a.bytes, status.yielded_bytes);
	EXPECT_EQ(0, status.vram_bytes);
	EXPECT_LT(0, status.yield_ns);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));

	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(running.vram, ledger_read(&self->dev).vram);
	EXPECT_EQ(running.ttm_mib, ledger_read(&self->dev).ttm_mib);
	status = status_of(&self->dev, &self->a);
	EXPECT_EQ(0, status.yielded_bytes);
	EXPECT_EQ(0, status.status & KFD_PREEMPT_STATUS_YIELDED);
	EXPECT_LT(0, status.reclaim_ns);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, what_is_written_while_it_is_away_returns, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHANGE));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, page_tables_say_where_memory_is, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	/* Its SDMA queue isn't held. */
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHANGE));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, another_process_gets_the_memory, 900)
{
	struct hoard refused = {};

	ASSERT_EQ(0, hoard_start(&self->a, MOST, BUFFER_BYTES));
	EXPECT_EQ(-ENOMEM, hoard_start(&refused, MOST, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	ASSERT_EQ(0, hoard_start(&self->b, MOST, BUFFER_BYTES));

	EXPECT_EQ(-ENOSPC, start(&self->dev, &self->a));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status_of(&self->dev, &self->a).state);
	EXPECT_LE(self->a.bytes, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));

	EXPECT_TRUE(hoard_finish(&self->b));
	wait_for_vram(&self->dev, &self->before);
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, two_processes_change_places_in_one_call, 900)
{
	struct kfd_preempt_switch_entry entries[2] = {};
	struct hoard *out = &self->a, *in = &self->b, *swap;
	unsigned int turn;

	ASSERT_EQ(0, hoard_start(out, MOST, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, out, YIELD));
	ASSERT_EQ(0, hoard_start(in, MOST, BUFFER_BYTES));
	for (turn = 0; turn < 6; turn++) {
		swap = out, out = in, in = swap;
		entries[0] = (struct kfd_preempt_switch_entry) {
			.queue_id = in->queue_id,
			.target_pid = in->pid,
			.op = KFD_PREEMPT_OP_RESUME,
		};
		entries[1] = (struct kfd_preempt_switch_entry) {
			.queue_id = out->queue_id,
			.target_pid = out->pid,
			.op = KFD_PREEMPT_OP_PREEMPT,
			.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		};
		ASSERT_EQ(0, preempt_switch(self->dev.kfd_fd, in->pid, YIELD, entries, 2));
		ASSERT_EQ(0, entries[0].result);
		ASSERT_EQ(0, entries[1].result);
		EXPECT_EQ(0, hoard_order(in, HOARD_CHECK));
		EXPECT_EQ(0, hoard_order(out, HOARD_CHECK));
	}
	EXPECT_TRUE(hoard_finish(in));
	wait_for_vram(&self->dev, &self->before);
	ASSERT_EQ(0, start(&self->dev, out));
	EXPECT_TRUE(hoard_finish(out));
}

TEST_F_TIMEOUT(yield, a_process_that_runs_yields_nothing, 900)
{
	struct ledger running;
	int more;

	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	more = hoard_order(&self->a, HOARD_QUEUE);
	ASSERT_LE(0, more);
	running = ledger_read(&self->dev);
	EXPECT_EQ(-EBUSY, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, status_of(&self->dev, &self->a).state);
	EXPECT_EQ(running.vram, ledger_read(&self->dev).vram);
	EXPECT_EQ(running.ttm_mib, ledger_read(&self->dev).ttm_mib);

	/* The rest of it is held already. */
	EXPECT_EQ(0, switch_preempt(self->dev.kfd_fd, self->a.pid, 0, (uint32_t)more));
	EXPECT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_LE(self->a.bytes, status_of(&self->dev, &self->a).yielded_bytes);
	/* One that runs is enough to bring it back. */
	EXPECT_EQ(0, switch_resume(self->dev.kfd_fd, self->a.pid, 0, (uint32_t)more));
	EXPECT_EQ(0, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, a_held_process_can_yield_later, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, 0));
	EXPECT_EQ(0, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_LE(self->a.bytes, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(-EALREADY, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, a_host_without_room_refuses_before_the_stop, 900)
{
	struct kfd_buffer filler[512];
	struct ledger full;
	unsigned int num = 0, i;

	ASSERT_EQ(0, hoard_start(&self->a, MOST, BUFFER_BYTES));
	while (num < ARRAY_SIZE(filler) &&
	       !kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, BUFFER_BYTES, &filler[num]))
		num++;
	ASSERT_GT(ARRAY_SIZE(filler), num);
	/* Room for some of its memory, and not for all. */
	kfd_buffer_free(&self->dev, &filler[--num]);
	kfd_buffer_free(&self->dev, &filler[--num]);
	full = ledger_read(&self->dev);
	EXPECT_EQ(-ENOMEM, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, status_of(&self->dev, &self->a).state);
	EXPECT_EQ(0, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(full.vram, ledger_read(&self->dev).vram);
	EXPECT_EQ(full.ttm_mib, ledger_read(&self->dev).ttm_mib);
	for (i = 0; i < num; i++)
		kfd_buffer_free(&self->dev, &filler[i]);
	EXPECT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, memory_that_others_use_stays, 900)
{
	struct kfd_ioctl_preempt_status_args status;
	struct gem_client client;
	struct gem_buffer imported;
	int file, pidfd, import;

	ASSERT_EQ(0, gem_client_open(self->dev.render_minor, &client));
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	file = hoard_order(&self->a, HOARD_EXPORT);
	ASSERT_LE(0, file);
	pidfd = (int)syscall(SYS_pidfd_open, self->a.pid, 0);
	import = (int)syscall(SYS_pidfd_getfd, pidfd, file, 0);
	ASSERT_LE(0, import);
	ASSERT_EQ(0, gem_buffer_import(&client, import, BUFFER_BYTES, &imported));

	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	status = status_of(&self->dev, &self->a);
	EXPECT_EQ(BUFFER_BYTES, status.shared_bytes);
	EXPECT_EQ(BUFFER_BYTES, status.vram_bytes);
	EXPECT_LE(self->a.bytes - BUFFER_BYTES, status.yielded_bytes);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
	close(import);
	close(pidfd);
	gem_client_close(&client);
}

TEST_F_TIMEOUT(yield, a_process_may_yield_by_itself, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_YIELD));
	EXPECT_LE(self->a.bytes, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_RESUME));
	EXPECT_EQ(0, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, memory_that_is_away_can_be_freed, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, MOST / 2, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_FREE));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, a_process_dies_while_its_memory_is_away, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, MOST / 2, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	hoard_kill(&self->a);
}

TEST_F_TIMEOUT(yield, memory_returns_when_the_operator_is_gone, 900)
{
	struct kfd_ioctl_preempt_status_args status;
	unsigned int ms;
	int fd;

	ASSERT_EQ(0, hoard_start(&self->a, MOST / 2, BUFFER_BYTES));
	/* After the fork: a copy of the file would keep the hold. */
	fd = kfd_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, switch_preempt(fd, self->a.pid, YIELD, self->a.queue_id));
	close(fd);
	for (ms = 0; ms < HOARD_TIMEOUT_MS; ms += 10) {
		status = status_of(&self->dev, &self->a);
		if (status.state == KFD_PREEMPT_STATE_RUNNING && !status.yielded_bytes)
			break;
		sleep_us(10000);
	}
	EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, status.state);
	EXPECT_EQ(0, status.yielded_bytes);
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, all_of_vram_is_evicted_meanwhile, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, MOST / 2, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	ASSERT_EQ(0, evict_all("vram"));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	ASSERT_EQ(0, evict_all("gtt"));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
}

static bool is_evicted(struct kfd_device *dev, const struct hoard *hoard)
{
	return status_of(dev, hoard).status & KFD_PREEMPT_STATUS_EVICTED;
}

/* KFD's worker comes after 100 ms. Memory that it put back would take VRAM from those that run. */
TEST_F_TIMEOUT(yield, evicted_memory_of_a_held_process_is_not_put_back, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, 0));
	ASSERT_EQ(0, evict_all("vram"));
	sleep_us(1000000);
	EXPECT_TRUE(is_evicted(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_FALSE(is_evicted(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, a_new_queue_ends_the_wait_for_the_hold, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, 0));
	ASSERT_EQ(0, evict_all("vram"));
	sleep_us(300000);
	ASSERT_TRUE(is_evicted(&self->dev, &self->a));
	ASSERT_LE(0, hoard_order(&self->a, HOARD_QUEUE));
	/* SDMA runs when nothing of it is evicted. */
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

/* Bytes of VRAM in use, or ~0. */
static uint64_t vram_used(uint32_t render_minor)
{
	uint64_t bytes = ~0ull;
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%u/device/mem_info_vram_used",
		 render_minor);
	file = fopen(path, "re");
	if (file && fscanf(file, "%" SCNu64, &bytes) != 1)
		bytes = ~0ull;
	if (file)
		fclose(file);
	return bytes;
}

/* Its own hold doesn't keep KFD from putting memory back, but what it has yielded stays away. */
TEST_F_TIMEOUT(yield, what_is_put_back_goes_where_it_was, 900)
{
	uint64_t yielded;

	ASSERT_EQ(0, hoard_start(&self->a, MOST, BUFFER_BYTES));
	ASSERT_EQ(0, hoard_order(&self->a, HOARD_YIELD));
	yielded = vram_used(self->dev.render_minor);
	ASSERT_EQ(0, evict_all("vram"));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_FALSE(is_evicted(&self->dev, &self->a));
	EXPECT_GT(yielded + BUFFER_BYTES, vram_used(self->dev.render_minor));
	EXPECT_LE(self->a.bytes, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_RESUME));
	EXPECT_LE(yielded + self->a.bytes, vram_used(self->dev.render_minor));
	EXPECT_TRUE(hoard_finish(&self->a));
}

#define PIECES_MAX 1024u
#define PIECE_BYTES (256ul << 10)

/* Bytes of free VRAM in blocks of at least a MiB: from 2^8 pages of 4 KiB on. */
static uint64_t free_in_large_blocks(void)
{
	char text[4096] = "", *line;
	unsigned int order, lines = 0;
	unsigned long long blocks;
	uint64_t bytes = 0;

	if (gpu_debugfs_text("amdgpu_vram_mm", text, sizeof(text)))
		return ~0ull;
	for (line = text; (line = strstr(line, "order-")); line++) {
		if (sscanf(line, "order-%u free: %*u %*s blocks: %llu", &order, &blocks) != 2)
			continue;
		lines++;
		if (order >= 8)
			bytes += blocks << (12 + order);
	}
	return lines ? bytes : ~0ull;
}

TEST_F_TIMEOUT(yield, memory_returns_into_holes_between_others, 900)
{
	static struct kfd_buffer pieces[PIECES_MAX];
	unsigned int num = 0, i;

	ASSERT_EQ(0, hoard_start(&self->a, MOST / 2, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	while (num < PIECES_MAX &&
	       !kfd_buffer_alloc(&self->dev, KFD_IN_VRAM, PIECE_BYTES, &pieces[num]))
		num++;
	ASSERT_GT(PIECES_MAX, num);
	EXPECT_EQ(-ENOSPC, start(&self->dev, &self->a));
	for (i = 0; i < num; i += 2)
		kfd_buffer_free(&self->dev, &pieces[i]);
	printf("# %u holes of 256 KiB; free in larger blocks %" PRIu64 " KiB\n", num / 2,
	       free_in_large_blocks() / 1024);
	EXPECT_GT(self->a.bytes, free_in_large_blocks());
	EXPECT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
	for (i = 1; i < num; i += 2)
		kfd_buffer_free(&self->dev, &pieces[i]);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* A signal between two buffers leaves those that have moved where they are. */
TEST_F_TIMEOUT(yield, a_signal_leaves_a_whole_state, 900)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_interval.tv_usec = 1000 }, never = {};
	struct kfd_ioctl_preempt_status_args status = {};
	unsigned int tries;
	int ret = 0;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, hoard_start(&self->a, MOST * 8, MIB));
	for (tries = 0; tries < 200; tries++) {
		/* The stop itself takes a while. */
		soon.it_value.tv_usec = 1000 + tries * 1000;
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
		ret = stop(&self->dev, &self->a, YIELD);
		ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
		status = status_of(&self->dev, &self->a);
		if (ret == -EINTR && status.yielded_bytes >= MIB)
			break;
		ASSERT_EQ(0, start(&self->dev, &self->a));
	}
	ASSERT_EQ(-EINTR, ret) {
		TH_LOG("no signal between two buffers");
	}
	printf("# %" PRIu64 " MiB had left in try %u\n", (uint64_t)(status.yielded_bytes / MIB),
	       tries);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_LT(0, status.vram_bytes);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(0, status_of(&self->dev, &self->a).vram_bytes);
	EXPECT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, sdma_queue_that_waits_in_a_packet_runs_again, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	ASSERT_EQ(0, hoard_order(&self->a, HOARD_POLL));
	EXPECT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_FALSE(is_evicted(&self->dev, &self->a));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_RELEASE));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
}

static struct kfd_preempt_switch_entry resume_entry(const struct hoard *hoard)
{
	return (struct kfd_preempt_switch_entry) {
		.queue_id = hoard->queue_id,
		.target_pid = hoard->pid,
		.op = KFD_PREEMPT_OP_RESUME,
	};
}

/* There is room for the memory of one of two processes, whichever the call names first. */
TEST_F_TIMEOUT(yield, all_or_nothing_starts_no_other_when_memory_has_no_room, 900)
{
	const uint32_t flags = KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;
	struct kfd_preempt_switch_entry entries[2];
	unsigned int first;

	ASSERT_EQ(0, hoard_start(&self->a, MOST, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	ASSERT_EQ(0, hoard_start(&self->b, 1, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->b, YIELD));
	ASSERT_EQ(0, hoard_start(&self->c, MOST, BUFFER_BYTES));
	for (first = 0; first < 2; first++) {
		entries[first] = resume_entry(&self->a);
		entries[!first] = resume_entry(&self->b);
		ASSERT_EQ(0, preempt_switch(self->dev.kfd_fd, self->a.pid, flags, entries, 2));
		EXPECT_EQ(-ENOSPC, entries[first].result);
		EXPECT_EQ(-EBUSY, entries[!first].result);
		EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status_of(&self->dev, &self->b).state);
		EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status_of(&self->dev, &self->a).state);
	}
	/* Without the flag each has its own result. */
	ASSERT_EQ(0, preempt_switch(self->dev.kfd_fd, self->a.pid, 0, entries, 2));
	EXPECT_EQ(-ENOSPC, entries[1].result);
	EXPECT_EQ(0, entries[0].result);
	EXPECT_TRUE(hoard_finish(&self->b));
	EXPECT_TRUE(hoard_finish(&self->c));
	wait_for_vram(&self->dev, &self->before);
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

/* The call knows only after memory has left that there is too little room for one of the starts. */
TEST_F_TIMEOUT(yield, all_or_nothing_starts_no_other_when_a_yield_makes_too_little_room, 900)
{
	struct kfd_preempt_switch_entry entries[3];

	ASSERT_EQ(0, hoard_start(&self->a, MOST, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	ASSERT_EQ(0, hoard_start(&self->b, MOST, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->b, 0));
	ASSERT_EQ(0, hoard_start(&self->c, 1, BUFFER_BYTES));
	entries[0] = resume_entry(&self->c);
	entries[0].op = KFD_PREEMPT_OP_PREEMPT;
	entries[0].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	entries[1] = resume_entry(&self->a);
	entries[2] = resume_entry(&self->b);
	ASSERT_EQ(0, preempt_switch(self->dev.kfd_fd, self->a.pid,
				    YIELD | KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entries, 3));
	EXPECT_EQ(0, entries[0].result);
	EXPECT_EQ(-ENOSPC, entries[1].result);
	EXPECT_EQ(-EBUSY, entries[2].result);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status_of(&self->dev, &self->b).state);
	ASSERT_EQ(0, start(&self->dev, &self->b));
	ASSERT_EQ(0, start(&self->dev, &self->c));
	EXPECT_TRUE(hoard_finish(&self->b));
	EXPECT_TRUE(hoard_finish(&self->c));
	wait_for_vram(&self->dev, &self->before);
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

/* One queue stops and one starts: the process has to run, so its memory stays. */
TEST_F_TIMEOUT(yield, a_call_that_lets_a_queue_run_does_not_yield_its_memory, 900)
{
	struct kfd_preempt_switch_entry entries[2];
	int more;

	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	more = hoard_order(&self->a, HOARD_QUEUE);
	ASSERT_LE(0, more);
	ASSERT_EQ(0, switch_preempt(self->dev.kfd_fd, self->a.pid, 0, (uint32_t)more));
	entries[0] = resume_entry(&self->a);
	entries[0].queue_id = (uint32_t)more;
	entries[1] = resume_entry(&self->a);
	entries[1].op = KFD_PREEMPT_OP_PREEMPT;
	entries[1].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	ASSERT_EQ(0, preempt_switch(self->dev.kfd_fd, self->a.pid, YIELD, entries, 2));
	EXPECT_EQ(0, entries[0].result);
	EXPECT_EQ(-EBUSY, entries[1].result);
	EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, status_of(&self->dev, &self->a).state);
	EXPECT_EQ(0, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_TRUE(hoard_finish(&self->a));
}

/* The queue is lost, the words aren't. */
TEST_F_TIMEOUT(yield, what_is_away_survives_a_gpu_reset, 900)
{
	ASSERT_EQ(0, hoard_start(&self->a, MOST / 2, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	ASSERT_EQ(0, gpu_debugfs_read("amdgpu_gpu_recover"));
	EXPECT_EQ(KFD_PREEMPT_STATE_DEAD, status_of(&self->dev, &self->a).state);
	EXPECT_LE(self->a.bytes, status_of(&self->dev, &self->a).yielded_bytes);
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_CHECK));
	EXPECT_EQ(-EIO, start(&self->dev, &self->a));
	hoard_kill(&self->a);
}

TEST_HARNESS_MAIN
