/* usage.h - what the parts of `lethe usage` share.
 *
 * usage.c reads the command line and asks the store, period.c names periods, rows.c prints rows as
 * they come, and gather.c keeps them for plot.c, which draws bars in a terminal, and svg.c. */
#ifndef LETHE_CLI_USAGE_USAGE_H
#define LETHE_CLI_USAGE_USAGE_H

#include "events/time.h"
#include "frame/arguments.h"
#include "lethe/store.h"

/* --- period.c --- */

/* Room for any of the texts below. */
enum { USAGE_PERIOD_BYTES = 40, USAGE_VALUE_BYTES = 48 };

/* A moment in RFC 3339, in local time: 2024-03-31T00:00:00+01:00. */
void usage_moment(uint64_t time_ms, int32_t offset_s, char out[USAGE_PERIOD_BYTES]);
/* What people call a period: 2024, 2024-03, 2024-W13, 2024-03-31, or its first moment. */
void usage_period(const char *by, const lethe_usage_row *row, char out[USAGE_PERIOD_BYTES]);
/* A row's value, which may have 128 bits, with so many digits after the point. */
void usage_value(const lethe_usage_row *row, unsigned scale, char out[USAGE_VALUE_BYTES]);

/* Reads a date, or what `lethe count` takes for a time, by a rule. Returns false after saying what
 * is wrong. */
bool usage_parse_time(const char *text, const struct event_time_rule *rule, uint64_t *out_ms,
                      struct event_problem *problem);

/* --- read_time.c --- */

/* Reads a time of --from, --to or --at: a date, or what `lethe count` takes for one, in the zone of
 * the store. Returns EXIT_DONE, with *out_ms as it was if the option is not given, or EXIT_USAGE
 * after saying what is wrong. */
int usage_read_time(const struct arguments *arguments, const char *name, const char *zone,
                    uint64_t *out_ms);

/* --- begin.c --- */

/* When a period begins, which is known: in the store's zone, or in UTC where that can't be found. A
 * NULL by is the store's first. */
void usage_begin(lethe_store *store, const char *by, uint64_t from_ms,
                 char out[USAGE_PERIOD_BYTES]);

/* --- reach.c --- */

/* After the buckets of the period that at_ms is in were shown: says where they are not all that was
 * counted. Returns EXIT_DONE, also after a warning; EXIT_NEGATIVE after saying that the store has
 * dropped them; or as a call of the store that fails. */
int usage_check_reach(lethe_store *store, const char *folder, const char *by, uint64_t at_ms);

/* --- rows.c --- */

struct usage_printer {
    const char *by;
    unsigned scale;
    bool json, csv;
    int code;
};
/* The line above all others of a CSV file. */
int usage_print_heading(const struct usage_printer *printer);
/* A lethe_usage_visit; the context is the printer. */
bool usage_print_row(void *context, const lethe_usage_row *row);

/* --- gather.c --- */

/* The rows of one key. */
struct usage_series {
    char *key; /* escaped */
    int64_t *values;
    double most;                  /* of what they are without a sign */
    bool is_negative;             /* one of them is */
    char rest[USAGE_VALUE_BYTES]; /* empty: there is none */
};

/* What is drawn: for each period, a value of each key. */
struct usage_gathered {
    const char *by;
    unsigned scale;
    char (*periods)[USAGE_PERIOD_BYTES];
    size_t period_count, period_room;
    struct usage_series *series;
    size_t series_count, series_room, next;
    uint64_t last_ms;
    int code;
};
/* A lethe_usage_visit; the context is what is gathered. */
bool usage_gather_row(void *context, const lethe_usage_row *row);
void usage_gathered_free(struct usage_gathered *gathered);

/* --- plot.c, svg.c --- */

int usage_plot(const struct usage_gathered *gathered);
int usage_draw(const struct usage_gathered *gathered, const char *path);

#endif
