/* engine/values/walk.h - all counters in the order of their keys, and the largest of them.
 *
 * A walk is begun with the store's lock and made without: writers go on meanwhile. */
#ifndef LETHE_ENGINE_VALUES_WALK_H
#define LETHE_ENGINE_VALUES_WALK_H

#include "engine/buffer.h"
#include "engine/disk/disk.h"

/* Values that COUNTERS does not have yet, copied and sorted, and a walk through COUNTERS. */
typedef struct lethe_value_walk {
    lethe_buffer entries; /* lethe_value_entry each */
    lethe_buffer keys;    /* their bytes */
    lethe_walk *stored;
    /* How far it has come: the next entry, and the next stored record, if has_stored. */
    size_t at;
    bool has_stored, begun;
    /* The stored record was given out, and the next one comes after it. */
    bool steps;
    lethe_bytes stored_key, stored_value;
} lethe_value_walk;

/* A value, and where in `keys` its key begins. */
typedef struct lethe_value_entry {
    size_t key_at;
    lethe_bytes key;
    int64_t value;
    bool absent;
} lethe_value_entry;

/* Copies one value into a walk that is being made. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_value_walk_add(lethe_value_walk *walk, lethe_bytes key,
                                                   int64_t value, bool absent);
/* Sorts what was added: the walk can begin. */
void lethe_value_walk_sort(lethe_value_walk *walk);

/* The next one, valid until the next call; *found false at the end. Errors: LETHE_ECORRUPT. */
LETHE_MUST_CHECK lethe_status lethe_value_walk_next(lethe_value_walk *walk, lethe_bytes *key,
                                                    int64_t *value, bool *found);
/* The next one is the first whose key is not below this one, which is ahead. */
void lethe_value_walk_seek(lethe_value_walk *walk, lethe_bytes key);
/* Visits all, until visit returns false. Errors: LETHE_ECORRUPT. */
LETHE_MUST_CHECK lethe_status lethe_value_walk_visit(lethe_value_walk *walk,
                                                     lethe_store_visit visit, void *context);
/* Frees it; the error that ended the walk through COUNTERS, if there was one. */
LETHE_MUST_CHECK lethe_status lethe_value_walk_end(lethe_value_walk *walk, lethe_detail *detail);

/* As memcmp; a key comes before those that begin with it. */
int lethe_compare_keys(lethe_bytes a, lethe_bytes b);

/* The n largest of what is visited, and among equals the first. */
typedef struct lethe_ranking lethe_ranking;
LETHE_MUST_CHECK lethe_status lethe_ranking_new(size_t n, const lethe_allocator *allocator,
                                                lethe_ranking **out);
void lethe_ranking_free(lethe_ranking *ranking); /* takes NULL */
/* A lethe_store_visit that ranks; the context is the ranking. */
bool lethe_ranking_add(void *context, lethe_bytes key, int64_t value);
/* Visits the largest first. Errors: LETHE_ENOMEM, while it was ranked. */
LETHE_MUST_CHECK lethe_status lethe_ranking_visit(lethe_ranking *ranking, lethe_store_visit visit,
                                                  void *context);

#endif
