// SPDX-License-Identifier: GPL-2.0-only
/* The check of a hoard's memory notices what a wrong move of memory leaves behind. Needs no GPU. */
#include <string.h>

#include "hoard_lines.h"
#include "kselftest_harness.h"

#define LINES 512u	/* eight pages */
#define PAGE_LINES (4096 / sizeof(struct hoard_line))
#define SEED 4711u
#define BUFFER 3u

FIXTURE(lines)
{
	struct hoard_line lines[LINES], other[LINES];
};

FIXTURE_SETUP(lines)
{
	hoard_fill_lines(self->lines, LINES, SEED, BUFFER);
	ASSERT_EQ(0, hoard_check_lines(self->lines, LINES, SEED, BUFFER));
}

FIXTURE_TEARDOWN(lines)
{
}

#define EXPECT_NOTICED() \
	EXPECT_EQ(-EILSEQ, hoard_check_lines(self->lines, LINES, SEED, BUFFER))

TEST_F(lines, a_bit_of_any_byte)
{
	uint8_t *bytes = (uint8_t *)&self->lines[LINES - 1];
	unsigned int i;

	for (i = 0; i < sizeof(struct hoard_line); i++) {
		bytes[i] ^= 1 << i % 8;
		EXPECT_NOTICED();
		bytes[i] ^= 1 << i % 8;
	}
	EXPECT_EQ(0, hoard_check_lines(self->lines, LINES, SEED, BUFFER));
}

TEST_F(lines, two_lines_or_pages_that_are_swapped)
{
	struct hoard_line line = self->lines[7];

	self->lines[7] = self->lines[8];
	self->lines[8] = line;
	EXPECT_NOTICED();
	hoard_fill_lines(self->lines, LINES, SEED, BUFFER);
	memcpy(self->other, self->lines, sizeof(self->lines));
	memcpy(&self->lines[PAGE_LINES], &self->other[2 * PAGE_LINES], 4096);
	memcpy(&self->lines[2 * PAGE_LINES], &self->other[PAGE_LINES], 4096);
	EXPECT_NOTICED();
}

TEST_F(lines, a_line_that_is_lost)
{
	memset(&self->lines[LINES - 1], 0, sizeof(self->lines[0]));
	EXPECT_NOTICED();
}

/* An earlier turn, another buffer or another process has left it there, as a whole or without the name. */
TEST_F(lines, a_line_of_another_seed_or_buffer)
{
	const struct { uint32_t seed; unsigned int buffer; } others[] = {
		{ SEED - 1, BUFFER }, { SEED, BUFFER + 1 }, { SEED + 1, BUFFER - 1 }, { SEED - 1, BUFFER + 1 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		hoard_fill_lines(self->other, LINES, others[i].seed, others[i].buffer);
		self->lines[9] = self->other[9];
		EXPECT_NOTICED();
		self->lines[9].words[0] = hoard_name(SEED, BUFFER, 9);
		EXPECT_NOTICED();
		hoard_fill_lines(self->lines, LINES, SEED, BUFFER);
	}
}

TEST_HARNESS_MAIN
