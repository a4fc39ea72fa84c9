/* plan.h - what the parts of `lethe plan` share.
 *
 * plan.c reads the command line, store.c plans a store, table.c a table in servers, print.c and
 * print_servers.c print them; cluster.c simulates servers, and the figure files draw what it does.
 * costs.h has what was measured. */
#ifndef LETHE_CLI_PLAN_PLAN_H
#define LETHE_CLI_PLAN_PLAN_H

#include "frame/arguments.h"
#include "lethe/store.h"
#include "redis/periods.h"

/* What is asked. */
struct plan_wants {
    double events_per_s;
    uint64_t window_ms;
    double error;
    uint64_t keys, key_bytes, after_ms;
    const char *per, *keep;
    bool forever, exact, json;
    /* Which window fits into this; 0: the window is given. */
    uint64_t memory_bytes;

    /* Of servers. */
    bool redis, by_key;
    uint64_t partitions; /* 0: as many as are good */
    uint64_t replicas, server_memory_bytes, batch;
    struct redis_periods periods;
};

/* Reads "50k/s", "10M/h" or "1T/d". Returns EXIT_DONE or EXIT_USAGE. */
int plan_read_rate(const struct arguments *arguments, double *events_per_s);

/* --- store.c --- */

/* What a store takes. Returns EXIT_DONE, or EXIT_USAGE after saying what is wrong. */
int plan_store(const struct plan_wants *wants, lethe_store_needs *out);
/* How long it takes to open it again, and what one event takes of a core, in seconds. */
double plan_opening_s(const struct plan_wants *wants, const lethe_store_needs *needs);
double plan_counting_s(const struct plan_wants *wants);

/* --- table.c --- */

/* A table in servers. Bytes are those of ONCE.INFO, unless they say otherwise. */
struct plan_table {
    uint64_t partitions;
    uint64_t ids, counters, buckets; /* in all partitions; a counter counts in each that has it */
    /* Of one partition, in the long run; and the most, while its window grows. */
    uint64_t partition_bytes, partition_peak_bytes;
    uint64_t window_bytes, counters_bytes;
    /* Of all partitions; and what the servers' allocators count for that (used_memory). */
    uint64_t memory_bytes, used_bytes;
    bool is_too_large; /* one partition is larger than lethe.largest-value is by default */

    double event_s; /* of a master's thread */
    uint64_t masters, masters_for_work, masters_for_memory;
    double busy; /* each of them, 0 to 1 */
    /* To one replica; of all masters. */
    double effect_bytes, replicated_bytes_per_s;
    double move_s;         /* one partition: both servers stand still */
    double fork_s;         /* of a master */
    double resync_s;       /* a new replica of it */
    uint64_t server_bytes; /* of a master's data */
};
int plan_table(const struct plan_wants *wants, struct plan_table *out);

/* --- print.c, print_servers.c --- */

void plan_print_store(const struct plan_wants *wants, const lethe_store_needs *needs);
void plan_print_table(const struct plan_wants *wants, const struct plan_table *table);

/* --- simulate.c --- */

/* `lethe plan --simulate`. */
int plan_simulate(const struct arguments *arguments);

#endif
