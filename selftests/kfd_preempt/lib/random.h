/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that are the same for a seed everywhere, and numbers of the environment. */
#ifndef SELFTESTS_RANDOM_H
#define SELFTESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct random {
	uint64_t state;
};

/* Marsaglia's xorshift64 with the multiplication of Vigna's xorshift64*. */
static inline uint64_t random_next(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1dull;
}

/* Streams of one seed differ from their first number on; the state is never 0. */
static inline void random_init(struct random *random, uint64_t seed, uint32_t stream)
{
	uint64_t z = seed + (stream + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	random->state = (z ^ (z >> 31)) | 1;
	random_next(random);
}

static inline uint32_t random_below(struct random *random, uint32_t bound)
{
	return (uint32_t)((random_next(random) >> 32) * bound >> 32);
}

static inline uint64_t random_between(struct random *random, uint64_t from, uint64_t to)
{
	uint64_t numbers = to - from + 1;	/* 0: all of them */

	return numbers ? from + random_next(random) % numbers : random_next(random);
}

/* True in one of `n` cases. */
static inline bool random_one_in(struct random *random, uint32_t n)
{
	return random_below(random, n) == 0;
}

static inline uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

#endif
