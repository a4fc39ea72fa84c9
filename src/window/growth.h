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
/* The share of the rest of e for a part that suffices for the load, and for a smaller one. */
#define LETHE_GROWTH_LARGE_SHARE 0.62
#define LETHE_GROWTH_SMALL_SHARE 0.04
/* The share of e for a part when nothing is left. */
#define LETHE_GROWTH_LEAST_SHARE 1e-4
/* The error of a part with the longest remainders. */
#define LETHE_GROWTH_LEAST_ERROR 5e-16

enum { LETHE_GROWTH_MIN_CAPACITY = 1024, LETHE_GROWTH_MOST = 4 };

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
                                                     double error) {
    if (expected == 0) {
        return (struct lethe_growth){.capacity = LETHE_GROWTH_MIN_CAPACITY,
                                     .share = error * LETHE_GROWTH_SMALL_SHARE};
    }
    double hint = (double)expected * (1 + 1.0 / generations);
    return (struct lethe_growth){.capacity = (uint64_t)(hint + 5 * sqrt(hint)) + 64,
                                 .share = error * LETHE_GROWTH_HINTED_SHARE};
}

/* The next part, when so many ids are alive, so many are to be expected, and the other parts use so
 * much of the error. */
static inline struct lethe_growth lethe_growth_next(double alive, double needed, double error,
                                                    double used_error) {
    double wanted = fmin(needed, LETHE_GROWTH_MOST * alive);
    wanted = fmax(wanted, fmax(alive / 8, LETHE_GROWTH_MIN_CAPACITY));
    double share = (error - used_error) *
                   (wanted < needed ? LETHE_GROWTH_SMALL_SHARE : LETHE_GROWTH_LARGE_SHARE);
    share = fmax(share, fmax(error * LETHE_GROWTH_LEAST_SHARE, LETHE_GROWTH_LEAST_ERROR));
    return (struct lethe_growth){.capacity = (uint64_t)wanted, .share = share};
}

#endif
