/* format.h - how a line says what happened: which format, and what is where in it. */
#ifndef LETHE_CLI_EVENTS_FORMAT_H
#define LETHE_CLI_EVENTS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "events/problem.h"

enum event_kind {
    EVENTS_PLAIN = 0, /* fields between tabs, escaped as in escape.h */
    EVENTS_CSV,       /* RFC 4180 */
    EVENTS_JSONL      /* one object per line */
};

enum event_role { ROLE_ID = 0, ROLE_KEY, ROLE_DELTA, ROLE_TIME, ROLE_COUNT };

enum { EVENT_NAME_BYTES = 128, EVENT_COLUMN_LIMIT = 65536 };

/* By default a plain line or CSV record is id, key[, delta[, key, delta]...]. */
struct event_format {
    enum event_kind kind;
    /* The numbers below say where each role is: from 1; 0: nowhere. */
    bool has_columns;
    uint32_t columns[ROLE_COUNT];
    /* The greatest of them. */
    uint32_t last_column;
    /* The names do: of JSON members, or of a CSV header; empty: nowhere. */
    bool has_names;
    char names[ROLE_COUNT][EVENT_NAME_BYTES];
};

/* Makes a format. fields is the text of --fields, such as id=1,key=2,delta=3,time=4, or NULL.
 * Returns false after saying what is wrong with it. */
bool event_format_make(enum event_kind kind, const char *fields, struct event_format *out,
                       struct event_problem *problem);

/* Whether events have a time. */
bool event_format_has_time(const struct event_format *format);

/* Whether the first record of a file is not an event but names the columns. */
bool event_format_has_header(const struct event_format *format);

/* Writes the options that describe a format, always in the same order: a mark is bound to them.
 * Empty for plain lines in their usual order. */
enum { EVENT_MANNER_BYTES = 32 + ROLE_COUNT * (8 + EVENT_NAME_BYTES) };
void event_format_describe(const struct event_format *format, char out[EVENT_MANNER_BYTES]);

/* "id", "key", "delta" or "time". */
const char *event_role_name(enum event_role role);

#endif
