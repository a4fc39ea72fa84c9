/* cluster.h - a cluster of servers that count, in virtual time: queues, a master that fails, tables
 * that move. cluster.c has the essay. */
#ifndef LETHE_CLI_PLAN_CLUSTER_H
#define LETHE_CLI_PLAN_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What things take; plan_costs has what was measured. Times are in seconds. */
struct cluster_costs {
    double command_s, event_s; /* of a server's thread: for a command, and for each of its events */
    double wire_s;             /* one way, between any two machines */
    double lag_s;              /* from a change at a master until its replica has it */
    double fork_s_per_byte;
    double copy_bytes_per_s; /* of a snapshot for a new replica, from fork to end */
    double copying;          /* how much slower a server is while its snapshot is made: 1.2 */
    double move_bytes_per_s; /* of MIGRATE, which holds both servers up */
};

enum { CLUSTER_MOST_SERVERS = 1024, CLUSTER_MOST_PARTITIONS = 1024 };

struct cluster_options {
    uint64_t seed;
    struct cluster_costs costs;
    unsigned masters, partitions;
    double events_per_s, length_s;
    uint32_t events_per_command;
    /* The share of each partition; NULL: all the same. */
    const double *shares;
    /* Whether a command is acknowledged only when a replica has it (WAIT 1). */
    bool waits;
    double table_bytes;

    /* Master 0 dies at this time, if above 0. Its replica is made a master after detect_s. Clients
     * whose connection is lost try again every retry_s. A new replica comes after replace_s. */
    double kill_s, detect_s, retry_s, replace_s;

    /* From this time on, if above 0, so many masters are added, and tables move to them one after
     * the other, with a pause between two. */
    double move_s, move_pause_s;
    unsigned added;
};

/* What happened in one second, by the time of acknowledgement. */
struct cluster_second {
    double acknowledged; /* events */
    double mean_s, p99_s;
};

enum { CLUSTER_MOST_SECONDS = 600 };

struct cluster_result {
    /* In events. All that was sent is acknowledged in the end, and applied or lost. */
    double sent, acknowledged, applied, lost;
    /* Commands that came again after they had been applied: duplicates, which changed nothing. */
    uint64_t repeats, retries, commands;
    uint64_t moved; /* tables */
    /* Of commands: from sending until the answer is there; and of this the time in the queue. */
    double mean_s, p99_s, mean_wait_s;
    /* What a server had to work, as a share of the time: all on average, and the busiest. Above 1
     * there is more than it can do. */
    double busy, busiest;
    struct cluster_second seconds[CLUSTER_MOST_SECONDS];
};

/* Runs it. The same options give the same result. False: out of memory, or options out of range. */
bool cluster_run(const struct cluster_options *options, struct cluster_result *out);

#endif
