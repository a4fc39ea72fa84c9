/* module/once/bounds.c - limits that a command carries.
 *
 * IDEA    A bound is not a property of the table: every command brings its own, so a limit can
 *         differ by user or change by the hour, and nothing is stored for it. What it is compared
 *         with is there anyway: the counter's total, or its bucket of the present period.
 * FLOORS  LIMIT judges increases and FLOOR decreases. So a counter that is beyond a bound, because
 *         another command has another one, may always be brought back.
 * SLIDING Buckets begin all at once, so twice a bound fits around a border: all of it at the end of
 *         one period, and again at the beginning of the next. A sliding bound takes from the bucket
 *         before, of value p, the share that is less than a period ago: with a share f of the
 *         present period gone, it compares c + (1 - f) p, rounded up, where c is the present
 *         bucket.
 * ERROR   That takes p for evenly spread. If it all came at the end, as much as f p is missed:
 *         within a span of x periods, x <= 1, at most (1 + x) times the bound goes through, and
 *         never more than the bound at once. If it all came at the beginning, as much as (1 - f) p
 *         is counted that should not be. For p evenly spread there is no error except the rounding.
 * HELD    What is held (holds.c) counts as if it had been added, in the bucket of its time, for
 *         LIMIT; it may still be released, so FLOOR does not count it.
 * I1      Sums and products are wide: no bound and no amount overflows. */
#include "once/bounds.h"

#include "command/options.h"
#include "once/ranges.h"
#include "server/errors.h"

__extension__ typedef __int128 wide;

/* --- Reading them */

static const char *parse_bound(redis_string **words, int count, int *at, struct bound *out) {
    *out = (struct bound){.is_floor = is_word(words[*at], "FLOOR")};
    if (*at + 1 >= count) return ERROR_LIMIT_SYNTAX;
    const char *problem = range_number(&range_integer, out->is_floor ? "FLOOR" : "LIMIT",
                                       words[*at + 1], &out->limit);
    if (problem != NULL) return problem;
    for (*at += 2; *at < count; ++*at) {
        if (is_word(words[*at], "SLIDING")) {
            out->is_sliding = true;
        } else if (!is_word(words[*at], "PER")) {
            break;
        } else if (++*at >= count) {
            return ERROR_LIMIT_SYNTAX;
        } else if (!period_parse(words[*at], &out->period_ms)) {
            return range_problem(&range_period, "PER", words[*at]);
        }
    }
    bool may_slide = out->period_ms != 0 && !out->is_floor;
    return out->is_sliding && !may_slide ? ERROR_SLIDING : NULL;
}

const char *bounds_parse(redis_string **words, int count, struct bounds *out) {
    *out = (struct bounds){0};
    for (int i = 0; i < count;) {
        if (is_word(words[i], "NOCREATE")) {
            out->no_create = true;
            i++;
            continue;
        }
        if (!is_word(words[i], "LIMIT") && !is_word(words[i], "FLOOR")) return ERROR_LIMIT_SYNTAX;
        if (out->count == BOUNDS_LIMIT) return ERROR_LIMITS;
        const char *problem = parse_bound(words, count, &i, &out->each[out->count++]);
        if (problem != NULL) return problem;
    }
    return out->count > 0 ? NULL : ERROR_LIMIT_SYNTAX;
}

bool bounds_need_periods(const struct bounds *bounds) {
    for (int i = 0; i < bounds->count; i++) {
        if (bounds->each[i].period_ms != 0) return true;
    }
    return false;
}

const char *bounds_check(const struct bounds *bounds, const struct resolutions *resolutions) {
    for (int i = 0; i < bounds->count; i++) {
        const struct bound *bound = &bounds->each[i];
        if (bound->period_ms == 0) continue;
        int resolution = resolutions_find(resolutions, bound->period_ms);
        if (resolution < 0) return ERROR_NOT_METERED;
        if (bound->is_sliding && resolutions->each[resolution].keep < 2) return ERROR_SLIDING_KEEP;
    }
    return NULL;
}

/* --- Judging by them */

static int64_t clipped(wide number, int64_t least) {
    if (number < least) return least;
    return number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

/* The part of the bucket before that is less than a period ago, rounded up. */
static wide slid(int64_t before, int64_t left_ms, int64_t length_ms) {
    wide product = (wide)before * left_ms;
    return product / length_ms + (product > 0 && product % length_ms != 0);
}

/* What the bound is on: what was counted, and what is held. */
struct measure {
    wide value, held;
    int64_t resets_ms;
};

static wide slice_of_time(const struct bound *bound, int resolution, const struct counter *counter,
                          int64_t start_ms, int64_t wall_ms) {
    if (counter == NULL) return 0;
    const struct buckets *buckets = counters_buckets(counter, (uint32_t)resolution);
    wide value = buckets_value(buckets, start_ms);
    if (!bound->is_sliding) return value;
    int64_t before = buckets_value(buckets, period_before(bound->period_ms, start_ms));
    int64_t end_ms = period_end(bound->period_ms, start_ms);
    return value + slid(before, end_ms - wall_ms, end_ms - start_ms);
}

static struct measure measure(const struct bound *bound, const struct once *table,
                              const struct counter *counter, const struct counter *held,
                              int64_t wall_ms) {
    struct measure out = {.resets_ms = NEVER_RESETS};
    if (bound->period_ms == 0) {
        out.value = counter != NULL ? counter->value : 0;
        out.held = held != NULL ? held->value : 0;
        return out;
    }
    int64_t start_ms = period_start(bound->period_ms, wall_ms);
    int resolution = table != NULL ? resolutions_find(&table->resolutions, bound->period_ms) : 0;
    out.resets_ms = period_end(bound->period_ms, start_ms) - wall_ms;
    out.value = slice_of_time(bound, resolution, counter, start_ms, wall_ms);
    out.held = slice_of_time(bound, resolution, held, start_ms, wall_ms);
    return out;
}

static bool judges(const struct bound *bound, int64_t amount) {
    return bound->is_floor ? amount < 0 : amount > 0;
}

void bounds_focus(struct bounds *bounds, int64_t amount) {
    int kept = 0;
    for (int i = 0; i < bounds->count; i++) {
        if (judges(&bounds->each[i], amount)) bounds->each[kept++] = bounds->each[i];
    }
    if (kept > 0) bounds->count = kept;
}

/* Whether one standing says more than another. */
static bool is_nearer(const struct standing *one, const struct standing *other) {
    if (one->is_limited != other->is_limited) return one->is_limited;
    if (!one->is_limited) return one->left < other->left;
    if (other->resets_ms == NEVER_RESETS) return false;
    return one->resets_ms == NEVER_RESETS || one->resets_ms > other->resets_ms;
}

struct standing bounds_judge(const struct bounds *bounds, const struct once *table,
                             struct slice counter, int64_t wall_ms, int64_t amount) {
    struct standing nearest = {.left = INT64_MAX};
    const struct counter *found = NULL, *held = NULL;
    if (table != NULL) {
        found = counters_find(&table->counters, counter.data, counter.size);
        if (table->holds.open > 0)
            held = counters_find(&table->holds.held, counter.data, counter.size);
    }
    for (int i = 0; i < bounds->count; i++) {
        const struct bound *bound = &bounds->each[i];
        struct measure now = measure(bound, table, found, held, wall_ms);
        wide left =
            bound->is_floor ? now.value - bound->limit : bound->limit - now.value - now.held;
        wide change = bound->is_floor ? -(wide)amount : amount;
        struct standing standing = {.value = clipped(now.value, INT64_MIN),
                                    .left = clipped(left, 0),
                                    .resets_ms = now.resets_ms,
                                    .is_limited = judges(bound, amount) && change > left};
        if (i == 0 || is_nearer(&standing, &nearest)) nearest = standing;
    }
    return nearest;
}
