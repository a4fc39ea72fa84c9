/* sketch/top.h - the most frequent keys, kept beside a sketch: top.c says how. */
#ifndef LETHE_SKETCH_TOP_H
#define LETHE_SKETCH_TOP_H

#include "lethe/sketch.h"

struct lethe_top;

/* One key that is kept. */
struct lethe_top_key {
    lethe_hash hash;
    uint64_t count;    /* the sketch's estimate when it was last changed */
    uint64_t at_least; /* what was seen added since it came in, less what was removed */
    void *bytes;
    uint32_t size, room;
    uint32_t place; /* in the heap */
};

/* Keeps twice as many keys as are asked for. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_top_new(uint32_t wanted, const lethe_allocator *allocator,
                                            struct lethe_top **out);
void lethe_top_free(struct lethe_top *top); /* takes NULL */
void lethe_top_clear(struct lethe_top *top);
LETHE_MUST_CHECK lethe_status lethe_top_copy(const struct lethe_top *top, struct lethe_top **out);

uint32_t lethe_top_count(const struct lethe_top *top);

/* How many keys can be kept at most. */
uint64_t lethe_top_capacity(uint32_t wanted);

/* The kept key number i, in no order; i is below lethe_top_count. */
const struct lethe_top_key *lethe_top_at(const struct lethe_top *top, uint32_t i);

/* The kept key of that hash, or NULL. */
const struct lethe_top_key *lethe_top_find(const struct lethe_top *top, lethe_hash hash);

/* A key was added to the sketch, whose estimate is now count; seen of it is certain. Errors:
 * LETHE_ENOMEM (the key should be kept but can't be; nothing changed). */
LETHE_MUST_CHECK lethe_status lethe_top_added(struct lethe_top *top, lethe_hash hash,
                                              lethe_bytes key, uint64_t seen, uint64_t count);
/* A key was removed from the sketch, whose estimate is now count. */
void lethe_top_removed(struct lethe_top *top, lethe_hash hash, uint64_t weight, uint64_t count);

/* The kept keys by falling count, equal ones by their bytes. Stores an array of pointers, which the
 * caller releases with its size in bytes; NULL when there are none. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_top_sorted(const struct lethe_top *top,
                                               const struct lethe_top_key ***out, size_t *bytes);

/* Orders two keys as above: negative when a comes first. */
int lethe_top_compare(const struct lethe_top_key *a, const struct lethe_top_key *b);

#endif
