/* filter/gaussian/loops.inc.h - the operations on keys, written once for every kind of slot and
 * instruction set.
 *
 * The including file first defines, for its slots,
 *   static inline uint64_t locate(field, bell, position);
 *       the location: what the next three functions need to know of a position
 *   static inline const unsigned char *first_byte(field, bell, location);
 *       of the slots of the bell
 *   static inline bool covers_at(field, bell, location);
 *       whether no slot is below the bell
 *   static inline bool raise_at(field, bell, location);
 *       raises the slots, and returns whether none was below
 * and LAST_BYTE, how far from the first byte a probe usually ends, and OPERATIONS, the name of the
 * table that this file ends with.
 *
 * ORDER    Tests begin with the last hash function, whose bell is the widest. Where another
 *          function filled the slot, the widest bell is contradicted most often. In a filter that
 *          is not full, an absent key then needs little more than one probe.
 * BATCH    As in filter/bloom/classic.c, a batch of tests goes probe by probe: it prefetches for
 *          all keys that are left and then tests them without a branch. While one chunk of keys is
 *          tested, memory is already fetched for the next. The few keys that pass wait until there
 *          are enough of them for their other probes to overlap as well. Only a key's number is
 *          kept; its positions come from the hash again, by a power of the multiplier. */
#include "core/inline.h"
#include "filter/bloom/probe.h"
#include "filter/gaussian/gaussian.h"

enum { TEST_CHUNK = 128, ADD_AHEAD = 8 };

static inline uint64_t locate_hash(const struct lethe_gaussian_field *field,
                                   const struct lethe_gaussian_bell *bell, lethe_hash hash) {
    uint64_t position = lethe_multiply_high(hash.low * bell->power + hash.high, field->range);
    return locate(field, bell, position);
}

static void add_hash(const struct lethe_gaussian_field *field, lethe_hash hash) {
    for (uint32_t i = 0; i < field->hashes; i++) {
        const struct lethe_gaussian_bell *bell = &field->bells[i];
        (void)raise_at(field, bell, locate_hash(field, bell, hash));
    }
}

static bool test_hash(const struct lethe_gaussian_field *field, lethe_hash hash) {
    for (uint32_t i = field->hashes; i-- > 0;) {
        const struct lethe_gaussian_bell *bell = &field->bells[i];
        if (!covers_at(field, bell, locate_hash(field, bell, hash))) return false;
    }
    return true;
}

/* Bells can be tested and raised one by one: if one raises a slot that another asks for, then it
 * found it too low, and the answer is no already. */
static bool add_and_test_hash(const struct lethe_gaussian_field *field, lethe_hash hash) {
    bool all = true;
    for (uint32_t i = 0; i < field->hashes; i++) {
        const struct lethe_gaussian_bell *bell = &field->bells[i];
        all &= raise_at(field, bell, locate_hash(field, bell, hash));
    }
    return all;
}

/* Where a probe begins, and where it ends: it may lie across two lines. */
#define PREFETCH(field, bell, location, write)                                \
    do {                                                                      \
        const unsigned char *probe_bytes = first_byte(field, bell, location); \
        __builtin_prefetch(probe_bytes, write);                               \
        __builtin_prefetch(probe_bytes + LAST_BYTE, write);                   \
    } while (0)

/* Tests one bell of the keys left, whose numbers are in index; keeps those that pass there, and
 * returns how many. */
static inline size_t test_round(const struct lethe_gaussian_field *field,
                                const struct lethe_gaussian_bell *bell, const lethe_hash *hashes,
                                size_t *index, size_t left) {
    uint64_t locations[2 * TEST_CHUNK];
    for (size_t i = 0; i < left; i++) {
        locations[i] = locate_hash(field, bell, hashes[index[i]]);
        PREFETCH(field, bell, locations[i], 0);
    }
    size_t passed = 0;
    for (size_t i = 0; i < left; i++) {
        index[passed] = index[i];
        passed += covers_at(field, bell, locations[i]);
    }
    return passed;
}

/* Tests all bells but the widest, which those in index have passed. */
static void test_others(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                        size_t *index, size_t left, uint8_t *present) {
    for (uint32_t i = field->hashes - 1; i-- > 0 && left > 0;) {
        const struct lethe_gaussian_bell bell = field->bells[i];
        left = test_round(field, &bell, hashes, index, left);
    }
    for (size_t i = 0; i < left; i++)
        present[index[i]] = 1;
}

/* Computes the locations of keys and asks for their lines. */
static inline void ask_for(const struct lethe_gaussian_field *field,
                           const struct lethe_gaussian_bell *bell, const lethe_hash *hashes,
                           size_t count, uint64_t *locations) {
    for (size_t i = 0; i < count; i++) {
        locations[i] = locate_hash(field, bell, hashes[i]);
        PREFETCH(field, bell, locations[i], 0);
    }
}

static inline size_t chunk_at(size_t count, size_t done) {
    return count - done < TEST_CHUNK ? count - done : TEST_CHUNK;
}

static void test_batch(const struct lethe_gaussian_field *shared, const lethe_hash *hashes,
                       size_t count, uint8_t *present) {
    if (count == 0) return;
    /* Copies, which no store below can be taken to change. */
    const struct lethe_gaussian_field field = *shared;
    const struct lethe_gaussian_bell bell = field.bells[field.hashes - 1];
    uint64_t chunks[2][TEST_CHUNK];
    size_t index[2 * TEST_CHUNK], left = 0;
    ask_for(&field, &bell, hashes, chunk_at(count, 0), chunks[0]);
    for (size_t done = 0; done < count;) {
        size_t chunk = chunk_at(count, done), next = done + chunk;
        const uint64_t *locations = chunks[done / TEST_CHUNK % 2];
        ask_for(&field, &bell, hashes + next, chunk_at(count, next), chunks[next / TEST_CHUNK % 2]);
        memset(present + done, 0, chunk);
        for (size_t i = 0; i < chunk; i++) {
            index[left] = done + i;
            left += covers_at(&field, &bell, locations[i]);
        }
        done = next;
        if (left >= TEST_CHUNK || done == count) {
            test_others(&field, hashes, index, left, present);
            left = 0;
        }
    }
}

/* Computes a key's locations into its place of the ring and asks for their lines. */
LETHE_INLINE void prepare(const struct lethe_gaussian_field *field, lethe_hash hash,
                          uint64_t *locations, uint32_t hashes) {
    for (uint32_t i = 0; i < hashes; i++) {
        locations[i] = locate_hash(field, &field->bells[i], hash);
        PREFETCH(field, &field->bells[i], locations[i], 1);
    }
}

/* k is the number of hash functions, which a caller may know. */
LETHE_INLINE void add_many(const struct lethe_gaussian_field *shared, const lethe_hash *hashes,
                           size_t count, uint8_t *present, uint32_t k) {
    const struct lethe_gaussian_field field =
        *shared; /* no store below can be taken to change it */
    uint64_t ring[ADD_AHEAD][LETHE_GAUSSIAN_MAX_HASHES];
    for (size_t i = 0; i < ADD_AHEAD && i < count; i++)
        prepare(&field, hashes[i], ring[i], k);
    for (size_t i = 0; i < count; i++) {
        uint64_t *locations = ring[i % ADD_AHEAD];
        bool all = true;
        for (uint32_t probe = 0; probe < k; probe++)
            all &= raise_at(&field, &field.bells[probe], locations[probe]);
        if (present != NULL) present[i] = all;
        if (i + ADD_AHEAD < count) prepare(&field, hashes[i + ADD_AHEAD], locations, k);
    }
}

/* Knowing the number removes the inner loops: of the usual ones, from an error of 10% to one of
 * 0.5%. */
static void add_batch(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                      size_t count) {
    switch (field->hashes) {
    case 3:
        add_many(field, hashes, count, NULL, 3);
        break;
    case 4:
        add_many(field, hashes, count, NULL, 4);
        break;
    case 5:
        add_many(field, hashes, count, NULL, 5);
        break;
    case 6:
        add_many(field, hashes, count, NULL, 6);
        break;
    case 7:
        add_many(field, hashes, count, NULL, 7);
        break;
    default:
        add_many(field, hashes, count, NULL, field->hashes);
        break;
    }
}

static void add_and_test_batch(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                               size_t count, uint8_t *present) {
    add_many(field, hashes, count, present, field->hashes);
}

static bool covers(const struct lethe_gaussian_field *field, uint32_t bell, uint64_t slot) {
    const struct lethe_gaussian_bell *asked = &field->bells[bell];
    return covers_at(field, asked, locate(field, asked, slot));
}

static void raise(const struct lethe_gaussian_field *field, uint32_t bell, uint64_t slot) {
    const struct lethe_gaussian_bell *asked = &field->bells[bell];
    (void)raise_at(field, asked, locate(field, asked, slot));
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
