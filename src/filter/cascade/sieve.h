/* filter/cascade/sieve.h - a level filter: which fingerprints a run certainly does not have. */
#ifndef LETHE_CASCADE_SIEVE_H
#define LETHE_CASCADE_SIEVE_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"

struct lethe_cascade_sieve;

/* Makes an empty one of about that many bytes; NULL when there is no memory. */
struct lethe_cascade_sieve *lethe_cascade_sieve_new(uint64_t bytes,
                                                    const lethe_allocator *allocator);
/* Takes NULL. */
void lethe_cascade_sieve_free(struct lethe_cascade_sieve *sieve);
uint64_t lethe_cascade_sieve_bytes(const struct lethe_cascade_sieve *sieve);

/* Adds fingerprints, which are words without their tag. Cost: a cache miss each, overlapped. */
void lethe_cascade_sieve_add(struct lethe_cascade_sieve *sieve, const uint64_t *words, size_t count,
                             unsigned tag_bits);
/* maybe[i] becomes 0 when the fingerprint was certainly not added, else 1. Cost: as add. */
void lethe_cascade_sieve_test(const struct lethe_cascade_sieve *sieve, const uint64_t *fingerprints,
                              size_t count, uint8_t *maybe);
/* How often it lets a fingerprint pass that was not added, when it has that many entries. */
double lethe_cascade_sieve_rate(const struct lethe_cascade_sieve *sieve, uint64_t entries);

#endif
