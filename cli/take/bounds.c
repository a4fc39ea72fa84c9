/* bounds.c - reads limits, whoever gives them. */
#include "take/bounds.h"

#include <stdio.h>
#include <string.h>

#include "events/number.h"

static bool reject(const char *option, lethe_bytes text, struct event_problem *problem) {
    struct event_excerpt excerpt;
    event_problem_set(problem,
                      "%s '%s' is not a limit; give a number, and a period after a slash if the "
                      "limit is per period, such as 1000 or 10/1m",
                      option, event_excerpt(text, &excerpt));
    return false;
}

/* One of them: NUMBER or NUMBER/PERIOD. */
static bool read_one(const char *option, lethe_bytes text, struct bound *out,
                     struct event_problem *problem) {
    const char *slash = memchr(text.data, '/', text.size);
    struct decimal number;
    out->option = option;
    out->text = text;
    out->period[0] = '\0';
    if (slash != NULL) {
        out->text.size = (size_t)(slash - (const char *)text.data);
        size_t size = text.size - out->text.size - 1;
        if (size == 0 || size >= BOUND_PERIOD_BYTES) return reject(option, text, problem);
        memcpy(out->period, slash + 1, size);
        out->period[size] = '\0';
    }
    return decimal_parse(out->text, &number) || reject(option, text, problem);
}

bool bounds_add(struct bounds *bounds, const char *option, lethe_bytes list, bool is_max,
                struct event_problem *problem) {
    const char *at = list.data, *end = at + list.size;
    do {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        if (bounds->count == BOUNDS_LIMIT) {
            event_problem_set(problem, "there are more than %d limits", BOUNDS_LIMIT);
            return false;
        }
        struct bound *bound = &bounds->each[bounds->count++];
        bound->is_max = is_max;
        if (!read_one(option, (lethe_bytes){at, (size_t)(stop - at)}, bound, problem)) return false;
        at = comma != NULL ? comma + 1 : NULL;
    } while (at != NULL);
    return true;
}

bool bounds_set_scale(struct bounds *bounds, unsigned scale, struct event_problem *problem) {
    for (size_t i = 0; i < bounds->count; i++) {
        struct bound *bound = &bounds->each[i];
        enum decimal_problem reason = decimal_parse_scaled(bound->text, scale, &bound->value);
        if (reason == DECIMAL_FINE) continue;
        event_problem_number(problem, "limit", bound->text, scale, reason);
        return false;
    }
    return true;
}

void bounds_refuse_time(const char *name, const char *period, struct event_problem *problem) {
    event_problem_set(problem,
                      "%s goes by the time of its events: whoever sends an old time would escape "
                      "a limit per %s; leave the period out, or use a store without times",
                      name, period);
}

bool bounds_find(struct bounds *bounds, const lethe_store *store, const char *name,
                 struct event_problem *problem) {
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    if (bounds->count == 0) return true;
    (void)lethe_store_info(store, &stats);
    if (stats.sketch_bytes > 0) {
        event_problem_set(problem,
                          "%s keeps a sketch: its values are estimates, and no limit can be kept "
                          "by them; use a store with counters",
                          name);
        return false;
    }
    for (size_t i = 0; i < bounds->count; i++) {
        struct bound *bound = &bounds->each[i];
        if (bound->period[0] == '\0') continue;
        if (stats.event_time) {
            bounds_refuse_time(name, bound->period, problem);
            return false;
        }
        if (lethe_store_resolution(store, bound->period, &bound->resolution) == LETHE_OK) continue;
        event_problem_set(problem,
                          "%s does not count per %s, so it can't keep a limit on that; add the "
                          "period with --per%s%s",
                          name, bound->period, stats.per[0] != '\0' ? ", beside " : "", stats.per);
        return false;
    }
    return true;
}

void bound_put(const struct bound *bound, lethe_change *change) {
    change->flags = bound->is_max ? LETHE_CHANGE_MAX : LETHE_CHANGE_MIN;
    if (bound->period[0] != '\0') change->flags |= LETHE_CHANGE_BUCKET;
    change->resolution = bound->resolution;
    change->max = change->min = bound->value;
}

bool bounds_is_nearer(const lethe_limit *one, const lethe_limit *other) {
    if (one->is_crossed != other->is_crossed) return one->is_crossed;
    if (!one->is_crossed) return one->left < other->left;
    if (other->resets_ms == LETHE_NEVER_RESETS) return false;
    return one->resets_ms == LETHE_NEVER_RESETS || one->resets_ms > other->resets_ms;
}

lethe_status bounds_apply(lethe_store *store, lethe_bytes id, lethe_bytes key, int64_t amount,
                          const struct bounds *bounds, lethe_outcome *out, lethe_limit *limit) {
    lethe_change changes[BOUNDS_LIMIT] = {{.key = key, .delta = amount}};
    lethe_limit limits[BOUNDS_LIMIT];
    for (size_t i = 0; i < bounds->count; i++) {
        changes[i].key = key;
        changes[i].delta = i == 0 ? amount : 0;
        bound_put(&bounds->each[i], &changes[i]);
    }
    lethe_operation operation = {.id = id, .changes = changes, .change_count = bounds->count};
    uint8_t outcome = 0;
    lethe_status status = lethe_store_apply_bounded(store, &operation, 1, &outcome, limits);
    *out = (lethe_outcome)outcome;
    *limit = limits[0];
    for (size_t i = 1; i < bounds->count && status == LETHE_OK; i++) {
        if (bounds_is_nearer(&limits[i], limit)) *limit = limits[i];
    }
    return status;
}
