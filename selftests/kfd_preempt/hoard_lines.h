/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a hoard's buffers. Each line of a cache begins with the name of its seed, buffer and place, so that
 * a line from elsewhere or from before is noticed; the rest of it is the same in each line of the buffer. A check
 * then only compares, which is what an emulated CPU is quick at.
 */
#ifndef KFD_PREEMPT_HOARD_LINES_H
#define KFD_PREEMPT_HOARD_LINES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LINE_WORDS 8u

struct hoard_line {
	uint64_t words[LINE_WORDS];	/* the first is the name */
};

/* `number` is below 2^32, `buffer` below 2^8; the low 24 bits of the seed count. */
static inline uint64_t hoard_name(uint32_t seed, unsigned int buffer, size_t number)
{
	return (uint64_t)seed << 40 | (uint64_t)buffer << 32 | number;
}

/* A line of the buffer, but for its name. */
static inline struct hoard_line hoard_template(uint32_t seed, unsigned int buffer)
{
	struct hoard_line line = {};
	size_t i;

	for (i = 1; i < LINE_WORDS; i++)
		line.words[i] = (hoard_name(seed, buffer, 0) + i) * 0x9e3779b97f4a7c15ull;
	return line;
}

static inline void hoard_fill_lines(struct hoard_line *lines, size_t num, uint32_t seed,
				    unsigned int buffer)
{
	struct hoard_line line = hoard_template(seed, buffer);
	size_t n;

	for (n = 0; n < num; n++) {
		line.words[0] = hoard_name(seed, buffer, n);
		lines[n] = line;
	}
}

/* 0, or -EILSEQ with a message of the first wrong line. */
static inline int hoard_check_lines(const struct hoard_line *lines, size_t num, uint32_t seed,
				    unsigned int buffer)
{
	const struct hoard_line line = hoard_template(seed, buffer);
	uint64_t wrong;
	size_t n, i;

	for (n = 0; n < num; n++) {
		wrong = lines[n].words[0] ^ hoard_name(seed, buffer, n);
		for (i = 1; i < LINE_WORDS; i++)
			wrong |= lines[n].words[i] ^ line.words[i];
		if (!wrong)
			continue;
		printf("# buffer %u, line %zu: name 0x%llx, not 0x%llx; wrong bits 0x%llx\n",
		       buffer, n, (unsigned long long)lines[n].words[0],
		       (unsigned long long)hoard_name(seed, buffer, n), (unsigned long long)wrong);
		fflush(stdout);
		return -EILSEQ;
	}
	return 0;
}

#endif
