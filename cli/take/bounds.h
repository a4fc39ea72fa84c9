/* bounds.h - limits as they are written, on a command line or in a request: 100, 10/1m,
 * 10/1m,1000/1mo.
 *
 * They are read in three steps, since what is wrong by itself is refused before a store is opened,
 * and the rest depends on the store: its scale, and the periods that it counts in. Those of
 * bounds.c return false after saying what is wrong; those of bounds_read.c are for the command
 * line, and return EXIT_DONE, or the exit code of what is wrong, after printing it. */
#ifndef LETHE_CLI_TAKE_BOUNDS_H
#define LETHE_CLI_TAKE_BOUNDS_H

#include "events/problem.h"
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

/* --- bounds.c --- */

/* Adds the bounds of a list with commas; option is what messages call it. Texts point into the
 * list. */
bool bounds_add(struct bounds *bounds, const char *option, lethe_bytes list, bool is_max,
                struct event_problem *problem);
bool bounds_set_scale(struct bounds *bounds, unsigned scale, struct event_problem *problem);
/* name: what messages call the store. */
bool bounds_find(struct bounds *bounds, const lethe_store *store, const char *name,
                 struct event_problem *problem);
/* Says that a store by the time of its events keeps no limit per period. */
void bounds_refuse_time(const char *name, const char *period, struct event_problem *problem);

/* Gives a change a bound. */
void bound_put(const struct bound *bound, lethe_change *change);

/* Whether one limit says more than another: one that refuses, and of these the one that does so
 * for longest, or else the one that leaves least. */
bool bounds_is_nearer(const lethe_limit *one, const lethe_limit *other);

/* Adds to a counter under bounds, of which there is at least one; durable on return. *limit is how
 * the counter stands under the one that matters most. */
lethe_status bounds_apply(lethe_store *store, lethe_bytes id, lethe_bytes key, int64_t amount,
                          const struct bounds *bounds, lethe_outcome *out, lethe_limit *limit);

/* --- bounds_read.c --- */

/* Adds the bounds that an option has, if it is given. */
int bounds_read(const struct arguments *arguments, const char *option, bool is_max,
                struct bounds *bounds);
/* Reads their numbers by a scale. */
int bounds_scale(struct bounds *bounds, unsigned scale);
/* Finds their periods in a store, for messages of that name. */
int bounds_place(struct bounds *bounds, const lethe_store *store, const char *folder);

/* Says that a store by the time of its events keeps no limit per period. Returns EXIT_USAGE. */
int bounds_fail_time(const char *folder, const char *period);

#endif
