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
 *         new one begins. So the words of a chunk are fetched while all others are tested. A key
 *         that has passed three probes is probably present. From then on a step is four probes,
 *         which takes fewer instructions for each.
 *         In a small filter there is nothing to wait for, and what counts is branches that were
 *         not foreseen. Most absent keys are sorted out probe by probe as above, and the others
 *         are tested singly. Where most keys are present, all of them are.
 *         An add needs all its words, so they are prefetched a few keys ahead.
 * PAPER   B. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970. */
#include "core/inline.h"
#include "filter/bloom/bloom.h"
#include "filter/bloom/probe.h"

enum {
    TEST_CHUNK = 32,
    ADD_AHEAD = 8,
    MAX_HASHES = 64,
    /* An absent key that has passed SINGLE_PROBES asks for GROUP bits, of which it needs two: one
     * key of eight does so where half of the bits are set. */
    SINGLE_PROBES = 3,
    GROUP = 4,
    MAX_STEPS = SINGLE_PROBES + (MAX_HASHES - SINGLE_PROBES + GROUP - 1) / GROUP,
    /* Filters below 2 MiB are in the second cache, or almost. */
    CACHED_BITS = 1 << 24,
    CACHED_CHUNK = 128,
    CACHED_ROUNDS = 4,
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

LETHE_INLINE uint64_t bit_at(const struct lethe_bloom_bits *bits, uint64_t position) {
    return bits->words[position / 64] >> (position % 64) & 1;
}

/* Whether most of the keys, and not only a few, have passed. */
LETHE_INLINE bool are_most(size_t passed, size_t of) {
    return passed * 4 >= of * 3;
}

/* Of each array of keys, those below its count are set; and of chunks, those that exist. The
 * analyzer can't follow that.
 * NOLINTBEGIN(clang-analyzer-core.*) */

/* Tests one probe of the keys of a chunk and keeps the numbers of those that pass; power is the
 * multiplier's, M^(probe + 1). Returns how many they are. */
LETHE_INLINE size_t keep(const struct lethe_bloom_bits *bits, const lethe_hash *chunk,
                         uint64_t power, uint32_t *index, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        lethe_hash hash = chunk[index[i]];
        index[kept] = index[i];
        kept += bit_at(bits, lethe_multiply_high(hash.low * power + hash.high, bits->range));
    }
    return kept;
}

/* A batch in a filter that the caches hold: nothing is fetched ahead. */
static void test_cached(const struct lethe_bloom_bits *shared, const lethe_hash *hashes,
                        size_t count, uint8_t *present) {
    const struct lethe_bloom_bits bits = *shared; /* no store below can be taken to change it */
    uint32_t index[CACHED_CHUNK];
    bool most = false;
    for (size_t done = 0, size; done < count; done += size) {
        const lethe_hash *chunk = hashes + done;
        size = count - done < CACHED_CHUNK ? count - done : CACHED_CHUNK;
        for (size_t i = 0; i < size; i++) {
            index[i] = (uint32_t)i;
            present[done + i] = 0;
        }
        uint64_t power = 1;
        uint32_t probe = 0;
        size_t left = size, found = 0;
        for (; !most && probe < CACHED_ROUNDS && probe < bits.hashes; probe++) {
            power *= LETHE_BLOOM_MULTIPLIER;
            left = keep(&bits, chunk, power, index, left);
            most = probe == 0 && are_most(left, size);
        }
        struct lethe_bloom_bits rest = bits;
        rest.hashes -= probe;
        for (size_t i = 0; i < left; i++) {
            lethe_hash hash = chunk[index[i]];
            hash.low *= power;
            bool passed = classic_test(&rest, hash);
            present[done + index[i]] = passed;
            found += passed;
        }
        most = are_most(found, size);
    }
}

/* Probes of a key that are fetched and tested together: how many, 1 or GROUP, and the multiplier's
 * power of the first of them. */
struct step {
    uint32_t probes;
    uint64_t power;
};

/* The keys of a chunk that have passed all steps so far: their numbers in the batch, and the bits
 * of their next probes, which are being fetched. */
struct survivors {
    size_t count;
    size_t index[TEST_CHUNK];
    uint64_t positions[GROUP][TEST_CHUNK];
};

/* Divides the probes of a key into steps. Returns how many they are. The last group reaches back,
 * so that it is whole: to test a bit twice changes nothing. */
static uint32_t plan_steps(uint32_t hashes, struct step *steps) {
    uint64_t powers[MAX_HASHES], power = 1;
    for (uint32_t i = 0; i < hashes; i++)
        powers[i] = power *= LETHE_BLOOM_MULTIPLIER;
    uint32_t count = 0;
    for (uint32_t i = 0; i < hashes;) {
        bool single = i < SINGLE_PROBES || hashes < GROUP;
        uint32_t first = single || i + GROUP <= hashes ? i : hashes - GROUP;
        uint32_t probes = single ? 1 : GROUP;
        steps[count++] = (struct step){probes, powers[first]};
        i += probes;
    }
    return count;
}

/* Asks for the bits of a step. */
LETHE_INLINE void ask_probes(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                             uint64_t power, uint32_t probes, struct survivors *keys) {
    for (size_t i = 0; i < keys->count; i++) {
        lethe_hash hash = hashes[keys->index[i]];
        uint64_t state = hash.low * power;
        for (uint32_t probe = 0; probe < probes; probe++) {
            uint64_t position = lethe_multiply_high(state + hash.high, bits->range);
            if (bits->range < LARGE_BITS) {
                __builtin_prefetch(&bits->words[position / 64], 0, FIRST_CACHE);
            } else {
                __builtin_prefetch(&bits->words[position / 64], 0, SECOND_CACHE);
            }
            keys->positions[probe][i] = position;
            state *= LETHE_BLOOM_MULTIPLIER;
        }
    }
}

LETHE_INLINE void ask(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                      const struct step *step, struct survivors *keys) {
    if (step->probes == 1) {
        ask_probes(bits, hashes, step->power, 1, keys);
    } else {
        ask_probes(bits, hashes, step->power, GROUP, keys);
    }
}

LETHE_INLINE size_t test_probes(const struct lethe_bloom_bits *bits, const struct survivors *keys,
                                uint32_t probes, size_t *passed) {
    size_t count = 0;
    for (size_t i = 0; i < keys->count; i++) {
        passed[count] = keys->index[i];
        uint64_t all = 1;
        for (uint32_t probe = 0; probe < probes; probe++)
            all &= bit_at(bits, keys->positions[probe][i]);
        count += all;
    }
    return count;
}

/* Tests the keys of a chunk and hands on the numbers of those that pass. Returns how many they
 * are. */
LETHE_INLINE size_t test_step(const struct lethe_bloom_bits *bits, const struct step *step,
                              const struct survivors *keys, size_t *passed) {
    return step->probes == 1 ? test_probes(bits, keys, 1, passed)
                             : test_probes(bits, keys, GROUP, passed);
}

/* A batch in a filter that the caches do not hold: as through a pipeline. */
static void test_fetched(const struct lethe_bloom_bits *shared, const lethe_hash *hashes,
                         size_t count, uint8_t *present) {
    const struct lethe_bloom_bits bits = *shared; /* no store below can be taken to change it */
    struct step steps[MAX_STEPS];
    const uint32_t last = plan_steps(bits.hashes, steps) - 1;
    struct survivors chunks[MAX_STEPS]; /* at each step */
    size_t passed[TEST_CHUNK];
    /* Only chunks at steps first to end - 1 exist. */
    uint32_t first = 0, end = 0;
    for (size_t done = 0; done < count || first < end;) {
        if (end > last) {
            size_t found = test_step(&bits, &steps[last], &chunks[last], passed);
            for (size_t i = 0; i < found; i++)
                present[passed[i]] = 1;
            end = last;
        }
        for (uint32_t i = end; i-- > first;) {
            struct survivors *next = &chunks[i + 1];
            next->count = test_step(&bits, &steps[i], &chunks[i], next->index);
            ask(&bits, hashes, &steps[i + 1], next);
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
        ask(&bits, hashes, &steps[0], &chunks[0]);
        done += chunks[0].count;
    }
}

/* NOLINTEND(clang-analyzer-core.*) */

static void classic_test_batch(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                               size_t count, uint8_t *present) {
    if (bits->range < CACHED_BITS) {
        test_cached(bits, hashes, count, present);
    } else {
        test_fetched(bits, hashes, count, present);
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
