/* filter/cascade/table.h - fingerprints in memory: a hash table that is sorted as it lies.
 *
 * A word is a fingerprint followed by its tag. Without ages the tag is one bit: whether the
 * fingerprint has a value of its own, kept beside the slots. One without a value stands for one
 * insertion. With ages the tag is the period of its insertion, counted from the table's first
 * one. */
#ifndef LETHE_CASCADE_TABLE_H
#define LETHE_CASCADE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/cascade/value.h"
#include "lethe/allocator.h"
#include "lethe/status.h"

enum { LETHE_CASCADE_VALUE_TAG_BITS = 1, LETHE_CASCADE_AGE_TAG_BITS = 8 };

/* How words are read: the same for all of a cascade. */
struct lethe_cascade_words {
    unsigned bits;       /* of a fingerprint and its tag; at most 63 */
    unsigned tag_bits;   /* LETHE_CASCADE_VALUE_TAG_BITS or LETHE_CASCADE_AGE_TAG_BITS */
    unsigned range_bits; /* the uppermost bits, which all words of a table share */
};

static inline bool lethe_cascade_has_ages(const struct lethe_cascade_words *words) {
    return words->tag_bits == LETHE_CASCADE_AGE_TAG_BITS;
}

struct lethe_cascade_extra; /* a fingerprint and its value */

struct lethe_cascade_table {
    const lethe_allocator *allocator;
    struct lethe_cascade_words words;
    uint64_t *slots;
    bool has_slots;      /* the slots are words or empty; until the first word they are nothing */
    uint64_t homes;      /* slots that a fingerprint can belong to */
    uint64_t slot_count; /* and some at the end that the last ones can be pushed to */
    uint64_t limit;      /* entries it takes */
    uint64_t count;
    uint64_t tombstones; /* entries whose value cancels something older */
    struct lethe_cascade_extra *extras;
    uint64_t extra_slots, extra_count, extra_limit;
    uint64_t first_key;    /* number of the first key that may be in it */
    uint64_t first_period; /* what tags are counted from */
    uint64_t last_period;
    unsigned readers; /* that walk over it without a lock; under the cascade's lock, as the next */
    bool is_written;  /* to a run: it becomes free when the last reader leaves */
};

/* The slots of a table with that many homes. */
uint64_t lethe_cascade_table_slots(uint64_t homes);
/* Makes an empty table in slots, which stay the caller's and are not touched before the first
 * word. */
void lethe_cascade_table_init(struct lethe_cascade_table *table, struct lethe_cascade_words words,
                              uint64_t homes, uint64_t *slots, const lethe_allocator *allocator);
void lethe_cascade_table_drop(struct lethe_cascade_table *table);
void lethe_cascade_table_clear(struct lethe_cascade_table *table);
/* Memory beside the slots. */
uint64_t lethe_cascade_table_extra_bytes(const struct lethe_cascade_table *table);

/* Has the lines on their way that the word belongs to. */
void lethe_cascade_table_prefetch(const struct lethe_cascade_table *table, uint64_t word);

/* Inserts or removes the word's fingerprint once. LETHE_EFULL: there is no room, nothing changed.
 * Errors: LETHE_EFULL, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_cascade_table_apply(struct lethe_cascade_table *table,
                                                        uint64_t word, bool removes);

/* Whether it has the fingerprint of the word; then its tag, and without ages its value. */
bool lethe_cascade_table_find(const struct lethe_cascade_table *table, uint64_t word, uint64_t *tag,
                              struct lethe_cascade_value *value);

/* Reads on from slot *at: up to room words in order, and the values of those tagged with one.
 * Returns how many; 0 at the end. */
size_t lethe_cascade_table_read(const struct lethe_cascade_table *table, uint64_t *at,
                                uint64_t *words, struct lethe_cascade_value *values, size_t room,
                                size_t *value_count);

#endif
