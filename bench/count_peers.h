/* bench/count_peers.h - other ways to count each event once, beside `lethe count`.
 *
 * Each counts a file of events in a process of its own, leaves its data in a folder that it is
 * given empty, and reports the outcome. */
#ifndef LETHE_BENCH_COUNT_PEERS_H
#define LETHE_BENCH_COUNT_PEERS_H

#include "count_events.h"

struct count_outcome {
    struct count_cost cost;
    uint64_t applied;    /* events not taken for duplicates */
    int64_t sum;         /* of all counters */
    uint64_t disk_bytes; /* of what is left */
    double log_bytes;    /* lethe: of the ids' log */
};

typedef void count_peer(const struct count_events *events, const char *folder,
                        struct count_outcome *out);

/* Ids in a table with a primary key, counters in another; WAL, synchronous=FULL. */
count_peer count_by_sqlite;
/* Ids as keys, counters in a column family, synced. */
count_peer count_by_rocksdb;
/* Two arrays in memory, printed at the end. */
count_peer count_by_awk;
/* A script with SET NX EX and HINCRBY, pipelined; appended to a file that is synced every
 * second. */
count_peer count_by_redis;
/* One query: in memory; with ids and counters in a file; in memory, from lines of JSON. */
count_peer count_by_duckdb_in_memory;
count_peer count_by_duckdb;
count_peer count_json_by_duckdb;
/* Whether DuckDB is here. If it is not, npm fetches it into the folder, unless quick. */
bool count_has_duckdb(const char *folder, bool quick);

/* What the process of a peer is given. */
struct count_job {
    const struct count_events *events;
    const char *folder;
    struct count_outcome *out; /* shared with the parent */
    double started;
};

/* Runs a peer's function with a job, in a process of its own. The function notes in out->cost
 * what it took before it adds up the counters to check them. */
void count_peer_fork(void (*run)(void *job), const char *name, const struct count_events *events,
                     const char *folder, struct count_outcome *out);

/* Adds up the second column of lines "key<TAB>number". */
int64_t count_sum_lines(const char *path);

#endif
