/* filter/bloom/blocked.c - the cache-blocked Bloom filter, and its portable instruction set.
 *
 * IDEA    A key's high hash picks one 64-byte line; its low hash picks one bit in each of the
 *         line's eight 64-bit lanes. An operation costs one cache miss, and SIMD handles the eight
 *         bits at once. Smaller errors take two, three or four rounds of eight bits in the same
 *         line.
 * LAYOUT  lines of 512 bits = eight 64-bit words. In each round, lane i gets bit
 *         (fields >> (16 + 6i)) mod 64. The first round's fields are the low hash; each further
 *         round's are the last one's, folded and multiplied.
 * I1      Line number and bits within it come from different halves of the hash.
 * I2      All instruction sets set the same bits: files move between machines.
 * WHY     Whole lines of 512 bits rather than blocks of 256: the number of keys on a line varies
 *         less, so at 10.67 bits per key the error is 0.77% instead of 0.94%, for the same one
 *         miss. One bit per lane, rather than k anywhere in the line, so that no lane ever depends
 *         on another.
 * LIMIT   Lines fill unevenly, so below an error of 1e-6 it needs far more bits than the classical
 *         filter; lethe_bloom_plan computes how many.
 * PAPER   F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom filters,
 *         2007. */
#include <stdbool.h>

#include "filter/bloom/blocked_layout.h"

static inline bool line_test(const uint64_t *line, uint64_t fields) {
    uint64_t all = 1;
    for (unsigned lane = 0; lane < LANES; lane++)
        all &= line[lane] >> field(fields, lane);
    return all & 1;
}

static inline bool line_add(uint64_t *line, uint64_t fields) {
    uint64_t all = 1;
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned bit = field(fields, lane);
        all &= line[lane] >> bit;
        line[lane] |= UINT64_C(1) << bit;
    }
    return all & 1;
}

#define OPERATIONS lethe_bloom_blocked_scalar
#include "filter/bloom/blocked_lines.inc.h"
