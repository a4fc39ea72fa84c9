/* sketch/list.c - the most frequent keys of a sketch: the public list, and the list of two
 * sketches. */
#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "sketch/sketch.h"
#include "sketch/top.h"

static int compare_entries(const void *a, const void *b) {
    const lethe_sketch_top_entry *first = a, *second = b;
    return lethe_top_order(first->count, first->key, second->count, second->key);
}

lethe_status lethe_sketch_top(const lethe_sketch *sketch, lethe_sketch_top_entry *entries,
                              size_t room, size_t *listed) {
    if (listed == NULL) return LETHE_EINVAL;
    *listed = 0;
    if (sketch == NULL || sketch->top == NULL || (entries == NULL && room > 0)) return LETHE_EINVAL;
    uint32_t count = lethe_top_count(sketch->top);
    if (count == 0) return LETHE_OK;
    size_t bytes = count * sizeof(lethe_sketch_top_entry);
    lethe_sketch_top_entry *all = lethe_alloc_zeroed(sketch->allocator, bytes);
    if (all == NULL) return LETHE_ENOMEM;
    bool never_under = lethe_sketch_never_under(sketch->shape.kind);
    for (uint32_t i = 0; i < count; i++) {
        const struct lethe_top_key *key = lethe_top_at(sketch->top, i);
        uint64_t now = lethe_sketch_count_hash(sketch, key->hash, NULL);
        /* If the kind never under-estimates, both are upper bounds and the lower one is better. If
         * it errs in both directions, the newer estimate is better. */
        uint64_t best = never_under && key->count < now ? key->count : now;
        if (best < key->at_least) best = key->at_least;
        all[i] = (lethe_sketch_top_entry){
            .key = {key->bytes, key->size}, .count = best, .at_least = key->at_least};
    }
    qsort(all, count, sizeof *all, compare_entries);
    if (room > sketch->shape.top) room = sketch->shape.top;
    if (room > count) room = count;
    if (room > 0) memcpy(entries, all, room * sizeof *all);
    *listed = room;
    lethe_release(sketch->allocator, all, bytes);
    return LETHE_OK;
}

static uint64_t saturating_sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Puts the keys of one list into the merged list, in their order. The other sketch's share of a
 * key is what its list says, or else its counters. Keys of both lists are left out of the second
 * list's part. */
static lethe_status merge_keys(const lethe_sketch *one, const lethe_sketch *two, bool is_second,
                               struct lethe_top *merged) {
    const struct lethe_top_key **keys;
    size_t bytes;
    lethe_status status = lethe_top_sorted(one->top, &keys, &bytes);
    for (uint32_t i = 0; i < lethe_top_count(one->top) && status == LETHE_OK; i++) {
        const struct lethe_top_key *key = keys[i];
        const struct lethe_top_key *twin = lethe_top_find(two->top, key->hash);
        if (twin != NULL && is_second) continue;
        uint64_t more = twin != NULL ? twin->count : lethe_sketch_count_hash(two, key->hash, NULL);
        uint64_t seen = twin != NULL ? twin->at_least : 0;
        status =
            lethe_top_added(merged, key->hash, (lethe_bytes){key->bytes, key->size},
                            saturating_sum(key->at_least, seen), saturating_sum(key->count, more));
    }
    lethe_release(one->allocator, keys, bytes);
    return status;
}

lethe_status lethe_sketch_merge_lists(const lethe_sketch *sketch, const lethe_sketch *other,
                                      struct lethe_top **out) {
    lethe_status status = lethe_top_new(sketch->shape.top, sketch->allocator, out);
    if (status == LETHE_OK) status = merge_keys(sketch, other, false, *out);
    if (status == LETHE_OK) status = merge_keys(other, sketch, true, *out);
    if (status == LETHE_OK) return LETHE_OK;
    lethe_top_free(*out);
    *out = NULL;
    return status;
}
