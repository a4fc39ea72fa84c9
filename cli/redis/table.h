/* table.h - one table of counters in a server or a cluster, spread over partitions by the hash of
 * the ids.
 *
 * A table NAME with one partition is the once-table NAME. With more partitions, they are the
 * once-tables NAME:{tag}, with tags whose slots are spread evenly over a cluster's. NAME is then a
 * string that describes the table: the number of partitions, the seed by which ids are hashed, the
 * window, the error, and the kind of the window if it is the forgetful one. It is written once and
 * never changed. A counter's value is the sum over all partitions, so a counter that every event
 * changes is spread as well.
 *
 * Functions return EXIT_DONE, or the exit code of what is wrong, after saying so. */
#ifndef LETHE_CLI_REDIS_TABLE_H
#define LETHE_CLI_REDIS_TABLE_H

#include "frame/arguments.h"
#include "lethe/store.h"
#include "redis/client.h"
#include "redis/text.h"

enum { REDIS_PARTITIONS_LIMIT = 1024, REDIS_NAME_LIMIT_BYTES = 512, REDIS_DESCRIPTION_BYTES = 256 };

/* What is wanted of a table; zero: whatever it has, or the default for a new one. */
struct redis_table_options {
    bool create;
    uint64_t partitions, window_ms, memory_bytes;
    double error;
    lethe_policy policy;
    lethe_switch forgetful; /* the kind of the window */
    struct redis_client_options client;
};

struct redis_partition {
    char *key;
    unsigned slot;
    struct redis_text create; /* the command that makes it */
};

struct redis_table {
    struct redis_client *client;
    char name[REDIS_NAME_LIMIT_BYTES + 1];
    char shown[REDIS_NAME_LIMIT_BYTES + REDIS_SHOWN_BYTES + 8]; /* name and servers */
    size_t partition_count;
    uint64_t seed; /* by which ids are spread */
    uint64_t window_ms, memory_bytes;
    double error;
    lethe_policy policy;
    lethe_window_kind window_kind;
    struct redis_partition *partitions;
    bool is_new;       /* it was not there when this run began */
    bool is_untouched; /* nothing was ever counted in it */
    uint64_t applied;  /* events that had been counted in it then */
    char description
        [REDIS_DESCRIPTION_BYTES]; /* as it is in the server; empty: there is one partition */

    /* What redis_lost_watch knows. */
    bool is_watching;          /* a question is under way */
    uint64_t watched_openings; /* of the client, when it was last asked */
    struct redis_request watch_request;
    struct redis_text watch_text;
};

/* Opens the table that --redis and --table name, and compares it with what is wanted: another
 * number of partitions or another window is refused with EXIT_USAGE. Makes a table that is not
 * there if that is wanted; if partitions are there and only the description is not, that is
 * EXIT_BAD_DATA, and nothing is changed. */
int redis_table_open(const struct arguments *arguments, const struct redis_table_options *options,
                     struct redis_table **out);
void redis_table_close(struct redis_table *table); /* takes NULL */

/* The partition that an id belongs to. */
size_t redis_table_place(const struct redis_table *table, lethe_bytes id);

/* A question to all partitions at once. */
struct redis_survey {
    /* Writes the command for a partition; false: it is not asked. */
    bool (*write)(void *context, size_t partition, struct redis_text *text);
    void (*on_reply)(void *context, size_t partition, const redisReply *reply); /* may be NULL */
    void *context;
    bool is_write;
    const char *const *tolerated; /* as in a request */
};
int redis_table_survey(struct redis_table *table, const struct redis_survey *survey);

/* A command about one other key. on_reply gets context, 0 and the answer. */
int redis_table_ask(struct redis_table *table, const char *key, struct redis_text *text,
                    const struct redis_survey *how);

/* How the table stands: sums over partitions, and the worst of them for ages, errors and strain. */
struct redis_table_stats {
    uint64_t counters, clock_ms, applied, duplicates, refused, ids, memory_bytes, window_bytes;
    bool may_be_evicted;
    uint64_t missing; /* partitions that are not there */
    lethe_window_stats window;
};
int redis_table_info(struct redis_table *table, struct redis_table_stats *out);

/* Adds an answer to ONCE.INFO. */
void redis_stats_add(struct redis_table_stats *stats, const redisReply *reply);

#endif
