/* engine/read.c - reading counters and marks.
 *
 * IDEA    The truth about a counter is in memory if it is there, and in COUNTERS otherwise. A walk merges both: the
 *         values that COUNTERS does not have yet, copied and sorted, and a walk through COUNTERS.
 * WHY     The copy is taken under the lock, the walk is not: writers go on meanwhile. */
#include <stdlib.h>

#include "core/allocator.h"
#include "engine/detail.h"
#include "engine/engine.h"

static lethe_status get_one(lethe_counter *counter, lethe_bytes key, int64_t *value, bool *found) {
    *value = 0;
    *found = false;
    if (key.size < 1 || key.size > LETHE_KEY_LIMIT_BYTES) return LETHE_OK;
    if (counter->sketch != NULL) {
        *value = (int64_t)lethe_engine_sketch_ask(counter, key);
        *found = *value > 0;
        return LETHE_OK;
    }
    const lethe_tally_record *record =
        lethe_tally_find(counter->tally, lethe_engine_tag(counter, key), key);
    if (record != NULL) {
        *value = record->value;
        *found = !record->absent;
        return LETHE_OK;
    }
    if (counter->tally_complete) return LETHE_OK;
    lethe_record stored;
    lethe_detail detail = {""};
    lethe_status status =
        lethe_store_get(counter->store, LETHE_FAMILY_COUNTERS, key, &stored, &detail);
    if (status != LETHE_OK) lethe_engine_remark(counter, &detail);
    if (status != LETHE_OK || stored.data == NULL) return status;
    *found = true;
    status = lethe_value_load((lethe_bytes){.data = stored.data, .size = stored.size}, value);
    lethe_record_release(&stored);
    return status;
}

lethe_status lethe_counter_get(lethe_counter *counter, const lethe_bytes *keys, size_t count,
                               int64_t *values, bool *found) {
    lethe_engine_enter(counter);
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        status = get_one(counter, keys[i], &values[i], &found[i]);
    }
    lethe_engine_leave(counter);
    return status;
}

lethe_status lethe_counter_refresh(lethe_counter *counter, lethe_detail *detail) {
    if (!counter->options.read_only) return LETHE_OK;
    lethe_engine_enter(counter);
    lethe_store *store = lethe_store_share(counter->store);
    uint64_t seen = counter->view_fingerprint;
    lethe_engine_leave(counter);
    /* Not by what was acknowledged: another reader may have seen a commit before it was. */
    bool is_current = lethe_store_fingerprint(lethe_store_folder(store)) == seen;
    lethe_status status =
        is_current ? LETHE_OK : lethe_engine_view(counter, lethe_store_folder(store), detail);
    lethe_store_close(store);
    return status;
}

/* Ends a walk that was made without the lock; what went wrong with it is kept for whoever asks. */
static lethe_status end_walk(lethe_counter *counter, lethe_walk *walk) {
    lethe_detail detail = {""};
    lethe_status status = lethe_walk_end(walk, &detail);
    if (status == LETHE_OK) return LETHE_OK;
    lethe_engine_enter(counter);
    lethe_engine_remark(counter, &detail);
    lethe_engine_leave(counter);
    return status;
}

/* A value that is not in COUNTERS; its key is in the copy's own memory. */
struct unfolded {
    size_t key_at;
    lethe_bytes key;
    int64_t value;
    bool absent;
};

struct copy {
    lethe_buffer entries, keys;
};

static int compare_keys(lethe_bytes a, lethe_bytes b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_key(const void *left, const void *right) {
    return compare_keys(((const struct unfolded *)left)->key,
                        ((const struct unfolded *)right)->key);
}

/* With the lock. */
static lethe_status copy_unfolded(const lethe_counter *counter, lethe_bytes from,
                                  struct copy *copy) {
    uint64_t position = 0;
    const lethe_tally_record *record;
    while ((record = lethe_tally_each(counter->tally, &position)) != NULL) {
        lethe_bytes key = {.data = record->key, .size = record->key_size};
        if (record->stamp <= counter->folded_stamp || compare_keys(key, from) < 0) continue;
        struct unfolded entry = {.key_at = copy->keys.size,
                                 .key = key,
                                 .value = record->value,
                                 .absent = record->absent};
        if (!lethe_buffer_reserve(&copy->entries, sizeof entry) ||
            !lethe_buffer_reserve(&copy->keys, key.size)) {
            return LETHE_ENOMEM;
        }
        lethe_buffer_append(&copy->entries, &entry, sizeof entry);
        lethe_buffer_append(&copy->keys, key.data, key.size);
    }
    struct unfolded *entries = (void *)copy->entries.data;
    size_t count = copy->entries.size / sizeof *entries;
    for (size_t i = 0; i < count; i++) {
        entries[i].key.data = copy->keys.data + entries[i].key_at;
    }
    if (count > 0) qsort(entries, count, sizeof *entries, by_key);
    return LETHE_OK;
}

/* Visits both in order; where a key is in both, the copy counts. */
static lethe_status merge(lethe_walk *walk, const struct copy *copy, lethe_counter_visit visit,
                          void *context) {
    const struct unfolded *entry = (const void *)copy->entries.data;
    const struct unfolded *end = entry + copy->entries.size / sizeof *entry;
    lethe_bytes key, value;
    bool has_stored = lethe_walk_next(walk, &key, &value), goes_on = true;
    /* The first of all says only how far the store is folded. */
    if (has_stored && key.size == 0) has_stored = lethe_walk_next(walk, &key, &value);
    while (goes_on && (has_stored || entry < end)) {
        int order = !has_stored ? -1 : entry == end ? 1 : compare_keys(entry->key, key);
        if (order <= 0) {
            if (!entry->absent) goes_on = visit(context, entry->key, entry->value);
            entry++;
        } else {
            int64_t number;
            if (lethe_value_load(value, &number) != LETHE_OK) return LETHE_ECORRUPT;
            goes_on = visit(context, key, number);
        }
        if (order >= 0 && goes_on) has_stored = lethe_walk_next(walk, &key, &value);
    }
    return LETHE_OK;
}

lethe_status lethe_counter_each(lethe_counter *counter, lethe_bytes from, lethe_counter_visit visit,
                                void *context) {
    if (counter->has_sketch) return LETHE_EINVAL;
    struct copy copy = {.entries = {.allocator = counter->allocator},
                        .keys = {.allocator = counter->allocator}};
    lethe_walk *walk = NULL;
    lethe_engine_enter(counter);
    lethe_status status = copy_unfolded(counter, from, &copy);
    if (status == LETHE_OK) {
        status = lethe_walk_begin(counter->store, LETHE_FAMILY_COUNTERS, from, &walk);
    }
    lethe_engine_leave(counter);
    if (status == LETHE_OK) {
        status = merge(walk, &copy, visit, context);
        lethe_status ended = end_walk(counter, walk);
        if (status == LETHE_OK) status = ended;
    }
    lethe_buffer_free(&copy.entries);
    lethe_buffer_free(&copy.keys);
    return status;
}

/* The n largest so far: a heap with the smallest of them on top. */
struct best {
    int64_t value;
    uint64_t order; /* of its key */
    lethe_bytes key;
};

struct top {
    struct best *heap;
    size_t n, count;
    uint64_t seen;
    const lethe_allocator *allocator;
    lethe_status status;
};

/* Whether a ranks behind b. */
static bool is_behind(const struct best *a, const struct best *b) {
    return a->value != b->value ? a->value < b->value : a->order > b->order;
}

static void sift_down(struct best *heap, size_t count, size_t at) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && is_behind(&heap[child + 1], &heap[child])) child++;
        if (!is_behind(&heap[child], &heap[at])) return;
        struct best moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
        at = child;
    }
}

static void sift_up(struct best *heap, size_t at) {
    while (at > 0 && is_behind(&heap[at], &heap[(at - 1) / 2])) {
        struct best moved = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = moved;
        at = (at - 1) / 2;
    }
}

static bool rank(void *context, lethe_bytes key, int64_t value) {
    struct top *top = context;
    struct best candidate = {.value = value, .order = top->seen++};
    bool is_full = top->count == top->n;
    if (is_full && !is_behind(&top->heap[0], &candidate)) return true;
    void *copy = lethe_alloc_zeroed(top->allocator, key.size);
    if (copy == NULL) {
        top->status = LETHE_ENOMEM;
        return false;
    }
    memcpy(copy, key.data, key.size);
    candidate.key = (lethe_bytes){.data = copy, .size = key.size};
    if (is_full) {
        lethe_release(top->allocator, (void *)(uintptr_t)top->heap[0].key.data,
                      top->heap[0].key.size);
        top->heap[0] = candidate;
        sift_down(top->heap, top->count, 0);
    } else {
        top->heap[top->count++] = candidate;
        sift_up(top->heap, top->count - 1);
    }
    return true;
}

static int by_rank(const void *left, const void *right) {
    return is_behind(left, right) ? 1 : -1;
}

lethe_status lethe_counter_top(lethe_counter *counter, size_t n, lethe_counter_visit visit,
                               void *context) {
    if (counter->has_sketch) return lethe_engine_sketch_top(counter, n, visit, context);
    /* No more than there are, whatever is asked for; with room for those that come meanwhile. */
    lethe_engine_enter(counter);
    uint64_t known = lethe_store_records(counter->store, LETHE_FAMILY_COUNTERS) +
                     lethe_tally_count(counter->tally) + LETHE_GROUP_LIMIT;
    lethe_engine_leave(counter);
    if (n > known) n = (size_t)known;
    if (n == 0) return LETHE_OK;
    struct top top = {.n = n, .allocator = counter->allocator};
    size_t bytes;
    if (!lethe_size_multiply(n, sizeof *top.heap, &bytes)) return LETHE_ENOMEM;
    top.heap = lethe_alloc_zeroed(counter->allocator, bytes);
    if (top.heap == NULL) return LETHE_ENOMEM;
    lethe_status status = lethe_counter_each(counter, (lethe_bytes){0}, rank, &top);
    if (status == LETHE_OK) status = top.status;
    if (status == LETHE_OK) qsort(top.heap, top.count, sizeof *top.heap, by_rank);
    bool goes_on = status == LETHE_OK;
    for (size_t i = 0; i < top.count; i++) {
        if (goes_on) goes_on = visit(context, top.heap[i].key, top.heap[i].value);
        lethe_release(counter->allocator, (void *)(uintptr_t)top.heap[i].key.data,
                      top.heap[i].key.size);
    }
    lethe_release(counter->allocator, top.heap, bytes);
    return status;
}

lethe_status lethe_counter_marks(lethe_counter *counter, lethe_mark_visit visit, void *context) {
    lethe_walk *walk;
    lethe_engine_enter(counter);
    lethe_status status = lethe_walk_begin(counter->store, LETHE_FAMILY_STATE,
                                           (lethe_bytes){.data = "m", .size = 1}, &walk);
    lethe_engine_leave(counter);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    bool goes_on = true;
    while (goes_on && lethe_walk_next(walk, &key, &value)) {
        const char *name = key.data;
        if (key.size < 2 || name[0] != 'm') break;
        goes_on = visit(context, &(lethe_mark){.name = {.data = name + 1, .size = key.size - 1},
                                               .value = value});
    }
    return end_walk(counter, walk);
}
