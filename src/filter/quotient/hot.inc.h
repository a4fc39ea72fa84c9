/* filter/quotient/hot.inc.h - all that touches the slots of a quotient filter, written once for
 * every instruction set and compiled for widths 8, 16 and any. quotient.c describes the layout and
 * its invariants. The parts are hot_find, hot_change and hot_build; batches and the tables of
 * operations are in this file.
 *
 * The including file defines OPERATIONS, the name of the tables that this file ends with.
 *
 * NEAR and FAR. A bucket's entries are almost always in their own block. Then two words, a byte and
 * the block's remainders are all that has to be read: that is "near". Entries that were carried
 * into later blocks, and additions to full blocks, are "far". Far functions do the same in general
 * and are kept out of line. */
#include "filter/quotient/hot_find.inc.h"

#include "filter/quotient/hot_change.inc.h"

#include "filter/quotient/hot_build.inc.h"

/* How many keys ahead a batch asks for memory: about as many as a core can wait for at once. */
enum { AHEAD = 16, LINE_BYTES = 64 };

/* Asks for a block's carry, its marks and, where they are a line or two, its remainders, so that
 * none waits for another. Batches ask twice: when the marks are there, for just those lines of wide
 * remainders that will be needed. */
LETHE_INLINE void prefetch(const struct lethe_quotient_table *table, uint64_t fingerprint,
                           unsigned bits, int for_writing) {
    struct place place = place_of(fingerprint, bits);
    const unsigned char *fields = block_fields(table, place.block, bits);
    __builtin_prefetch(&table->carry[place.block]);
    if (for_writing) {
        __builtin_prefetch(&table->marks[place.block], 1);
    } else {
        __builtin_prefetch(&table->marks[place.block]);
    }
    if (bits > 16) return;
    for (unsigned at = 0; at < 8 * bits; at += LINE_BYTES)
        __builtin_prefetch(fields + at);
    if (bits % 8 != 0) __builtin_prefetch(fields + 8 * (size_t)bits - 1);
}

LETHE_INLINE void prefetch_wide(const struct lethe_quotient_table *table, uint64_t fingerprint,
                                unsigned bits, int for_writing) {
    if (bits <= 16) return;
    struct place place = place_of(fingerprint, bits);
    const struct lethe_quotient_marks *marks = &table->marks[place.block];
    struct run run;
    if (!find_near(marks, table->carry[place.block], place.bucket, &run)) return;
    const unsigned char *fields = block_fields(table, place.block, bits);
    unsigned end = for_writing ? used_slots(marks->ends) + 1 : run.end;
    for (unsigned at = run.start * bits / 8; at < end * bits / 8; at += LINE_BYTES)
        __builtin_prefetch(fields + at);
    __builtin_prefetch(fields + end * bits / 8);
}

LETHE_INLINE size_t add_many(struct lethe_quotient_table *table, const uint64_t *fingerprints,
                             size_t count, size_t *seconds, unsigned bits) {
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch(table, fingerprints[i], bits, 1);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(table, fingerprints[i + AHEAD], bits, 1);
        if (i + AHEAD / 2 < count) prefetch_wide(table, fingerprints[i + AHEAD / 2], bits, 1);
        enum lethe_quotient_outcome outcome = add_one(table, fingerprints[i], bits);
        if (__builtin_expect(outcome != LETHE_QUOTIENT_FIRST, 0)) {
            if (outcome != LETHE_QUOTIENT_SECOND) return i;
            ++*seconds;
        }
    }
    return count;
}

LETHE_INLINE void test_many(const struct lethe_quotient_table *table, const uint64_t *fingerprints,
                            size_t count, uint8_t *present, unsigned bits) {
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch(table, fingerprints[i], bits, 0);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) prefetch(table, fingerprints[i + AHEAD], bits, 0);
        if (i + AHEAD / 2 < count) prefetch_wide(table, fingerprints[i + AHEAD / 2], bits, 0);
        present[i] = copies_of(table, fingerprints[i], bits, false) != 0;
    }
}

/* The table of operations for one width; `bits` is a constant, or the table's own. */
#define DEFINE_OPERATIONS(NAME, BITS)                                                             \
    static unsigned NAME##_copies(const struct lethe_quotient_table *table,                       \
                                  uint64_t fingerprint) {                                         \
        return copies_of(table, fingerprint, BITS, true);                                         \
    }                                                                                             \
    static enum lethe_quotient_outcome NAME##_add(struct lethe_quotient_table *table,             \
                                                  uint64_t fingerprint) {                         \
        return add_one(table, fingerprint, BITS);                                                 \
    }                                                                                             \
    static unsigned NAME##_remove(struct lethe_quotient_table *table, uint64_t fingerprint) {     \
        return remove_one(table, fingerprint, BITS);                                              \
    }                                                                                             \
    static size_t NAME##_add_batch(struct lethe_quotient_table *table,                            \
                                   const uint64_t *fingerprints, size_t count, size_t *seconds) { \
        return add_many(table, fingerprints, count, seconds, BITS);                               \
    }                                                                                             \
    static void NAME##_test_batch(const struct lethe_quotient_table *table,                       \
                                  const uint64_t *fingerprints, size_t count, uint8_t *present) { \
        test_many(table, fingerprints, count, present, BITS);                                     \
    }                                                                                             \
    static size_t NAME##_decode(const struct lethe_quotient_table *table, uint64_t block,         \
                                uint64_t *out) {                                                  \
        return decode_block(table, block, out, BITS);                                             \
    }                                                                                             \
    static void NAME##_append(struct lethe_quotient_builder *builder,                             \
                              const uint64_t *fingerprints, size_t count) {                       \
        struct lethe_quotient_table *table = builder->table;                                      \
        (void)table;                                                                              \
        append_all(builder, fingerprints, count, BITS);                                           \
    }

#define OPERATIONS_OF(NAME)                                                                      \
    {                                                                                            \
        .copies = NAME##_copies, .add = NAME##_add, .remove = NAME##_remove,                     \
        .add_batch = NAME##_add_batch, .test_batch = NAME##_test_batch, .decode = NAME##_decode, \
        .append = NAME##_append, .repeated = count_repeated, .finish = finish_building,          \
    }

DEFINE_OPERATIONS(any, table->bits)
DEFINE_OPERATIONS(bytes, 8)
DEFINE_OPERATIONS(shorts, 16)

const struct lethe_quotient_operations OPERATIONS[LETHE_QUOTIENT_WIDTHS] = {
    [LETHE_QUOTIENT_ANY_WIDTH] = OPERATIONS_OF(any),
    [LETHE_QUOTIENT_8_BITS] = OPERATIONS_OF(bytes),
    [LETHE_QUOTIENT_16_BITS] = OPERATIONS_OF(shorts),
};
