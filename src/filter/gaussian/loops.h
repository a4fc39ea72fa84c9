/* filter/gaussian/loops.h - the operations on keys, written once for every kind of slot and instruction set.
 *
 * The including file first defines, for its slots,
 *   static inline uint64_t unit(const struct lethe_gaussian_field *field);          locations a slot takes
 *   static inline const void *address(const struct lethe_gaussian_field *field, uint64_t location);
 *   static inline bool covers_at(field, bell, uint64_t location);                    no slot is below the bell
 *   static inline bool raise_at(field, bell, uint64_t location);       raises the slots; whether none was below
 * where a location is where the bell begins, and OPERATIONS, the name of the table that this file ends with.
 *
 * ORDER    Tests begin with the last hash function, whose bell is the widest: where another function filled
 *          the slot, the widest bell is contradicted most often. In a filter that is not full, an absent
 *          key then needs little more than one probe.
 * BATCH    As in filter/bloom/classic.c: a batch of tests goes probe by probe, prefetching for all the keys
 *          that are left, then testing them without a branch. Since few pass the first probe, nothing is kept
 *          of a key but its number; positions come from the hash again, by a power of the multiplier. */
#include "filter/bloom/probe.h"
#include "filter/gaussian/gaussian.h"

enum { TEST_CHUNK = 128, ADD_AHEAD = 8 };

static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, lethe_hash hash) {
    uint64_t position = lethe_multiply_high(hash.low * bell->power + hash.high, field->range);
    return position * unit(field) + bell->start;
}

static void add_hash(const struct lethe_gaussian_field *field, lethe_hash hash) {
    for (uint32_t i = 0; i < field->hashes; i++) {
        const struct lethe_gaussian_bell *bell = &field->bells[i];
        (void)raise_at(field, bell, locate(field, bell, hash));
    }
}

static bool test_hash(const struct lethe_gaussian_field *field, lethe_hash hash) {
    for (uint32_t i = field->hashes; i-- > 0;) {
        const struct lethe_gaussian_bell *bell = &field->bells[i];
        if (!covers_at(field, bell, locate(field, bell, hash))) return false;
    }
    return true;
}

/* Bells can be tested and raised one by one: if one raises a slot that another asks for, then it found
 * it too low, and the answer is no already. */
static bool add_and_test_hash(const struct lethe_gaussian_field *field, lethe_hash hash) {
    bool all = true;
    for (uint32_t i = 0; i < field->hashes; i++) {
        const struct lethe_gaussian_bell *bell = &field->bells[i];
        all &= raise_at(field, bell, locate(field, bell, hash));
    }
    return all;
}

/* Tests one bell of the keys left, whose numbers are in index, and keeps those that pass. */
static inline size_t test_round(const struct lethe_gaussian_field *field,
                                const struct lethe_gaussian_bell *bell, const lethe_hash *hashes,
                                uint8_t *index, size_t left) {
    uint64_t locations[TEST_CHUNK];
    for (size_t i = 0; i < left; i++) {
        locations[i] = locate(field, bell, hashes[index[i]]);
        __builtin_prefetch(address(field, locations[i]));
    }
    size_t passed = 0;
    for (size_t i = 0; i < left; i++) {
        uint8_t number = index[i];
        index[passed] = number;
        passed += covers_at(field, bell, locations[i]);
    }
    return passed;
}

static void test_chunk(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                       size_t count, uint8_t *present) {
    uint8_t index[TEST_CHUNK];
    for (size_t i = 0; i < count; i++) {
        index[i] = (uint8_t)i;
        present[i] = 0;
    }
    size_t left = count;
    for (uint32_t i = field->hashes; i-- > 0 && left > 0;)
        left = test_round(field, &field->bells[i], hashes, index, left);
    for (size_t i = 0; i < left; i++)
        present[index[i]] = 1;
}

static void test_batch(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                       size_t count, uint8_t *present) {
    for (size_t done = 0; done < count; done += TEST_CHUNK) {
        size_t chunk = count - done < TEST_CHUNK ? count - done : TEST_CHUNK;
        test_chunk(field, hashes + done, chunk, present + done);
    }
}

/* Computes a key's locations into its place of the ring and asks for their lines. */
static inline void prepare(const struct lethe_gaussian_field *field, lethe_hash hash,
                           uint64_t *locations) {
    for (uint32_t i = 0; i < field->hashes; i++) {
        locations[i] = locate(field, &field->bells[i], hash);
        __builtin_prefetch(address(field, locations[i]), 1);
    }
}

static inline void add_many(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                            size_t count, uint8_t *present) {
    uint64_t ring[ADD_AHEAD][LETHE_GAUSSIAN_MAX_HASHES];
    for (size_t i = 0; i < ADD_AHEAD && i < count; i++)
        prepare(field, hashes[i], ring[i]);
    for (size_t i = 0; i < count; i++) {
        uint64_t *locations = ring[i % ADD_AHEAD];
        bool all = true;
        for (uint32_t probe = 0; probe < field->hashes; probe++)
            all &= raise_at(field, &field->bells[probe], locations[probe]);
        if (present != NULL) present[i] = all;
        if (i + ADD_AHEAD < count) prepare(field, hashes[i + ADD_AHEAD], locations);
    }
}

static void add_batch(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                      size_t count) {
    add_many(field, hashes, count, NULL);
}

static void add_and_test_batch(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                               size_t count, uint8_t *present) {
    add_many(field, hashes, count, present);
}

static bool covers(const struct lethe_gaussian_field *field, uint32_t bell, uint64_t slot) {
    const struct lethe_gaussian_bell *asked = &field->bells[bell];
    return covers_at(field, asked, slot * unit(field) + asked->start);
}

static void raise(const struct lethe_gaussian_field *field, uint32_t bell, uint64_t slot) {
    const struct lethe_gaussian_bell *asked = &field->bells[bell];
    (void)raise_at(field, asked, slot * unit(field) + asked->start);
}

const struct lethe_gaussian_operations OPERATIONS = {
    .add = add_hash,
    .test = test_hash,
    .add_and_test = add_and_test_hash,
    .add_batch = add_batch,
    .test_batch = test_batch,
    .add_and_test_batch = add_and_test_batch,
    .covers = covers,
    .raise = raise,
};
