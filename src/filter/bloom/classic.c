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
 *         probe: prefetch one word for each key of a chunk, then test them all and keep only the
 *         keys that passed, without a branch. Chunks follow each other as through a pipeline: in
 *         one step, one chunk is at its last probe, the next at the probe before, and so on, and a
 *         new one begins. So the words of a chunk are fetched while all others are tested. An add
 *         needs all its words, so they are prefetched a few keys ahead.
 * PAPER   B. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970. */
#include "core/inline.h"
#include "filter/bloom/bloom.h"
#include "filter/bloom/probe.h"

enum {
    TEST_CHUNK = 32,
    ADD_AHEAD = 8,
    MAX_HASHES = 64,
    /* The bits of a large filter are fetched into the second cache only: more lines can be on their
     * way to that one. */
    LARGE_BITS = 1 << 28,
    FIRST_CACHE = 3,
    SECOND_CACHE = 2
};

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

/* The keys of a chunk that have passed all probes so far: their numbers in the batch, and the bits
 * of their next probe, which are being fetched. */
struct survivors {
    size_t count;
    size_t index[TEST_CHUNK];
    uint64_t position[TEST_CHUNK];
};

/* Asks for the bits of a probe; power is the multiplier's, M^(probe + 1). */
LETHE_INLINE void ask(const struct lethe_bloom_bits *bits, const lethe_hash *hashes, uint64_t power,
                      struct survivors *keys) {
    for (size_t i = 0; i < keys->count; i++) {
        /* All below count are set. The analyzer can't follow that.
         * NOLINTNEXTLINE(clang-analyzer-core.*) */
        lethe_hash hash = hashes[keys->index[i]];
        uint64_t position = lethe_multiply_high(hash.low * power + hash.high, bits->range);
        if (bits->range < LARGE_BITS) {
            __builtin_prefetch(&bits->words[position / 64], 0, FIRST_CACHE);
        } else {
            __builtin_prefetch(&bits->words[position / 64], 0, SECOND_CACHE);
        }
        keys->position[i] = position;
    }
}

LETHE_INLINE uint64_t bit_at(const struct lethe_bloom_bits *bits, uint64_t position) {
    return bits->words[position / 64] >> (position % 64) & 1;
}

/* Tests the keys of a chunk and hands on those that pass. */
LETHE_INLINE void test_probe(const struct lethe_bloom_bits *bits, const struct survivors *keys,
                             struct survivors *passed) {
    size_t count = 0;
    for (size_t i = 0; i < keys->count; i++) {
        passed->index[count] = keys->index[i];
        count += bit_at(bits, keys->position[i]);
    }
    passed->count = count;
}

static void classic_test_batch(const struct lethe_bloom_bits *shared, const lethe_hash *hashes,
                               size_t count, uint8_t *present) {
    const struct lethe_bloom_bits bits = *shared; /* no store below can be taken to change it */
    const uint32_t last = bits.hashes - 1;
    struct survivors chunks[MAX_HASHES]; /* at each probe */
    uint64_t powers[MAX_HASHES], power = 1;
    for (uint32_t i = 0; i <= last; i++)
        powers[i] = power *= LETHE_BLOOM_MULTIPLIER;
    /* Only chunks at probes first to end - 1 exist. */
    uint32_t first = 0, end = 0;
    for (size_t done = 0; done < count || first < end;) {
        if (end > last) {
            const struct survivors *keys = &chunks[last];
            for (size_t i = 0; i < keys->count; i++)
                present[keys->index[i]] = (uint8_t)bit_at(&bits, keys->position[i]);
            end = last;
        }
        for (uint32_t i = end; i-- > first;) {
            test_probe(&bits, &chunks[i], &chunks[i + 1]);
            ask(&bits, hashes, powers[i + 1], &chunks[i + 1]);
        }
        end++;
        if (done == count) {
            first++;
            continue;
        }
        chunks[0].count = count - done < TEST_CHUNK ? count - done : TEST_CHUNK;
        for (size_t i = 0; i < chunks[0].count; i++) {
            chunks[0].index[i] = done + i;
            present[done + i] = 0;
        }
        ask(&bits, hashes, powers[0], &chunks[0]);
        done += chunks[0].count;
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
