/* module/once/listing.h - what the commands that list a few at a time share: SCAN, CLAIMS, HOLDS.
 * listing.c has the essay. */
#ifndef LETHE_MODULE_ONCE_LISTING_H
#define LETHE_MODULE_ONCE_LISTING_H

#include "once/records.h"
#include "once/slice.h"

struct once;

/* MATCH and COUNT. */
struct scanning {
    struct slice pattern;
    int64_t count;
};

/* Without them: everything, about ten at a time. */
struct scanning scanning_begin(void);
/* Takes one of them, and its word. NULL, or the error: ERROR_SCAN_SYNTAX if it is another
 * option. */
const char *scanning_take(struct scanning *scanning, const redis_string *option,
                          const redis_string *word);
/* All options of a command that has only these. NULL, or the error. */
const char *scanning_read(redis_string **words, int count, struct scanning *out);
bool scanning_matches(const struct scanning *scanning, const char *name, size_t size);
/* How many places of a map are looked at, since most may be empty. */
static inline uint64_t scanning_places(const struct scanning *scanning) {
    return (uint64_t)scanning->count * 10;
}

/* A cursor is a number of 64 bits. NULL, or the error. */
const char *parse_cursor(const redis_string *word, uint64_t *cursor);
void reply_cursor(redis_context *context, uint64_t cursor);

/* A list of records: what is asked for, and what has been found so far. */
struct listing {
    struct scanning scanning;
    /* Of claims; NULL: in any state. */
    const char *state;

    redis_context *context;
    /* NULL if there is no table. */
    const struct once *table;
    uint64_t now_ms;
    /* Replies with a record, and returns true, if it is asked for. NULL: they are only counted. */
    bool (*show)(struct listing *listing, const struct record *record);
    long long seen;
    long replied;
};

/* Replies with the next cursor and with the records, which are the table's. */
void listing_reply(struct listing *listing, const struct records *records, uint64_t cursor);

#endif
