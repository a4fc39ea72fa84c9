/* filter/bloom/classic.c - the classical Bloom filter: k bits anywhere in m.
 *
 * IDEA    Bit i of a key lies at floor(x_i * m / 2^64), where x_i = low * M^(i+1) + high mod 2^64
 *         and (low, high) is the key's hash. Any m works, and no division is needed.
 * LAYOUT  m bits in 64-bit words, bit b is bit b % 64 of word b / 64.
 * I1      Bits at and after m are zero.
 * WHY     The usual x_i = low + i * high makes all k positions functions of where two numbers
 *         lie to a precision of 1/m each, so two keys share all their bits with probability about
 *         1/m^2 instead of 1/m^k: with a million keys that is 1e-10, more than a small error
 *         allows. Multiplying by M spreads any difference over the high bits at each step.
 * BATCH   A test of absent keys needs two of its k probes on average. So a batch goes probe by
 *         probe: prefetch one word for each key, then test them all and keep only the keys that
 *         passed, without a branch. An add needs all its words, so they are prefetched a few keys
 *         ahead.
 * PAPER   B. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970. */
#include "filter/bloom/bloom.h"
#include "filter/bloom/probe.h"

enum { TEST_CHUNK = 128, ADD_AHEAD = 8, MAX_HASHES = 64 };

static void classic_add(const struct lethe_bloom_bits *bits, lethe_hash hash) {
    for (uint32_t i = 0; i < bits->hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&hash.low, hash.high, bits->range);
        bits->words[position / 64] |= UINT64_C(1) << (position % 64);
    }
}

static bool classic_test(const struct lethe_bloom_bits *bits, lethe_hash hash) {
    for (uint32_t i = 0; i < bits->hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&hash.low, hash.high, bits->range);
        if ((bits->words[position / 64] >> (position % 64) & 1) == 0) return false;
    }
    return true;
}

static bool classic_add_and_test(const struct lethe_bloom_bits *bits, lethe_hash hash) {
    uint64_t all = 1;
    for (uint32_t i = 0; i < bits->hashes; i++) {
        uint64_t position = lethe_bloom_next_position(&hash.low, hash.high, bits->range);
        uint64_t *word = &bits->words[position / 64];
        all &= *word >> (position % 64);
        *word |= UINT64_C(1) << (position % 64);
    }
    return all;
}

/* Keys of a chunk that have passed all probes so far. */
struct survivors {
    uint64_t state[TEST_CHUNK];
    uint64_t high[TEST_CHUNK];
    uint64_t position[TEST_CHUNK];
    uint8_t index[TEST_CHUNK]; /* which key of the chunk */
};

static void test_chunk(const struct lethe_bloom_bits *bits, const lethe_hash *hashes, size_t count,
                       uint8_t *present) {
    struct survivors keys;
    /* Entries below left are always set: left starts as count and only shrinks. The analyzer
     * can't follow that, hence the two marks below. */
    for (size_t i = 0; i < count; i++) {
        uint64_t state = hashes[i].low;
        uint64_t position = lethe_bloom_next_position(&state, hashes[i].high, bits->range);
        __builtin_prefetch(&bits->words[position / 64]);
        keys.state[i] = state;
        keys.high[i] = hashes[i].high;
        keys.position[i] = position;
        keys.index[i] = (uint8_t)i;
        present[i] = 0;
    }
    size_t left = count;
    for (uint32_t probe = 1;; probe++) {
        size_t passed = 0;
        for (size_t i = 0; i < left; i++) {
            uint64_t position = keys.position[i];
            uint64_t bit = bits->words[position / 64] >> (position % 64) & 1;
            keys.state[passed] = keys.state[i];
            keys.high[passed] = keys.high[i];
            keys.index[passed] = keys.index[i];
            passed += bit;
        }
        left = passed;
        if (probe >= bits->hashes || left == 0) break;
        for (size_t i = 0; i < left; i++) {
            /* NOLINTNEXTLINE(clang-analyzer-core.*) */
            keys.position[i] = lethe_bloom_next_position(&keys.state[i], keys.high[i], bits->range);
            __builtin_prefetch(&bits->words[keys.position[i] / 64]);
        }
    }
    for (size_t i = 0; i < left; i++) {
        present[keys.index[i]] = 1; /* NOLINT(clang-analyzer-core.*) */
    }
}

static void classic_test_batch(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                               size_t count, uint8_t *present) {
    for (size_t done = 0; done < count; done += TEST_CHUNK) {
        size_t chunk = count - done < TEST_CHUNK ? count - done : TEST_CHUNK;
        test_chunk(bits, hashes + done, chunk, present + done);
    }
}

/* Computes a key's positions into its place of the ring and asks for their words. */
static inline void prepare(const struct lethe_bloom_bits *bits, lethe_hash hash,
                           uint64_t *positions) {
    for (uint32_t i = 0; i < bits->hashes; i++) {
        positions[i] = lethe_bloom_next_position(&hash.low, hash.high, bits->range);
        __builtin_prefetch(&bits->words[positions[i] / 64], 1);
    }
}

static inline void add_batch(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                             size_t count, uint8_t *present) {
    uint64_t ring[ADD_AHEAD][MAX_HASHES];
    for (size_t i = 0; i < ADD_AHEAD && i < count; i++)
        prepare(bits, hashes[i], ring[i]);
    for (size_t i = 0; i < count; i++) {
        uint64_t *positions = ring[i % ADD_AHEAD];
        uint64_t all = 1;
        for (uint32_t probe = 0; probe < bits->hashes; probe++) {
            uint64_t *word = &bits->words[positions[probe] / 64];
            all &= *word >> (positions[probe] % 64);
            *word |= UINT64_C(1) << (positions[probe] % 64);
        }
        if (present != NULL) present[i] = (uint8_t)all;
        if (i + ADD_AHEAD < count) prepare(bits, hashes[i + ADD_AHEAD], positions);
    }
}

static void classic_add_batch(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                              size_t count) {
    add_batch(bits, hashes, count, NULL);
}

const struct lethe_bloom_operations lethe_bloom_classic = {
    .add = classic_add,
    .test = classic_test,
    .add_and_test = classic_add_and_test,
    .add_batch = classic_add_batch,
    .test_batch = classic_test_batch,
    .add_and_test_batch = add_batch,
};
