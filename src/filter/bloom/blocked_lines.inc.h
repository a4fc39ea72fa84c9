/* filter/bloom/blocked_lines.inc.h - the blocked filter's operations, written once for every
 * instruction set.
 *
 * The including file first defines, for its instruction set,
 *   static inline bool line_test(const uint64_t *line, uint64_t fields);
 *   static inline bool line_add(uint64_t *line, uint64_t fields);
 * on one round of one line (line_add returns whether the bits were all set before), and OPERATIONS,
 * the name of the table that this file ends with. blocked.c describes the layout. */
#include "core/bits.h"
#include "core/inline.h"
#include "filter/bloom/blocked_layout.h"
#include "filter/bloom/bloom.h"

/* A batch asks for lines NEAR keys ahead: about as many as a core can wait for at once. In a filter
 * of LARGE_LINES and more, it asks for them FAR keys ahead as well, to have them in the second
 * cache by then: more lines can be on their way to that one. In a smaller filter this would only
 * cost time. */
enum { NEAR = 16, FAR = 64, LARGE_LINES = 1 << 19, FIRST_CACHE = 3, SECOND_CACHE = 2 };

static inline uint64_t *line_of(const struct lethe_bloom_bits *bits, lethe_hash hash) {
    return bits->words + lethe_multiply_high(hash.high, bits->range) * LETHE_BLOOM_LINE_WORDS;
}

static inline bool test_one(const struct lethe_bloom_bits *bits, lethe_hash hash, uint32_t hashes) {
    const uint64_t *line = line_of(bits, hash);
    bool all = line_test(line, hash.low);
    for (uint32_t k = LANES; k < hashes; k += LANES)
        all &= line_test(line, hash.low = next_fields(hash.low));
    return all;
}

/* Rounds can be tested and added one by one: if one sets a bit that a later one asks for, then it
 * found it clear, and the answer is no already. */
static inline bool add_one(const struct lethe_bloom_bits *bits, lethe_hash hash, uint32_t hashes) {
    uint64_t *line = line_of(bits, hash);
    bool all = line_add(line, hash.low);
    for (uint32_t k = LANES; k < hashes; k += LANES)
        all &= line_add(line, hash.low = next_fields(hash.low));
    return all;
}

/* Asks for the lines of the first keys. Returns from which key on they are asked for twice: count
 * if none are. */
LETHE_INLINE size_t begin_many(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                               size_t count) {
    for (size_t i = 0; i < NEAR && i < count; i++)
        __builtin_prefetch(line_of(bits, hashes[i]), 1, FIRST_CACHE);
    if (bits->range < LARGE_LINES) return count;
    for (size_t i = NEAR; i < FAR && i < count; i++)
        __builtin_prefetch(line_of(bits, hashes[i]), 0, SECOND_CACHE);
    return FAR;
}

static inline void test_many(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                             size_t count, uint8_t *present, uint32_t k) {
    size_t far = begin_many(bits, hashes, count), i = 0;
    for (; i + NEAR < count; i++) {
        if (i + far < count) __builtin_prefetch(line_of(bits, hashes[i + far]), 0, SECOND_CACHE);
        __builtin_prefetch(line_of(bits, hashes[i + NEAR]), 0, FIRST_CACHE);
        present[i] = test_one(bits, hashes[i], k);
    }
    for (; i < count; i++)
        present[i] = test_one(bits, hashes[i], k);
}

static inline void add_many(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                            size_t count, uint8_t *present, uint32_t k) {
    size_t far = begin_many(bits, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (i + far < count) __builtin_prefetch(line_of(bits, hashes[i + far]), 0, SECOND_CACHE);
        if (i + NEAR < count) __builtin_prefetch(line_of(bits, hashes[i + NEAR]), 1, FIRST_CACHE);
        bool was = add_one(bits, hashes[i], k);
        if (present != NULL) present[i] = was;
    }
}

static void blocked_add(const struct lethe_bloom_bits *bits, lethe_hash hash) {
    (void)add_one(bits, hash, bits->hashes);
}

static bool blocked_test(const struct lethe_bloom_bits *bits, lethe_hash hash) {
    return test_one(bits, hash, bits->hashes);
}

static bool blocked_add_and_test(const struct lethe_bloom_bits *bits, lethe_hash hash) {
    return add_one(bits, hash, bits->hashes);
}

/* Eight hashes are by far the most common, and knowing the number removes the inner loop. */
static void blocked_add_batch(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                              size_t count) {
    if (bits->hashes == LANES) {
        add_many(bits, hashes, count, NULL, LANES);
    } else {
        add_many(bits, hashes, count, NULL, bits->hashes);
    }
}

static void blocked_test_batch(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                               size_t count, uint8_t *present) {
    if (bits->hashes == LANES) {
        test_many(bits, hashes, count, present, LANES);
    } else {
        test_many(bits, hashes, count, present, bits->hashes);
    }
}

static void blocked_add_and_test_batch(const struct lethe_bloom_bits *bits,
                                       const lethe_hash *hashes, size_t count, uint8_t *present) {
    add_many(bits, hashes, count, present, bits->hashes);
}

const struct lethe_bloom_operations OPERATIONS = {
    .add = blocked_add,
    .test = blocked_test,
    .add_and_test = blocked_add_and_test,
    .add_batch = blocked_add_batch,
    .test_batch = blocked_test_batch,
    .add_and_test_batch = blocked_add_and_test_batch,
};
