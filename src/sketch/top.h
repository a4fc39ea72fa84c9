/* sketch/top.h - the list of the most frequent keys of a sketch; top.c has the essay. */
#ifndef LETHE_SKETCH_TOP_H
#define LETHE_SKETCH_TOP_H

#include "lethe/sketch.h"

struct lethe_top;

/* A key in the list. */
struct lethe_top_key {
    lethe_hash hash;

    /* The sketch's estimate when the key was last changed. */
    uint64_t count;
    /* What was added since the key entered the list, minus what was removed. */
    uint64_t at_least;

    /* The key itself: size bytes of an allocation of room bytes. */
    void *bytes;
    uint32_t size, room;

    /* Its index in the heap. */
    uint32_t place;
};

/* Makes an empty list, which will keep twice as many keys as wanted. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_top_new(uint32_t wanted, const lethe_allocator *allocator,
                                            struct lethe_top **out);
/* Takes NULL. */
void lethe_top_free(struct lethe_top *top);
void lethe_top_clear(struct lethe_top *top);
LETHE_MUST_CHECK lethe_status lethe_top_copy(const struct lethe_top *top, struct lethe_top **out);

uint32_t lethe_top_count(const struct lethe_top *top);

/* How many keys a list keeps at most. */
uint64_t lethe_top_capacity(uint32_t wanted);

/* Key number i of the list, in no particular order; i < lethe_top_count. */
const struct lethe_top_key *lethe_top_at(const struct lethe_top *top, uint32_t i);

/* The key with that hash, or NULL. */
const struct lethe_top_key *lethe_top_find(const struct lethe_top *top, lethe_hash hash);

/* Reports that a key was added to the sketch with weight seen, and that its estimate is now count.
 * Errors: LETHE_ENOMEM (the key belongs in the list but could not be stored; nothing changed). */
LETHE_MUST_CHECK lethe_status lethe_top_added(struct lethe_top *top, lethe_hash hash,
                                              lethe_bytes key, uint64_t seen, uint64_t count);
/* Reports that weight of a key was removed from the sketch, and that its estimate is now count. */
void lethe_top_removed(struct lethe_top *top, lethe_hash hash, uint64_t weight, uint64_t count);

/* Stores an array of pointers to the keys, by descending count and then by their bytes. The caller
 * releases it with its size in bytes. It is NULL if the list is empty. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_top_sorted(const struct lethe_top *top,
                                               const struct lethe_top_key ***out, size_t *bytes);

/* That order: negative if a comes first. lethe_top_order compares counts and bytes of keys. */
int lethe_top_order(uint64_t count_a, lethe_bytes a, uint64_t count_b, lethe_bytes b);
int lethe_top_compare(const struct lethe_top_key *a, const struct lethe_top_key *b);

#endif
