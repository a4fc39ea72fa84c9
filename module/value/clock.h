/* module/value/clock.h - what time it is for a value. clock.c has the essay.
 *
 * A value's clock is the latest time that was replicated. A master moves it on by the time that has
 * elapsed; a replica sets it to what the master's effects say. */
#ifndef LETHE_MODULE_VALUE_CLOCK_H
#define LETHE_MODULE_VALUE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct value;

/* Later times are taken for this one. */
#define VALUE_MAX_TIME_MS (UINT64_MAX / 128)

/* How a host's clocks differ from a value's clock. Files and the log carry it, so that a restart
 * knows how much time has elapsed since the last effect. {0}: not known. */
enum { CLOCK_HOST_BYTES = 3 };
struct stamp {
    /* A mark of the host; zeros: not known. */
    unsigned char host[CLOCK_HOST_BYTES];
    /* A mark of the machine's start; 0: not known. */
    uint64_t boot;
    /* Time since that start, less the value's clock. */
    int64_t boot_skew_ms;
    /* Wall clock, less the value's clock. */
    int64_t wall_skew_ms;
};

/* What this server is and does; registry.c keeps both up to date. */
extern bool clock_is_replica;
extern bool clock_is_loading_own_file; /* rather than a master's snapshot */

/* The time for a value: on a master its clock and what has elapsed since, on a replica its
 * clock. */
uint64_t value_time(const struct value *value);
/* Moves the value's clock to the present, for a change, and returns it. */
uint64_t value_advance(struct value *value);
/* Undoes an advance for a change that was given up. */
void value_turn_back(struct value *value, uint64_t clock_ms);
/* Sets the clock to what a master says; never back. */
void value_set_clock(struct value *value, uint64_t clock_ms);
/* Starts a new value's clock at this host's wall clock. */
void value_start_clock(struct value *value);
/* After a file was loaded: counts the time that has elapsed since, which is never negative. */
void value_catch_up(struct value *value);

/* Time since the value's clock was last moved; 0 for a type without time. */
uint64_t clock_idle_ms(const struct value *value);
/* How this host's clocks differ from the value's now. */
struct stamp clock_stamp(const struct value *value);
/* Whether value->stamp is out of date, and the one that is to be sent then. Cost: three clocks, in
 * the first call of a millisecond of the value's clock. */
bool clock_needs_stamp(struct value *value, struct stamp *out);
/* Notes what the log, the file and the replicas have been told. */
void clock_set_stamp(struct value *value, const struct stamp *stamp);

#endif
