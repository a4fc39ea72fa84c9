/* tables.h - the once-tables of a server or a cluster, looked at again and again: those that are
 * named, or all that are found.
 *
 * A look asks each partition of each table for ONCE.INFO, all of them in a pipeline, and goes on
 * with the search for tables. It changes nothing in a server. When a server is lost, a look says
 * so, and the next one connects again. Tables that are gone are forgotten, and found again when
 * they are back.
 *
 * Threads  One. */
#ifndef LETHE_CLI_REDIS_TABLES_H
#define LETHE_CLI_REDIS_TABLES_H

#include "redis/find.h"
#include "redis/table.h"

enum {
    REDIS_TABLES_LIMIT = 1000,         /* further ones are passed over */
    REDIS_TABLE_PARTS_LIMIT = 20000,   /* the same for the partitions of all tables */
    REDIS_QUESTIONS_PER_SECOND = 1000, /* looks are as rare as this needs */
    REDIS_FIND_QUESTIONS = 20,         /* to each master, for each look */
    REDIS_FIND_REST_MS = 2000          /* between the beginnings of two searches */
};

/* A table that is looked for, whether it is there or not. */
struct redis_named {
    const char *name;
    char why[200]; /* it cannot be read; empty: it can, or it is not there */
};

/* One table, as it was last seen. */
struct redis_seen {
    struct redis_table *table;       /* its name and its partitions */
    struct redis_table_stats *parts; /* of each partition; without a window: it is not there */
    uint64_t *counted;               /* what each had applied when it was seen before */
    struct redis_named *named;       /* NULL: it was found */
    bool is_there;                   /* at least one of its partitions is */
    bool is_new;                     /* counted is not known yet */
    bool is_changed;                 /* its description is another one now */
    /* Sums over the partitions, the worst of them for errors, ages and strain, and the window of
     * the table. */
    struct redis_table_stats sum;
    /* The least age that the oldest id of a partition has, of those that have ids. */
    uint64_t kept_ms;
    /* Fresh events that were probably taken for duplicates since the table was first seen. */
    double expected_lost;
};

struct redis_tables {
    const struct redis_access *access;
    struct redis_client *client; /* NULL: not connected */
    struct redis_finder finder;
    struct redis_named *named; /* none: all that are found */
    size_t named_count;
    struct redis_seen *seen;
    size_t count, room, parts;
    uint64_t skipped, skipping; /* tables that were passed over in the last search, and in this */
    uint64_t questions;         /* of the last look */
    struct candidate *candidates;
    size_t candidate_count, candidate_room;
    bool is_short_of_memory;
};

/* Names no table: all that are found. access and names must outlive it. Returns EXIT_DONE, or the
 * code of what is wrong, after saying so. */
int redis_tables_new(const struct redis_access *access, const char *const *names, size_t count,
                     struct redis_tables **out);
void redis_tables_free(struct redis_tables *tables); /* takes NULL */

/* Looks at all of them, and waits for answers for some seconds at most. After an error what was
 * seen before stays. Returns EXIT_DONE, or the code of what was wrong, after saying so.
 * Cost: a question for each partition, one for each description, and those of the search. */
int redis_tables_look(struct redis_tables *tables);

/* tables_sum.c: adds up what the partitions of a table answered. */
void redis_seen_add_up(struct redis_seen *seen);

#endif
