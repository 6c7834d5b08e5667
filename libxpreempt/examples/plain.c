/* SPDX-License-Identifier: MIT */
/* The library from plain C11: fills of memory as commands, suspended, dropped and completed. */
#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime_api.h>

#include <stdint.h>
#include <stdio.h>

static int failures;

static void check(int good, const char *what)
{
	printf("%s - %s\n", good ? "ok" : "not ok", what);
	failures += !good;
}

struct fill {
	void *memory;
	int value;
};

static int launch(void *stream, void *argument)
{
	const struct fill *fill = argument;

	return hipMemsetAsync(fill->memory, fill->value, 4, stream);
}

int main(void)
{
	struct xp_probe_info probe = { .sz = sizeof(probe) };
	struct xp_xqueue_state state = { .sz = sizeof(state) };
	struct fill first = { .value = 0x11 }, second = { .value = 0x22 };
	hipStream_t stream = NULL;
	xp_xqueue_t xqueue;
	uint64_t ticket = 0, dropped = 0;
	uint32_t word = 0, level = 0;

	if (hipMalloc(&first.memory, 4) != hipSuccess || hipStreamCreate(&stream) != hipSuccess) {
		puts("Bail out! no GPU");
		return 1;
	}
	second.memory = first.memory;
	check(xp_probe(&probe) == 0 && probe.hook_loaded && probe.hip_loaded,
	      "hook and HIP are loaded");
	if (xp_xqueue_create(stream, NULL, &xqueue) != 0) {
		printf("Bail out! xp_xqueue_create: %s\n", xp_last_detail());
		return 1;
	}
	check(xp_xqueue_suspend(xqueue, 0, &level) == 0 && level == XP_LEVEL_INTERRUPT,
	      "the stream is suspended at the highest level");
	check(xp_xqueue_submit(xqueue, launch, &first, &ticket) == 0 &&
		      xp_xqueue_query(xqueue, &state) == 0 && state.pending == 1,
	      "a command waits");
	check(xp_xqueue_drop(xqueue, &dropped) == 0 && dropped == 1, "and is dropped");
	check(xp_xqueue_submit(xqueue, launch, &second, &ticket) == 0, "another one waits");
	check(xp_xqueue_resume(xqueue) == 0 && xp_xqueue_wait(xqueue, ticket) == 0,
	      "and completes after the resume");
	check(hipMemcpy(&word, first.memory, 4, hipMemcpyDeviceToHost) == hipSuccess &&
		      word == 0x22222222,
	      "the memory has its value");
	check(xp_xqueue_destroy(xqueue) == 0, "the xqueue is destroyed");
	return failures != 0;
}
