/* filter/packed/blocked.c - the cache-blocked filter without a header; packed.c has the layout. */
#include <math.h>

#include "filter/bloom/blocked_layout.h"
#include "filter/bloom/bloom.h"
#include "filter/packed/packed.h"

enum { LINE_BYTES = 64, SAMPLE_KEYS = 1 << 20 };

/* Of 8, 16, 24 and 32 hashes those that err least. */
static uint32_t best_hashes(const lethe_packed_options *options) {
    uint64_t lines = (uint64_t)(options->bits_per_key * SAMPLE_KEYS) / LETHE_BLOOM_LINE_BITS;
    uint32_t best = LANES;
    double least = INFINITY;
    for (uint32_t hashes = LANES; hashes <= LETHE_PACKED_MAX_HASHES; hashes += LANES) {
        double error = lethe_bloom_expected_error(
            LETHE_BLOOM_BLOCKED, lines * LETHE_BLOOM_LINE_BITS, hashes, SAMPLE_KEYS);
        if (error < least) {
            least = error;
            best = hashes;
        }
    }
    return best;
}

static unsigned note(const lethe_packed *packed, size_t count, size_t array_bytes) {
    (void)count;
    (void)array_bytes;
    return packed->options.hashes;
}

static size_t line_of(size_t array_bytes, lethe_hash hash) {
    return (size_t)lethe_multiply_high(hash.high, array_bytes / LINE_BYTES) * LINE_BYTES;
}

static void add(unsigned char *line, uint64_t fields, uint32_t hashes) {
    for (uint32_t k = 0; k < hashes; k += LANES, fields = next_fields(fields)) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            unsigned bit = field(fields, lane);
            line[LETHE_PACKED_WORD_BYTES * lane + bit / 8] |= (unsigned char)(1U << bit % 8);
        }
    }
}

static void build(const lethe_packed *packed, const lethe_hash *hashes, size_t count,
                  unsigned char *array, size_t array_bytes) {
    for (size_t i = 0; i < count; i++)
        add(array + line_of(array_bytes, hashes[i]), hashes[i].low, packed->options.hashes);
}

static bool test(const lethe_packed *packed, lethe_hash hash, const unsigned char *array,
                 size_t array_bytes, unsigned hashes) {
    (void)packed;
    if (hashes == 0 || hashes > LETHE_PACKED_MAX_HASHES || hashes % LANES != 0) return true;
    const unsigned char *line = array + line_of(array_bytes, hash);
    uint64_t fields = hash.low;
    for (uint32_t k = 0; k < hashes; k += LANES, fields = next_fields(fields)) {
        unsigned all = 1;
        for (unsigned lane = 0; lane < LANES; lane++) {
            unsigned bit = field(fields, lane);
            all &= (unsigned)line[LETHE_PACKED_WORD_BYTES * lane + bit / 8] >> bit % 8;
        }
        if ((all & 1) == 0) return false;
    }
    return true;
}

const struct lethe_packed_operations lethe_packed_blocked = {
    .unit_bytes = LINE_BYTES,
    .bits_least = 1,
    .hashes_most = LETHE_PACKED_MAX_HASHES,
    .hashes_step = LANES,
    .best_hashes = best_hashes,
    .note = note,
    .build = build,
    .test = test,
};
