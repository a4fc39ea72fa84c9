/* sketch/update.c - adds keys, removes keys and answers how often they were added.
 *
 * IDEA    Every function ends in the operations of the kind (hot.inc.h), on a batch or on a single
 *         key. Items of a batch that cannot be added or removed are left out: what is between two
 *         of them goes as one batch. Keys are hashed KEYS_AT_ONCE at a time, and the list of the
 *         most frequent keys learns of each change. */
#include <string.h>

#include "sketch/sketch.h"
#include "sketch/top.h"

enum { KEYS_AT_ONCE = 256 };

bool lethe_sketch_can_take(const lethe_sketch *sketch, lethe_bytes key) {
    if (key.data == NULL && key.size > 0) return false;
    return sketch->top == NULL || key.size <= LETHE_SKETCH_MAX_KEY_BYTES;
}

bool lethe_sketch_can_remove(const lethe_sketch *sketch) {
    if (sketch->query_only) return false;
    return !lethe_sketch_needs_ds(sketch->shape.kind) || sketch->core.ds != NULL;
}

/* A batch as the public functions take it: hashes, or keys that are still to be hashed. */
struct items {
    const lethe_hash *hashes;
    const lethe_bytes *keys;
    const uint64_t *weights;
    size_t count;
    /* Which of them were done; may be NULL. */
    uint8_t *done;
};

static uint64_t weight_of(const struct items *items, size_t i) {
    return items->weights != NULL ? items->weights[i] : 1;
}

static bool is_valid(const lethe_sketch *sketch, const struct items *items, size_t i) {
    return weight_of(items, i) != 0 &&
           (items->keys == NULL || lethe_sketch_can_take(sketch, items->keys[i]));
}

/* How many items from first on are valid in a row. */
static size_t run_from(const lethe_sketch *sketch, const struct items *items, size_t first) {
    size_t end = first;
    if (items->keys == NULL && items->weights == NULL) return items->count - first;
    while (end < items->count && is_valid(sketch, items, end))
        end++;
    return end - first;
}

static struct items part_of(const struct items *items, size_t first, size_t count) {
    return (struct items){
        .hashes = items->hashes != NULL ? items->hashes + first : NULL,
        .keys = items->keys != NULL ? items->keys + first : NULL,
        .weights = items->weights != NULL ? items->weights + first : NULL,
        .count = count,
        .done = items->done != NULL ? items->done + first : NULL,
    };
}

/* Adds or removes items that are all valid. Keys come at most KEYS_AT_ONCE at a time. */
typedef lethe_status valid_items(lethe_sketch *sketch, const struct items *items);

/* Calls work for all valid items. The status is the first error. */
static lethe_status each_run(lethe_sketch *sketch, const struct items *items, valid_items *work) {
    bool is_small = items->keys == NULL || items->count <= KEYS_AT_ONCE;
    if (is_small && run_from(sketch, items, 0) == items->count) return work(sketch, items);
    lethe_status first_error = LETHE_OK;
    for (size_t first = 0; first < items->count;) {
        size_t run = run_from(sketch, items, first), end = first + run;
        while (first < end) {
            size_t some = end - first;
            if (items->keys != NULL && some > KEYS_AT_ONCE) some = KEYS_AT_ONCE;
            struct items part = part_of(items, first, some);
            lethe_status status = work(sketch, &part);
            if (first_error == LETHE_OK) first_error = status;
            first += some;
        }
        if (first == items->count) break;
        if (items->done != NULL) items->done[first] = 0;
        if (first_error == LETHE_OK) first_error = LETHE_EINVAL;
        first++;
    }
    return first_error;
}

/* The hashes of items, computed into buffer where the items are keys. */
static const lethe_hash *hashes_of(const lethe_sketch *sketch, const struct items *items,
                                   lethe_hash buffer[KEYS_AT_ONCE]) {
    if (items->keys == NULL) return items->hashes;
    lethe_hash_batch(sketch->shape.seed, items->keys, items->count, buffer);
    return buffer;
}

static lethe_status add_valid(lethe_sketch *sketch, const struct items *items) {
    lethe_hash buffer[KEYS_AT_ONCE];
    uint64_t counts[KEYS_AT_ONCE];
    struct lethe_top *top = sketch->top;
    struct lethe_sketch_batch batch = {.hashes = hashes_of(sketch, items, buffer),
                                       .weights = items->weights,
                                       .count = items->count,
                                       .has_keys = items->keys != NULL,
                                       .counts = top != NULL ? counts : NULL};
    sketch->operations->add(&sketch->core, &batch);
    if (items->done != NULL) memset(items->done, 1, items->count);
    lethe_status first_error = LETHE_OK;
    for (size_t i = 0; top != NULL && i < items->count; i++) {
        lethe_status status =
            lethe_top_added(top, batch.hashes[i], items->keys[i], weight_of(items, i), counts[i]);
        if (first_error == LETHE_OK) first_error = status;
    }
    return first_error;
}

/* Removes items of a sketch that keeps no list. */
static lethe_status remove_unlisted(lethe_sketch *sketch, const struct items *items) {
    lethe_hash buffer[KEYS_AT_ONCE];
    uint8_t flags[KEYS_AT_ONCE];
    const lethe_hash *hashes = hashes_of(sketch, items, buffer);
    bool all = true;
    for (size_t first = 0; first < items->count; first += KEYS_AT_ONCE) {
        size_t left = items->count - first, some = left < KEYS_AT_ONCE ? left : KEYS_AT_ONCE;
        uint8_t *done = items->done != NULL ? items->done + first : flags;
        struct lethe_sketch_batch batch = {
            .hashes = hashes + first,
            .weights = items->weights != NULL ? items->weights + first : NULL,
            .count = some,
            .flags = done};
        sketch->operations->remove(&sketch->core, &batch);
        all = all && memchr(done, 0, some) == NULL;
    }
    return all ? LETHE_OK : LETHE_ENOTFOUND;
}

static lethe_status remove_valid(lethe_sketch *sketch, const struct items *items) {
    if (sketch->top == NULL) return remove_unlisted(sketch, items);
    lethe_hash buffer[KEYS_AT_ONCE];
    uint64_t counts[KEYS_AT_ONCE];
    uint8_t flags[KEYS_AT_ONCE];
    struct lethe_sketch_batch batch = {.hashes = hashes_of(sketch, items, buffer),
                                       .weights = items->weights,
                                       .count = items->count,
                                       .counts = counts,
                                       .flags = flags};
    sketch->operations->remove(&sketch->core, &batch);
    bool all = true;
    for (size_t i = 0; i < items->count; i++) {
        if (flags[i])
            lethe_top_removed(sketch->top, batch.hashes[i], weight_of(items, i), counts[i]);
        all = all && flags[i];
        if (items->done != NULL) items->done[i] = flags[i];
    }
    return all ? LETHE_OK : LETHE_ENOTFOUND;
}

/* Whether a batch has its array, and whether the list of the most frequent keys allows hashes. */
static bool is_complete(const lethe_sketch *sketch, const struct items *items) {
    if (items->count > 0 && items->hashes == NULL && items->keys == NULL) return false;
    return sketch->top == NULL || items->keys != NULL || items->count == 0;
}

static lethe_status add_items(lethe_sketch *sketch, const struct items *items) {
    if (sketch == NULL || sketch->query_only || !is_complete(sketch, items)) return LETHE_EINVAL;
    return each_run(sketch, items, add_valid);
}

static lethe_status remove_items(lethe_sketch *sketch, const struct items *items) {
    if (sketch == NULL || !lethe_sketch_can_remove(sketch) || !is_complete(sketch, items))
        return LETHE_EINVAL;
    return each_run(sketch, items, remove_valid);
}

lethe_status lethe_sketch_add_batch(lethe_sketch *sketch, const lethe_hash *hashes, size_t count,
                                    const uint64_t *weights, uint8_t *added) {
    return add_items(
        sketch,
        &(struct items){.hashes = hashes, .weights = weights, .count = count, .done = added});
}

lethe_status lethe_sketch_remove_batch(lethe_sketch *sketch, const lethe_hash *hashes, size_t count,
                                       const uint64_t *weights, uint8_t *removed) {
    return remove_items(
        sketch,
        &(struct items){.hashes = hashes, .weights = weights, .count = count, .done = removed});
}

lethe_status lethe_sketch_add_key_batch(lethe_sketch *sketch, const lethe_bytes *keys, size_t count,
                                        const uint64_t *weights, uint8_t *added) {
    return add_items(
        sketch, &(struct items){.keys = keys, .weights = weights, .count = count, .done = added});
}

lethe_status lethe_sketch_remove_key_batch(lethe_sketch *sketch, const lethe_bytes *keys,
                                           size_t count, const uint64_t *weights,
                                           uint8_t *removed) {
    return remove_items(
        sketch, &(struct items){.keys = keys, .weights = weights, .count = count, .done = removed});
}

/* Single keys of a sketch without a list go straight to the kind: going through a batch would cost
 * as much again as the addition. */

lethe_status lethe_sketch_add_hash(lethe_sketch *sketch, lethe_hash hash, uint64_t weight) {
    if (sketch == NULL || sketch->query_only || sketch->top != NULL || weight == 0)
        return LETHE_EINVAL;
    sketch->operations->add_one(&sketch->core, hash, weight);
    return LETHE_OK;
}

lethe_status lethe_sketch_remove_hash(lethe_sketch *sketch, lethe_hash hash, uint64_t weight) {
    if (sketch == NULL || !lethe_sketch_can_remove(sketch) || sketch->top != NULL || weight == 0)
        return LETHE_EINVAL;
    bool done = sketch->operations->remove_one(&sketch->core, hash, weight);
    return done ? LETHE_OK : LETHE_ENOTFOUND;
}

/* Whether a single key can go by its hash alone. */
static bool goes_by_hash(const lethe_sketch *sketch, lethe_bytes key) {
    return sketch != NULL && sketch->top == NULL && lethe_sketch_can_take(sketch, key);
}

lethe_status lethe_sketch_add(lethe_sketch *sketch, const void *key, size_t size, uint64_t weight) {
    lethe_bytes bytes = {key, size};
    if (!goes_by_hash(sketch, bytes))
        return lethe_sketch_add_key_batch(sketch, &bytes, 1, &weight, NULL);
    return lethe_sketch_add_hash(sketch, lethe_hash_bytes(sketch->shape.seed, key, size), weight);
}

lethe_status lethe_sketch_remove(lethe_sketch *sketch, const void *key, size_t size,
                                 uint64_t weight) {
    lethe_bytes bytes = {key, size};
    if (!goes_by_hash(sketch, bytes))
        return lethe_sketch_remove_key_batch(sketch, &bytes, 1, &weight, NULL);
    return lethe_sketch_remove_hash(sketch, lethe_hash_bytes(sketch->shape.seed, key, size),
                                    weight);
}

lethe_status lethe_sketch_count_batch(const lethe_sketch *sketch, const lethe_hash *hashes,
                                      size_t count, uint64_t *counts, uint8_t *saturated) {
    if (sketch == NULL || ((hashes == NULL || counts == NULL) && count > 0)) return LETHE_EINVAL;
    struct lethe_sketch_batch batch = {.hashes = hashes, .count = count};
    batch.counts = counts;
    batch.flags = saturated;
    sketch->operations->count(&sketch->core, &batch);
    return LETHE_OK;
}

uint64_t lethe_sketch_count_hash(const lethe_sketch *sketch, lethe_hash hash, bool *saturated) {
    if (sketch != NULL) return sketch->operations->count_one(&sketch->core, hash, saturated);
    if (saturated != NULL) *saturated = false;
    return 0;
}

uint64_t lethe_sketch_count(const lethe_sketch *sketch, const void *key, size_t size,
                            bool *saturated) {
    lethe_hash hash = lethe_hash_bytes(lethe_sketch_seed(sketch), key, size);
    return lethe_sketch_count_hash(sketch, hash, saturated);
}
