/* engine/values/bounds.c - bounds that changes carry.
 *
 * IDEA    A bound is not a property of the store: every operation brings its own, so a limit can
 *         differ by user or change by the hour, and nothing is stored for it. What it is compared
 *         with is there anyway: the counter, or its bucket of the present period.
 * I1      Judging changes nothing and logs nothing. So a refusal leaves no trace except in the
 *         number of limited operations, and costs no disk space, however often it is repeated.
 * I2      Sums are wide. So nothing overflows here, and an operation that would cross a bound and
 *         overflow as well is limited: its sender asked for too much, and is told so.
 * I3      All changes of a key change its counter and its present bucket of each resolution by the
 *         same amount. So the changes are taken in the order of their keys, and one sum for each
 *         key decides about all of its bounds.
 * I4      A bucket that retention has dropped lets nothing through: nobody knows what it held. It
 *         can be the present one only if the wall clock was set back (meters/meters.c, WHY).
 * I5      What is held counts as if it had been added: a highest value leaves room for it.
 * WHY     A bound judges only the direction that it is for. Whoever is above a limit that was
 *         lowered can still give back, and whoever is below zero can still pay in. */
#include "engine/values/bounds.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

bool lethe_bounds_are_valid(const lethe_values *values, const lethe_change *change) {
    const uint32_t bounds = LETHE_CHANGE_MAX | LETHE_CHANGE_MIN;
    bool of_bucket = (change->flags & LETHE_CHANGE_BUCKET) != 0;
    if ((change->flags & ~(bounds | LETHE_CHANGE_BUCKET)) != 0) return false;
    if ((change->flags & bounds) == 0) return false;
    if (values->kind != &lethe_counters_values) return false;
    if (!of_bucket) return change->resolution == 0;
    return !values->buckets.by_events && change->resolution < values->meters.count;
}

/* What the bounds of a change are on. */
struct measure {
    int64_t value, held;
    bool is_dropped;
};

static lethe_status measure(lethe_values *values, const lethe_change *change, struct measure *out,
                            lethe_detail *detail) {
    bool found;
    *out = (struct measure){.held = lethe_held_of(values, change)};
    if ((change->flags & LETHE_CHANGE_BUCKET) == 0)
        return lethe_values_read(values, change->key, &out->value, &found, detail);
    return lethe_buckets_read(values, change->resolution, change->key, &out->value,
                              &out->is_dropped, detail);
}

static bool crosses(const lethe_change *change, const struct measure *now, wide moved) {
    wide after = now->value + moved;
    if (moved > 0)
        return (change->flags & LETHE_CHANGE_MAX) != 0 &&
               (now->is_dropped || after + now->held > change->max);
    return (change->flags & LETHE_CHANGE_MIN) != 0 && (now->is_dropped || after < change->min);
}

/* A change, in the order of keys. */
struct sorted {
    const lethe_change *change;
};

/* Changes of one key, which move it by so much together. */
static lethe_status judge_key(lethe_values *values, const lethe_operation *operation,
                              const struct sorted *sorted, size_t count, wide moved,
                              lethe_limit *limits, bool *is_limited, lethe_detail *detail) {
    for (size_t i = 0; i < count && moved != 0; i++) {
        const lethe_change *change = sorted[i].change;
        struct measure now;
        if (change->flags == 0) continue;
        lethe_status status = measure(values, change, &now, detail);
        if (status != LETHE_OK) return status;
        if (!crosses(change, &now, moved)) continue;
        *is_limited = true;
        if (limits == NULL) return LETHE_OK;
        limits[change - operation->changes].is_crossed = true;
    }
    return LETHE_OK;
}

static int compare_keys(const void *a, const void *b) {
    const struct sorted *one = a, *other = b;
    return lethe_compare_keys(one->change->key, other->change->key);
}

static bool has_bounds(const lethe_operation *operation) {
    uint32_t flags = 0;
    for (size_t i = 0; i < operation->change_count; i++)
        flags |= operation->changes[i].flags;
    return flags != 0;
}

lethe_status lethe_bounds_judge(lethe_values *values, const lethe_operation *operation,
                                lethe_limit *limits, bool *is_limited, lethe_detail *detail) {
    size_t count = operation->change_count;
    lethe_buffer *room = &values->counters.undo; /* nothing is to be undone yet */
    struct sorted *sorted;
    *is_limited = false;
    if (!has_bounds(operation)) return LETHE_OK;
    room->size = 0;
    if (!lethe_buffer_reserve(room, count * sizeof *sorted)) return LETHE_ENOMEM;
    sorted = (void *)room->data;
    for (size_t i = 0; i < count; i++)
        sorted[i].change = &operation->changes[i];
    if (count > 1) qsort(sorted, count, sizeof *sorted, compare_keys);
    lethe_status status = LETHE_OK;
    for (size_t from = 0, to; from < count && status == LETHE_OK; from = to) {
        wide moved = sorted[from].change->delta;
        for (to = from + 1; to < count && compare_keys(&sorted[from], &sorted[to]) == 0; to++)
            moved += sorted[to].change->delta;
        status = judge_key(values, operation, sorted + from, to - from, moved, limits, is_limited,
                           detail);
    }
    return status;
}

static int64_t clipped(wide number) {
    if (number < 0) return 0;
    return number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

/* What is left under the bound that the change goes towards. */
static int64_t left_under(const lethe_change *change, const struct measure *now) {
    bool has_max = (change->flags & LETHE_CHANGE_MAX) != 0;
    bool has_min = (change->flags & LETHE_CHANGE_MIN) != 0;
    if (!has_max && !has_min) return INT64_MAX;
    if (now->is_dropped) return 0;
    bool goes_down = has_min && (!has_max || change->delta < 0);
    return clipped(goes_down ? (wide)now->value - change->min
                             : (wide)change->max - now->value - now->held);
}

lethe_status lethe_bounds_stand(lethe_values *values, const lethe_operation *operation,
                                lethe_limit *limits, lethe_detail *detail) {
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *change = &operation->changes[i];
        struct measure now;
        lethe_status status = measure(values, change, &now, detail);
        if (status != LETHE_OK) return status;
        limits[i].value = now.value;
        limits[i].left = left_under(change, &now);
        limits[i].resets_ms = LETHE_NEVER_RESETS;
        if ((change->flags & LETHE_CHANGE_BUCKET) != 0)
            limits[i].resets_ms = (int64_t)lethe_buckets_ends_in_ms(values, change->resolution);
    }
    return LETHE_OK;
}
