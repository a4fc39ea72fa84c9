/* engine/values/sketched.c - a sketch in place of counters: changing and reading it.
 *
 * IDEA    Where the keys are too many to store, a FID sketch and the most frequent keys take the
 *         place of counters. A sketch has no values to write down. So a commit logs what was added
 *         to which key, in order, and the sketch is saved as a whole now and then, with the number
 *         of the commit that it is of. On open, the changes that the log has after it are made
 *         again (sketched_open.c).
 * I1      The sketch in memory is what the logged deltas make of an empty one, in their order, and
 *         nothing else. An operation that is refused leaves it as it was, to the bit
 *         (lethe_sketch_change).
 * I2      No counter that answers is ever full: what would fill one is refused. So no estimate is
 *         too low.
 * I3      `ceiling` is at least the highest of those counters.
 * WHY     An addition that can't fill a counter can't be refused. By I3 one comparison shows this
 *         of nearly all additions. They are put off and made together at the end of their chunk,
 *         with their cache misses overlapped. What may be refused is done at once, after those.
 * LIMIT   After a restart the list of the most frequent keys has the same keys as before, except
 *         that of equally frequent ones at its very end either may be listed. */
#include "engine/values/sketched.h"
#include "core/tunables.h"

void lethe_sketched_renew_ceiling(lethe_sketched *sketched) {
    lethe_sketch_stats stats = LETHE_INIT(lethe_sketch_stats);
    (void)lethe_sketch_info(sketched->sketch, &stats);
    sketched->ceiling = stats.counter_highest;
    sketched->limit = stats.counter_max;
    sketched->unscanned = 0;
}

static void fetch(lethe_values *values, const lethe_operation *operations,
                  const lethe_prepared_one *prepared, size_t count, const uint8_t *outcomes) {
    (void)values, (void)operations, (void)prepared, (void)count,
        (void)outcomes; /* additions overlap by themselves */
}

/* Makes the additions that were put off. */
static lethe_status flush(lethe_sketched *sketched) {
    size_t count = sketched->added_count;
    sketched->added_count = 0;
    if (count == 0) return LETHE_OK;
    return lethe_sketch_add_key_batch(sketched->sketch, sketched->added_keys, count,
                                      sketched->added_weights, NULL);
}

static lethe_status finish_chunk(lethe_values *values) {
    return flush(&values->sketched);
}

/* They point to keys of the caller, which are gone when the call returns. */
static void abandon_chunk(lethe_values *values) {
    values->sketched.added_count = 0;
}

/* Whether an operation only adds, and so little that no counter can be full after it. */
static bool is_harmless(const lethe_sketched *sketched, const lethe_operation *operation,
                        uint64_t *sum) {
    *sum = 0;
    for (size_t i = 0; i < operation->change_count; i++) {
        int64_t delta = operation->changes[i].delta;
        uint64_t room = sketched->limit - sketched->ceiling - *sum;
        if (delta < 0 || (uint64_t)delta >= room) return false;
        *sum += (uint64_t)delta;
    }
    return true;
}

static lethe_status put_off(lethe_sketched *sketched, const lethe_operation *operation) {
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *change = &operation->changes[i];
        if (change->delta == 0) continue;
        sketched->added_keys[sketched->added_count] = change->key;
        sketched->added_weights[sketched->added_count++] = (uint64_t)change->delta;
        if (sketched->added_count < LETHE_CHUNK) continue;
        lethe_status status = flush(sketched);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

static lethe_status change_at_once(lethe_sketched *sketched, const lethe_operation *operation,
                                   bool *overflows) {
    lethe_status status = flush(sketched);
    lethe_buffer *deltas = &sketched->deltas;
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
        /* If the operation is refused, the ceiling is too high until it is next computed. */
        uint64_t more = change->delta > 0 ? (uint64_t)change->delta : 0;
        uint64_t room = sketched->limit - sketched->ceiling;
        sketched->ceiling += more < room ? more : room;
    }
    status =
        lethe_sketch_change(sketched->sketch, (const void *)deltas->data, operation->change_count);
    *overflows = status == LETHE_ENOTFOUND || status == LETHE_EFULL;
    return *overflows ? LETHE_OK : status;
}

static lethe_status log_deltas(lethe_group *group, const lethe_operation *operation) {
    for (size_t i = 0; i < operation->change_count; i++) {
        if (operation->changes[i].delta == 0) continue;
        lethe_status status = lethe_deltas_append(&group->changes, &operation->changes[i]);
        if (status != LETHE_OK) return status;
        group->change_count++;
    }
    return LETHE_OK;
}

static lethe_status change(lethe_values *values, lethe_group *group,
                           const lethe_operation *operation, size_t change_at, bool *overflows,
                           lethe_detail *detail) {
    (void)change_at, (void)detail;
    lethe_sketched *sketched = &values->sketched;
    *overflows = false;
    uint64_t sum;
    bool harmless = is_harmless(sketched, operation, &sum);
    if (!harmless && sketched->unscanned > sketched->scan_after) {
        lethe_status status = flush(sketched);
        if (status != LETHE_OK) return status;
        lethe_sketched_renew_ceiling(sketched);
        harmless = is_harmless(sketched, operation, &sum);
    }
    sketched->unscanned++;
    lethe_status status;
    if (harmless) {
        sketched->ceiling += sum;
        status = put_off(sketched, operation);
    } else {
        status = change_at_once(sketched, operation, overflows);
    }
    if (status != LETHE_OK || *overflows) return status;
    return log_deltas(group, operation);
}

static uint64_t count_of(const lethe_sketched *sketched, lethe_bytes key) {
    return lethe_is_key(key) ? lethe_sketch_count(sketched->sketch, key.data, key.size, NULL) : 0;
}

static lethe_status read(lethe_values *values, lethe_bytes key, int64_t *value, bool *found,
                         lethe_detail *detail) {
    (void)detail;
    lethe_status status = flush(&values->sketched);
    *value = (int64_t)count_of(&values->sketched, key);
    *found = *value > 0;
    return status;
}

static lethe_sketch_shape shape_of(const lethe_sketched *sketched) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    (void)lethe_sketch_get_shape(sketched->sketch, &shape);
    return shape;
}

/* By how much an estimate may be too high, except with the probability delta of the shape. */
static double error_of(const lethe_sketched *sketched) {
    return shape_of(sketched).epsilon * (double)lethe_sketch_total(sketched->sketch);
}

static lethe_status estimate(lethe_values *values, const lethe_bytes *keys, size_t count,
                             lethe_estimate *out) {
    const lethe_sketched *sketched = &values->sketched;
    uint64_t above = (uint64_t)error_of(sketched);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = count_of(sketched, keys[i]);
        out[i] = (lethe_estimate){.value = value, .least = value > above ? value - above : 0};
    }
    return LETHE_OK;
}

/* Copies them: the sketch's own list moves when it is next written. */
static lethe_status copy_top(lethe_values *values, size_t n, lethe_value_walk *list) {
    const lethe_sketched *sketched = &values->sketched;
    if (n > sketched->top) n = sketched->top;
    if (n == 0) return LETHE_OK;
    lethe_buffer buffer = {.allocator = values->allocator};
    bool has_room = lethe_buffer_reserve(&buffer, n * sizeof(lethe_sketch_top_entry));
    if (!has_room || buffer.data == NULL) return LETHE_ENOMEM;
    lethe_sketch_top_entry *top = (void *)buffer.data;
    size_t listed;
    lethe_status status = lethe_sketch_top(sketched->sketch, top, n, &listed);
    for (size_t i = 0; i < listed && status == LETHE_OK; i++) {
        int64_t value = top[i].count > INT64_MAX ? INT64_MAX : (int64_t)top[i].count;
        if (value > 0) status = lethe_value_walk_add(list, top[i].key, value, false);
    }
    lethe_buffer_free(&buffer);
    return status;
}

static void info(lethe_values *values, lethe_store_stats *out) {
    const lethe_sketched *sketched = &values->sketched;
    lethe_sketch_shape shape = shape_of(sketched);
    out->counters_memory_bytes = shape.memory_bytes;
    out->sketch_bytes = sketched->bytes;
    out->sketch_top = sketched->top;
    out->sketch_total = lethe_sketch_total(sketched->sketch);
    out->sketch_error = error_of(sketched);
    out->sketch_delta = shape.delta;
}

static lethe_status begin_segment(lethe_buffer *segment) {
    return lethe_deltas_begin(segment);
}

static lethe_status end_segment(const lethe_values *values, lethe_group *group) {
    (void)values;
    lethe_changes_end(&group->changes, group->change_count); /* written as they were decided */
    return LETHE_OK;
}

static void number_commits(lethe_values *values, uint64_t next_commit, bool is_folding) {
    (void)values, (void)next_commit, (void)is_folding; /* nothing has a stamp */
}

const lethe_values_kind lethe_sketch_values = {
    .open = lethe_sketched_open,
    .close = lethe_sketched_close,
    .prepare_writes = lethe_sketched_prepare_writes,
    .replay = lethe_sketched_replay,
    .load = lethe_sketched_load,
    .fetch = fetch,
    .change = change,
    .finish_chunk = finish_chunk,
    .abandon_chunk = abandon_chunk,
    .read = read,
    .estimate = estimate,
    .copy_top = copy_top,
    .info = info,
    .begin_segment = begin_segment,
    .end_segment = end_segment,
    .number_commits = number_commits,
    .fold_after_bytes = lethe_sketched_fold_after_bytes,
    .is_too_large = lethe_sketched_is_too_large,
    .take_fold = lethe_sketched_take_fold,
    .write_fold = lethe_sketched_write_fold,
    .end_fold = lethe_sketched_end_fold,
    .evict = lethe_sketched_evict,
    .check_begin = lethe_sketched_check_begin,
    .check_segment = lethe_sketched_check_segment,
};
