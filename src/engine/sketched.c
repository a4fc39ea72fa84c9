/* engine/sketched.c - a store that keeps a sketch in place of counters: deciding, reading, catching up.
 *
 * IDEA    Keys that are too many to store: a FID sketch and the most frequent keys take their place. A sketch has no values
 *         to write down, so a commit logs what was added to which key, in order, and the sketch is saved whole now
 *         and then with the number of the commit that it is of. On open, what the log has behind it is done again.
 * I1      The sketch in memory is what the logged deltas make of an empty one, in their order, and nothing else: an
 *         operation that is refused leaves it as it was, to the bit (lethe_sketch_change).
 * I2      No counter that answers is ever full: what would fill one is refused. So no estimate is too low.
 * I3      sketch_ceiling is at least the highest of those counters.
 * WHY     Additions that can't fill a counter, nearly all there are, can't be refused either. They are put off
 *         and made together at the end of their chunk, with their cache misses overlapped: by I3 a look at
 *         one number tells. Whatever can be refused is done at once, behind those.
 * LIMIT   The list of the most frequent keys has the same keys after a restart but for equally frequent ones at its
 *         very end, of which either may be kept. */
#include "core/allocator.h"
#include "engine/detail.h"
#include "engine/engine.h"

enum { SCAN_SHARE = 8 };

static void renew_ceiling(lethe_counter *counter) {
    lethe_sketch_stats stats = lethe_sketch_info(counter->sketch);
    counter->sketch_ceiling = stats.counter_highest;
    counter->sketch_limit = stats.counter_max;
    counter->sketch_unscanned = 0;
}

lethe_status lethe_engine_sketch_settle(lethe_counter *counter) {
    lethe_status status = LETHE_OK;
    if (counter->added_count > 0) {
        status = lethe_sketch_add_keys(counter->sketch, counter->added_keys, counter->added_weights,
                                       counter->added_count);
    }
    counter->added_count = 0;
    return status;
}

/* Whether an operation only adds, and so little that no counter can be full after it. */
static bool is_harmless(const lethe_counter *counter, const lethe_operation *operation,
                        uint64_t *sum) {
    *sum = 0;
    for (size_t i = 0; i < operation->change_count; i++) {
        int64_t delta = operation->changes[i].delta;
        uint64_t room = counter->sketch_limit - counter->sketch_ceiling - *sum;
        if (delta < 0 || (uint64_t)delta >= room) return false;
        *sum += (uint64_t)delta;
    }
    return true;
}

static lethe_status put_off(lethe_counter *counter, const lethe_operation *operation) {
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *change = &operation->changes[i];
        if (change->delta == 0) continue;
        counter->added_keys[counter->added_count] = change->key;
        counter->added_weights[counter->added_count++] = (uint64_t)change->delta;
        if (counter->added_count < LETHE_CHUNK) continue;
        lethe_status status = lethe_engine_sketch_settle(counter);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

static lethe_status change_at_once(lethe_counter *counter, const lethe_operation *operation,
                                   bool *overflows) {
    lethe_status status = lethe_engine_sketch_settle(counter);
    lethe_buffer *deltas = &counter->deltas;
    deltas->size = 0;
    if (status == LETHE_OK &&
        !lethe_buffer_reserve(deltas, operation->change_count * sizeof(lethe_sketch_delta))) {
        status = LETHE_ENOMEM;
    }
    if (status != LETHE_OK) return status;
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *change = &operation->changes[i];
        lethe_sketch_delta delta = {.key = change->key, .delta = change->delta};
        lethe_buffer_append(deltas, &delta, sizeof delta);
        /* Where it is refused the ceiling is higher than need be, until it is next renewed. */
        uint64_t more = change->delta > 0 ? (uint64_t)change->delta : 0;
        uint64_t room = counter->sketch_limit - counter->sketch_ceiling;
        counter->sketch_ceiling += more < room ? more : room;
    }
    status =
        lethe_sketch_change(counter->sketch, (const void *)deltas->data, operation->change_count);
    *overflows = status == LETHE_ENOTFOUND || status == LETHE_EFULL;
    return *overflows ? LETHE_OK : status;
}

static lethe_status log_deltas(lethe_group *group, const lethe_operation *operation) {
    for (size_t i = 0; i < operation->change_count; i++) {
        if (operation->changes[i].delta == 0) continue;
        lethe_status status = lethe_deltas_append(&group->changes, &operation->changes[i]);
        if (status != LETHE_OK) return status;
        group->delta_count++;
    }
    return LETHE_OK;
}

lethe_status lethe_engine_sketch_change(lethe_counter *counter, const lethe_operation *operation,
                                        bool *overflows) {
    *overflows = false;
    uint64_t sum;
    bool harmless = is_harmless(counter, operation, &sum);
    if (!harmless && counter->sketch_unscanned > counter->sketch_scan_after) {
        lethe_status status = lethe_engine_sketch_settle(counter);
        if (status != LETHE_OK) return status;
        renew_ceiling(counter);
        harmless = is_harmless(counter, operation, &sum);
    }
    counter->sketch_unscanned++;
    lethe_status status;
    if (harmless) {
        counter->sketch_ceiling += sum;
        status = put_off(counter, operation);
    } else {
        status = change_at_once(counter, operation, overflows);
    }
    if (status != LETHE_OK || *overflows) return status;
    return log_deltas(lethe_engine_filling(counter), operation);
}

static bool is_key(lethe_bytes key) {
    return key.size >= 1 && key.size <= LETHE_KEY_LIMIT_BYTES;
}

uint64_t lethe_engine_sketch_ask(const lethe_counter *counter, lethe_bytes key) {
    return is_key(key) ? lethe_sketch_query(counter->sketch, key.data, key.size).count : 0;
}

lethe_status lethe_counter_estimate(lethe_counter *counter, const lethe_bytes *keys, size_t count,
                                    lethe_estimate *out) {
    lethe_engine_enter(counter);
    lethe_status status = counter->sketch != NULL ? LETHE_OK : LETHE_EINVAL;
    if (status == LETHE_OK) {
        uint64_t above = (uint64_t)lethe_engine_sketch_error(counter);
        for (size_t i = 0; i < count; i++) {
            uint64_t value = lethe_engine_sketch_ask(counter, keys[i]);
            out[i] = (lethe_estimate){.value = value, .least = value > above ? value - above : 0};
        }
    }
    lethe_engine_leave(counter);
    return status;
}

double lethe_engine_sketch_error(const lethe_counter *counter) {
    return lethe_sketch_get_shape(counter->sketch).epsilon *
           (double)lethe_sketch_total(counter->sketch);
}

/* With the lock: the n most frequent keys, copied, since the sketch's own move when it is next written. */
static lethe_status copy_top(const lethe_counter *counter, size_t n, lethe_buffer *entries,
                             lethe_buffer *keys) {
    size_t listed;
    bool has_room = lethe_buffer_reserve(entries, n * sizeof(lethe_sketch_top_entry));
    if (!has_room || entries->data == NULL) return LETHE_ENOMEM;
    lethe_sketch_top_entry *all = (void *)entries->data;
    lethe_status status = lethe_sketch_top(counter->sketch, all, n, &listed);
    if (status != LETHE_OK) return status;
    entries->size = listed * sizeof *all;
    for (size_t i = 0; i < listed; i++) {
        if (!lethe_buffer_reserve(keys, all[i].size)) return LETHE_ENOMEM;
        lethe_buffer_append(keys, all[i].key, all[i].size);
    }
    return LETHE_OK;
}

lethe_status lethe_engine_sketch_top(lethe_counter *counter, size_t n, lethe_counter_visit visit,
                                     void *context) {
    lethe_buffer entries = {.allocator = counter->allocator};
    lethe_buffer keys = {.allocator = counter->allocator};
    lethe_engine_enter(counter);
    if (n > counter->state.sketch_top) n = counter->state.sketch_top;
    lethe_status status = n > 0 ? copy_top(counter, n, &entries, &keys) : LETHE_OK;
    lethe_engine_leave(counter);
    const lethe_sketch_top_entry *all = (const void *)entries.data;
    size_t listed = entries.size / sizeof *all, at = 0;
    bool goes_on = status == LETHE_OK;
    for (size_t i = 0; i < listed && goes_on; i++) {
        lethe_bytes key = {.data = keys.data + at, .size = all[i].size};
        at += key.size;
        int64_t value = all[i].count > INT64_MAX ? INT64_MAX : (int64_t)all[i].count;
        if (value > 0) goes_on = visit(context, key, value);
    }
    lethe_buffer_free(&entries);
    lethe_buffer_free(&keys);
    return status;
}

/* Makes the changes once more that the log has behind the saved sketch. */
static lethe_status catch_up(lethe_counter *counter, lethe_sketch *sketch,
                             const lethe_sketch_saved *saved, lethe_detail *detail) {
    unsigned char from[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(counter->state.folded + 1, from);
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(counter->store, LETHE_FAMILY_CHANGES,
                                           (lethe_bytes){.data = from, .size = sizeof from}, &walk);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "not enough memory");
    lethe_bytes key, value;
    uint64_t commit;
    counter->segments = counter->folded_segments = 0;
    counter->unfolded_bytes = counter->unfolded_changes = 0;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        if (!lethe_commit_of_key(key, &commit)) status = LETHE_ECORRUPT;
        counter->segments++;
        if (status != LETHE_OK) break;
        if (commit <= saved->cut) {
            counter->folded_segments++;
            continue;
        }
        status = lethe_sketch_store_replay(sketch, value, &counter->unfolded_changes);
        counter->unfolded_bytes += value.size;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status == LETHE_ENOMEM) return lethe_detail_fill(detail, status, "not enough memory");
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status,
                                 "a segment of changes is damaged; restore a backup");
    }
    return ended;
}

static lethe_status load(const lethe_counter *counter, lethe_sketch **out,
                         lethe_sketch_saved *saved, lethe_detail *detail) {
    lethe_status status = lethe_sketch_store_load(counter->store, &counter->state,
                                                  counter->allocator, out, saved, detail);
    if (status != LETHE_OK) return status;
    if (saved->cut >= counter->state.folded && saved->cut <= counter->state.commit) return LETHE_OK;
    lethe_sketch_free(*out);
    *out = NULL;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the sketch is not of a commit that the store's state speaks of; "
                             "restore a backup");
}

lethe_status lethe_engine_sketch_replay(lethe_counter *counter, lethe_detail *detail) {
    lethe_sketch *sketch;
    lethe_sketch_saved saved;
    lethe_status status = load(counter, &sketch, &saved, detail);
    if (status == LETHE_OK) status = catch_up(counter, sketch, &saved, detail);
    if (status != LETHE_OK) {
        lethe_sketch_free(sketch);
        return status;
    }
    lethe_sketch_free(counter->sketch);
    counter->sketch = sketch;
    counter->sketch_saved = saved;
    /* The next commit notes it, where a crash came before that. */
    counter->fold_done = saved.cut;
    lethe_sketch_shape shape = lethe_sketch_get_shape(sketch);
    counter->sketch_scan_after = shape.width * shape.depth / SCAN_SHARE;
    renew_ceiling(counter);
    return LETHE_OK;
}
