/* window/growth.h - how large a chain's parts are, as arithmetic: for the chain itself
 * (chain_growth.c) and for whoever wants to know in advance (plan.c). */
#ifndef LETHE_WINDOW_GROWTH_H
#define LETHE_WINDOW_GROWTH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* A part's capacity, relative to the ids at the rate it is made for. */
#define LETHE_GROWTH_HEADROOM 1.1
/* The share of e that the first part gets if the capacity was given. */
#define LETHE_GROWTH_HINTED_SHARE 0.995
/* The same of a part that ids of a log are filled into again, without a cap and without a capacity
 * that was given: most of e is left for the part that will finally hold the load. */
#define LETHE_GROWTH_REFILLED_SHARE 0.3
/* The share of the rest of e for a part that suffices for the load, and for a smaller one. A dozen
 * of the latter, for three million ids, leave most of e to the one that suffices. */
#define LETHE_GROWTH_LARGE_SHARE 0.7
#define LETHE_GROWTH_SMALL_SHARE 0.02
/* The same under a cap. */
#define LETHE_GROWTH_CAPPED_LARGE_SHARE 0.62
#define LETHE_GROWTH_CAPPED_SMALL_SHARE 0.04
/* The share of e for a part when nothing is left. */
#define LETHE_GROWTH_LEAST_SHARE 1e-4
/* The error of a part with the longest remainders. */
#define LETHE_GROWTH_LEAST_ERROR 5e-16

/* The steps, relative to the ids that are alive: up to so many ids, where bytes matter less than
 * the number of parts, and under a cap; then; and if parts become many all the same. */
enum {
    LETHE_GROWTH_MIN_CAPACITY = 1024,
    LETHE_GROWTH_MOST = 4,
    LETHE_GROWTH_FINE_FROM = 100000,
    LETHE_GROWTH_MANY_PARTS = 32,
    LETHE_GROWTH_TOO_MANY_PARTS = 48
};
#define LETHE_GROWTH_FINE_STEP 0.5
#define LETHE_GROWTH_STEP_OF_MANY 1
/* If no more than so many times the ids that are alive are to be expected, a part is made for all
 * of them. Later, fewer bytes would be taken for each id at that moment, and more in all. */
#define LETHE_GROWTH_LAST_STEP 3

/* The shortest remainders that policy degrade goes down to. */
enum { LETHE_GROWTH_SHORTEST_BITS = 7 };

/* A part to be made. */
struct lethe_growth {
    uint64_t capacity;
    double share; /* the error it may reach */
};

/* The number of periods in a window. Each period costs every block one bit, and shortens the
 * time for which ids are remembered beyond W. About thirty is the cheapest; only a smaller slack
 * needs more. */
static inline unsigned lethe_growth_generations(double slack) {
    unsigned generations = 30;
    while (1.0 / generations > slack)
        generations = 2 * generations + 2;
    return generations;
}

/* The first part of a window that expects so many ids; 0: nobody knows how many. Ids arrive at
 * random. Five standard deviations above the mean suffice for a steady load. */
static inline struct lethe_growth lethe_growth_first(uint64_t expected, unsigned generations,
                                                     double error, bool is_capped) {
    if (expected == 0) {
        double share = is_capped ? LETHE_GROWTH_CAPPED_SMALL_SHARE : LETHE_GROWTH_SMALL_SHARE;
        return (struct lethe_growth){.capacity = LETHE_GROWTH_MIN_CAPACITY, .share = error * share};
    }
    double hint = (double)expected * (1 + 1.0 / generations);
    return (struct lethe_growth){.capacity = (uint64_t)(hint + 5 * sqrt(hint)) + 64,
                                 .share = error * LETHE_GROWTH_HINTED_SHARE};
}

/* What is known when a part is to be made. */
struct lethe_growth_state {
    double alive;             /* the ids that are remembered */
    double needed;            /* the ids that are to be expected */
    double error, used_error; /* e, and what the parts use of it */
    unsigned parts;
    /* Whether memory has a cap. Then parts are what they always were: copies of a window, which may
     * be of an earlier version, must refuse the same ids. */
    bool is_capped;
};

/* For how many ids a part is made, while more than that are to be expected. */
static inline double lethe_growth_step(const struct lethe_growth_state *state) {
    bool is_coarse = state->is_capped || state->alive < LETHE_GROWTH_FINE_FROM ||
                     state->parts >= LETHE_GROWTH_TOO_MANY_PARTS;
    if (is_coarse) return LETHE_GROWTH_MOST * state->alive;
    bool is_many = state->parts >= LETHE_GROWTH_MANY_PARTS;
    return (is_many ? LETHE_GROWTH_STEP_OF_MANY : LETHE_GROWTH_FINE_STEP) * state->alive;
}

/* The next part. */
static inline struct lethe_growth lethe_growth_next(const struct lethe_growth_state *state) {
    double step = lethe_growth_step(state), needed = state->needed;
    bool suffices = needed <= fmax(step, LETHE_GROWTH_LAST_STEP * state->alive);
    double wanted = suffices ? needed : step;
    wanted = fmax(wanted, fmax(state->alive / 8, LETHE_GROWTH_MIN_CAPACITY));
    double large = state->is_capped ? LETHE_GROWTH_CAPPED_LARGE_SHARE : LETHE_GROWTH_LARGE_SHARE;
    double small = state->is_capped ? LETHE_GROWTH_CAPPED_SMALL_SHARE : LETHE_GROWTH_SMALL_SHARE;
    double share = (state->error - state->used_error) * (wanted < needed ? small : large);
    share = fmax(share, fmax(state->error * LETHE_GROWTH_LEAST_SHARE, LETHE_GROWTH_LEAST_ERROR));
    return (struct lethe_growth){.capacity = (uint64_t)wanted, .share = share};
}

#endif
