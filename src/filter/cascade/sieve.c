/* filter/cascade/sieve.c - a Bloom filter in lines of 64 bytes, with four bits per key.
 *
 * WHY     Level filters have five or six bits per entry, for which four bits per key are best. The
 *         blocked layout of lethe/bloom.h sets at least eight; it is made for smaller errors in
 *         more memory, and would let twice as many keys pass here. */
#include "filter/cascade/sieve.h"

#include <math.h>

#include "core/allocator.h"
#include "core/bits.h"

enum { LINE_WORDS = 8, LINE_BITS = 512, HASHES = 4, GROUP = 16 };

struct lethe_cascade_sieve {
    const lethe_allocator *allocator;
    uint64_t lines;
    uint64_t *words;
};

struct lethe_cascade_sieve *lethe_cascade_sieve_new(uint64_t bytes,
                                                    const lethe_allocator *allocator) {
    struct lethe_cascade_sieve *sieve = lethe_alloc_zeroed(allocator, sizeof *sieve);
    if (sieve == NULL) return NULL;
    sieve->allocator = allocator;
    sieve->lines = bytes / (LINE_BITS / 8) + (bytes < LINE_BITS / 8);
    size_t size;
    if (lethe_size_multiply(sieve->lines, LINE_BITS / 8, &size)) {
        sieve->words = lethe_alloc_zeroed(allocator, size);
    }
    if (sieve->words == NULL) {
        lethe_release(allocator, sieve, sizeof *sieve);
        return NULL;
    }
    return sieve;
}

void lethe_cascade_sieve_free(struct lethe_cascade_sieve *sieve) {
    if (sieve == NULL) return;
    lethe_release(sieve->allocator, sieve->words, sieve->lines * (LINE_BITS / 8));
    lethe_release(sieve->allocator, sieve, sizeof *sieve);
}

uint64_t lethe_cascade_sieve_bytes(const struct lethe_cascade_sieve *sieve) {
    return sieve->lines * (LINE_BITS / 8);
}

/* Scrambles a fingerprint: the uppermost bits choose the line, others the bits in it. */
static inline uint64_t scramble(uint64_t fingerprint) {
    uint64_t mixed = fingerprint * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ mixed >> 32;
}

static inline uint64_t *line_of(const struct lethe_cascade_sieve *sieve, uint64_t mixed) {
    return sieve->words + lethe_multiply_high(mixed, sieve->lines) * LINE_WORDS;
}

/* Nine bits for each place in the line. */
static inline uint64_t places_of(uint64_t mixed) {
    return mixed * UINT64_C(0xc2b2ae3d27d4eb4f) >> (64 - 9 * HASHES);
}

void lethe_cascade_sieve_add(struct lethe_cascade_sieve *sieve, const uint64_t *words, size_t count,
                             unsigned tag_bits) {
    for (size_t first = 0; first < count; first += GROUP) {
        uint64_t mixed[GROUP];
        size_t size = count - first < GROUP ? count - first : GROUP;
        for (size_t i = 0; i < size; i++) {
            mixed[i] = scramble(words[first + i] >> tag_bits);
            __builtin_prefetch(line_of(sieve, mixed[i]), 1);
        }
        for (size_t i = 0; i < size; i++) {
            uint64_t *line = line_of(sieve, mixed[i]), places = places_of(mixed[i]);
            for (unsigned k = 0; k < HASHES; k++, places >>= 9)
                line[places >> 6 & 7] |= UINT64_C(1) << (places & 63);
        }
    }
}

void lethe_cascade_sieve_test(const struct lethe_cascade_sieve *sieve, const uint64_t *fingerprints,
                              size_t count, uint8_t *maybe) {
    for (size_t first = 0; first < count; first += GROUP) {
        uint64_t mixed[GROUP];
        size_t size = count - first < GROUP ? count - first : GROUP;
        for (size_t i = 0; i < size; i++) {
            mixed[i] = scramble(fingerprints[first + i]);
            __builtin_prefetch(line_of(sieve, mixed[i]));
        }
        for (size_t i = 0; i < size; i++) {
            const uint64_t *line = line_of(sieve, mixed[i]);
            uint64_t places = places_of(mixed[i]), all = 1;
            for (unsigned k = 0; k < HASHES; k++, places >>= 9)
                all &= line[places >> 6 & 7] >> (places & 63);
            maybe[first + i] = (uint8_t)all;
        }
    }
}

double lethe_cascade_sieve_rate(const struct lethe_cascade_sieve *sieve, uint64_t entries) {
    double load = (double)entries / ((double)sieve->lines * LINE_BITS);
    return pow(1 - exp(-HASHES * load), HASHES);
}
