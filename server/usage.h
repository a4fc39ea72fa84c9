/* usage.h - times and prefixes in queries. */
#ifndef LETHE_SERVER_USAGE_H
#define LETHE_SERVER_USAGE_H

#include "server/request.h"

/* A time: a date, what `lethe count` takes for one, or milliseconds since 1970; in the zone of the
 * store. Returns false after a problem; *out_ms keeps what it holds if there is no such
 * argument. */
bool usage_argument_time(struct request *request, const char *name, uint64_t *out_ms);

/* The time that a ranking is of, in `at`. 0: there is none; so the first moment of 1970 is the next
 * one, which is in the same period. */
bool usage_argument_at(struct request *request, uint64_t *out_ms);

uint64_t usage_now_ms(void);

/* What a query of usage asks for, with room for its keys. */
struct usage_asked {
    lethe_usage_query query;
    lethe_bytes key;
    char prefix_room[REQUEST_PART_BYTES], key_room[REQUEST_PART_BYTES];
};
/* Reads by, key or prefix, from and to. Returns false after a problem. */
bool usage_arguments(struct request *request, struct usage_asked *out);

/* Rows while they are written. */
struct usage_list {
    struct text *out;
    const char *by;
    unsigned scale;
    uint64_t count, most;
    bool has_more, has_rest;
};
/* A lethe_usage_visit. */
bool usage_add_row(void *context, const lethe_usage_row *row);
/* What follows the last row. */
void usage_end_list(const struct usage_list *list, const char *zone);

/* read.c: the prefix of keys that is asked for. */
bool read_prefix(struct request *request, char room[REQUEST_PART_BYTES], lethe_bytes *out);

#endif
