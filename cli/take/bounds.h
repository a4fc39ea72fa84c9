/* bounds.h - limits as they are written on a command line: 100, 10/1m, 10/1m,1000/1mo.
 *
 * They are read in three steps, since what is wrong by itself is refused before a store is opened,
 * and the rest depends on the store: its scale, and the periods that it counts in. Functions return
 * EXIT_DONE, or the exit code of what is wrong, after saying so. */
#ifndef LETHE_CLI_TAKE_BOUNDS_H
#define LETHE_CLI_TAKE_BOUNDS_H

#include "frame/arguments.h"
#include "lethe/store.h"

enum { BOUNDS_LIMIT = 8, BOUND_PERIOD_BYTES = 16 };

struct bound {
    lethe_bytes text; /* of its number */
    const char *option;
    bool is_max;
    char period[BOUND_PERIOD_BYTES]; /* empty: on the total */
    int64_t value;
    uint32_t resolution;
};

struct bounds {
    struct bound each[BOUNDS_LIMIT];
    size_t count;
};

/* Adds the bounds that an option has, if it is given. */
int bounds_read(const struct arguments *arguments, const char *option, bool is_max,
                struct bounds *bounds);
/* Reads their numbers by a scale. */
int bounds_scale(struct bounds *bounds, unsigned scale);
/* Finds their periods in a store, for messages of that name. */
int bounds_place(struct bounds *bounds, const lethe_store *store, const char *folder);

/* Says that a store by the time of its events keeps no limit per period. Returns EXIT_USAGE. */
int bounds_fail_time(const char *folder, const char *period);

/* Gives a change a bound. */
void bound_put(const struct bound *bound, lethe_change *change);

#endif
