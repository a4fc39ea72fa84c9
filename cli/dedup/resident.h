/* dedup/resident.h - the lines that came first, in memory: asked before the cascade is. It takes
 * lines in until it is full.
 *
 * Guarantee  A line that was taken in is recognised. A new one is taken for it with a probability
 *            of at most the error that was asked for.
 * Memory     At most what was given, about five bytes a line at an error of 1e-8.
 * Threads    One. */
#ifndef LETHE_CLI_DEDUP_RESIDENT_H
#define LETHE_CLI_DEDUP_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

/* The smallest error that can be asked for; and one that is quick. */
#define RESIDENT_LEAST_ERROR 1e-12
#define RESIDENT_QUICK_ERROR 1e-8

enum { RESIDENT_NEW = 0, RESIDENT_PRESENT = 1, RESIDENT_UNKNOWN = 2 };

struct resident;

/* How many lines surely fit. */
uint64_t resident_lines_in(uint64_t memory_bytes, double error);
/* lines: how many are expected; 0, or more than surely fit: as many as that. Fewer use less memory,
 * and it grows up to memory_bytes if there are more. Returns NULL when memory is short. The caller
 * frees it. */
struct resident *resident_new(uint64_t memory_bytes, double error, uint64_t lines, uint64_t seed);
void resident_free(struct resident *resident); /* takes NULL */

/* Stores for each hash whether its line is new and taken in, present, or unknown: then there is no
 * room for it, and the caller asks elsewhere, in the same order. Cost: a cache miss a line, many
 * of which wait together. */
void resident_ask(struct resident *resident, const lethe_hash *hashes, size_t count,
                  uint8_t *answers);

/* Whether nothing is taken in any more. */
bool resident_is_full(const struct resident *resident);

struct resident_facts {
    double error; /* the probability that a new line is taken for one of these, now */
    uint64_t entries, memory_bytes;
};
/* Zeros for NULL. */
struct resident_facts resident_facts_of(const struct resident *resident);

#endif
