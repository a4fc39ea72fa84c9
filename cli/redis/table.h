/* table.h - one table of counters in a server or a cluster, spread over partitions by the hash of
 * the ids, or by the counters' keys.
 *
 * A table NAME with one partition is the once-table NAME. With more partitions, they are the
 * once-tables NAME:{tag}, with tags whose slots are spread evenly over a cluster's. NAME is then a
 * string that describes the table: the number of partitions, the seed by which ids are hashed, the
 * window, the error, and, where they are not the usual ones, the kind of the window, what the table
 * is spread by, and per which periods it counts. It is written once and never changed. A counter's
 * value is the sum over all partitions, so a counter that every event changes is spread as well.
 *
 * A table that is spread by key has each counter whole in one partition, which a limit needs. Then
 * an id belongs to the partition of its key: with another key the same id is a duplicate if that
 * is in the same partition, and another operation if not. The place is the CRC-16 of the key, which
 * other clients have at hand too.
 *
 * Functions return EXIT_DONE, or the exit code of what is wrong, after saying so. */
#ifndef LETHE_CLI_REDIS_TABLE_H
#define LETHE_CLI_REDIS_TABLE_H

#include "frame/arguments.h"
#include "lethe/store.h"
#include "redis/client.h"
#include "redis/periods.h"
#include "redis/text.h"

enum { REDIS_PARTITIONS_LIMIT = 1024, REDIS_NAME_LIMIT_BYTES = 512, REDIS_DESCRIPTION_BYTES = 512 };

/* What is wanted of a table; zero: whatever it has, or the default for a new one. */
struct redis_table_options {
    bool create;
    uint64_t partitions, window_ms, memory_bytes;
    double error;
    lethe_policy policy;
    lethe_switch forgetful; /* the kind of the window */
    lethe_switch by_key;    /* what it is spread by */
    struct redis_periods periods;
    struct redis_client_options client;
};

struct redis_partition {
    char *key;
    unsigned slot;
    struct redis_text create; /* the command that makes it */
    bool is_needed;           /* what was read rests on it, and it may be missing: redis/lost.h */
};

struct redis_table {
    struct redis_access *access;
    struct redis_client *client;
    char name[REDIS_NAME_LIMIT_BYTES + 1];
    char shown[REDIS_NAME_LIMIT_BYTES + REDIS_SHOWN_BYTES + 8]; /* name and servers */
    size_t partition_count;
    uint64_t seed; /* by which ids are spread */
    uint64_t window_ms, memory_bytes;
    double error;
    lethe_policy policy;
    lethe_window_kind window_kind;
    bool is_by_key;
    struct redis_periods periods;
    struct redis_partition *partitions;
    bool is_shared;    /* access and client belong to somebody else */
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

/* Opens a table by its name, to read it, over a client that others use too and that outlives it. */
int redis_table_attach(struct redis_client *client, const char *name, struct redis_table **out);
/* A table that is as a description says, with its partitions named; nothing is asked, and it has no
 * client. */
struct redis_description;
int redis_table_outline(const char *name, const struct redis_description *found,
                        struct redis_table **out);

/* The partition that an operation belongs to; REDIS_NO_PLACE if its keys belong to several. */
#define REDIS_NO_PLACE SIZE_MAX
size_t redis_table_place(const struct redis_table *table, const lethe_operation *operation);
/* The partition that has a counter, of a table that is spread by key. */
size_t redis_table_place_of_key(const struct redis_table *table, lethe_bytes key);

/* Where the commands of a request end, and what each is about. */
struct redis_ends {
    size_t *ends;
    uint32_t *subjects;
    size_t count, room;
    bool is_short_of_memory;
};
/* The command that was just written to a text is about this. */
void redis_ends_add(struct redis_ends *ends, const struct redis_text *text, uint32_t subject);

/* A question to all partitions at once. */
struct redis_survey {
    /* Writes the command for a partition; false: it is not asked. */
    bool (*write)(void *context, size_t partition, struct redis_text *text);
    void (*on_reply)(void *context, size_t partition, const redisReply *reply); /* may be NULL */
    /* Instead of these: several commands for a partition, and the answer to each. An answer may
     * come several times. */
    bool (*write_many)(void *context, size_t partition, struct redis_text *text,
                       struct redis_ends *ends);
    void (*on_each)(void *context, size_t partition, uint32_t subject, const redisReply *reply);
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
    uint64_t claims_running, claims_done, holds_open;
    /* Per which periods it counts, as ONCE.INFO has it, and whether that is so in all of them. */
    char per[REDIS_PERIODS_BYTES];
    bool per_differs;
    lethe_window_stats window;
};
int redis_table_info(struct redis_table *table, struct redis_table_stats *out);

/* Adds an answer to ONCE.INFO. */
void redis_stats_add(struct redis_table_stats *stats, const redisReply *reply);

#endif
