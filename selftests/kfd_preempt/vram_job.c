// SPDX-License-Identifier: GPL-2.0-only
/*
 * A GPU program with much VRAM, every word of which it knows: it fills it, runs a kernel, and when
 * it is told to end (SIGTERM, or after SECONDS) checks both.
 * usage: vram_job PERCENT|-MIB|+MIB [SECONDS]	(of the VRAM that KFD still gives, all but MIB of it,
 *	or MIB whatever there is)
 */
#include "hoard.h"

#define BUFFERS 16u

static volatile sig_atomic_t told;

static void on_term(int signal)
{
	(void)signal;
	told = 1;
}

static int fail(const char *what, int error)
{
	printf("FAIL: %s%s%s\n", what, error ? ": " : "", error ? strerror(-error) : "");
	return EXIT_FAILURE;
}

static int run(struct hoard_world *world, unsigned int seconds)
{
	const uint64_t end = now_ns() + seconds * 1000000000ull;

	printf("ready: pid=%d MiB=%lu\n", getpid(),
	       world->num * world->buffers[0].bytes / MIB);
	while (!told && (!seconds || now_ns() < end))
		sleep_us(10000);
	if (target_finish_job(&world->job))
		return fail("the kernel computed something else", 0);
	if (hoard_check(world))
		return fail("words in VRAM are wrong", 0);
	printf("PASS: %u iterations, every word of %lu MiB right\n", job_progress(&world->job, 0),
	       world->num * world->buffers[0].bytes / MIB);
	return EXIT_SUCCESS;
}

/* A part of so many bytes; 0 for a wrong word. */
static uint64_t share_of(uint64_t bytes, const char *word)
{
	const uint64_t leave = *word == '-' ? strtoul(word + 1, NULL, 10) * MIB : 0;
	const unsigned long percent = strtoul(word, NULL, 10);

	if (*word == '+')
		return percent * MIB;
	if (leave)
		return bytes > leave ? bytes - leave : 0;
	return percent && percent <= 100 ? bytes / 100 * percent : 0;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_term };
	const unsigned int seconds = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	struct kfd_ioctl_get_available_memory_args free_bytes = {};
	static struct hoard_world world;
	size_t bytes;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || !share_of(UINT64_MAX, argv[1])) {
		fprintf(stderr, "usage: vram_job PERCENT|-MIB|+MIB [SECONDS]\n");
		return 64;
	}
	sigaction(SIGTERM, &action, NULL);
	world.seed = (uint32_t)getpid();
	ret = kfd_device_open(&world.dev);
	if (ret)
		return fail("no KFD GPU to run on", ret);
	free_bytes.gpu_id = world.dev.gpu_id;
	ret = kfd_ioctl(world.dev.kfd_fd, AMDKFD_IOC_AVAILABLE_MEMORY, &free_bytes);
	if (ret)
		return fail("KFD does not say how much VRAM there is", ret);
	bytes = share_of(free_bytes.available, argv[1]) / BUFFERS / MIB * MIB;
	if (!bytes)
		return fail("no VRAM is left", 0);
	for (; !ret && world.num < BUFFERS; world.num++)
		ret = kfd_buffer_alloc(&world.dev, KFD_IN_VRAM, bytes, &world.buffers[world.num]);
	if (ret)
		return fail("not enough VRAM", ret);
	hoard_fill(&world);
	ret = busy_queue_create(&world.dev, &world.queue, &world.job, 2, HOARD_TIMEOUT_MS);
	if (ret)
		return fail("the kernel does not begin", ret);
	return run(&world, seconds);
}
