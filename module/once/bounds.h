/* module/once/bounds.h - limits that a command carries: LIMIT max [PER period] [SLIDING] and
 * FLOOR min [PER period]. bounds.c has the essay. */
#ifndef LETHE_MODULE_ONCE_BOUNDS_H
#define LETHE_MODULE_ONCE_BOUNDS_H

#include "once/once.h"

enum { BOUNDS_LIMIT = 8, NEVER_RESETS = -1 };

/* A bound on a counter's total or on its present bucket. */
struct bound {
    /* The most that it is on may become; with is_floor, the least. */
    int64_t limit;
    /* 0: on the total. */
    uint64_t period_ms;
    /* The bucket before the present one counts too, by how much of it is less than a period ago. */
    bool is_sliding;
    /* It judges decreases; others judge increases. */
    bool is_floor;
};

struct bounds {
    int count;
    struct bound each[BOUNDS_LIMIT];
    /* NOCREATE was among the words. */
    bool no_create;
};

/* How a counter stands under a bound. */
struct standing {
    int64_t value;
    /* What is left until the bound, of which holds have their share; not negative. */
    int64_t left;
    /* Milliseconds until the bucket ends, or NEVER_RESETS. */
    int64_t resets_ms;
    /* That amount does not fit. */
    bool is_limited;
};

/* Reads the bounds of a command; at least one. The error, or NULL. */
const char *bounds_parse(redis_string **words, int count, struct bounds *out);
bool bounds_need_periods(const struct bounds *bounds);
/* Whether the table has the buckets that the bounds are on. The error, or NULL. */
const char *bounds_check(const struct bounds *bounds, const struct resolutions *resolutions);

/* Leaves only those that judge such an amount, if there are any. */
void bounds_focus(struct bounds *bounds, int64_t amount);

/* How a counter, or one that does not exist, stands under its bounds at a time of the wall clock,
 * if amount is to be added, which may be negative: under the bound that refuses that and does so
 * for longest, or else under the one that leaves least. */
struct standing bounds_judge(const struct bounds *bounds, const struct once *table,
                             struct slice counter, int64_t wall_ms, int64_t amount);

#endif
