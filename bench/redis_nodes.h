/* bench/redis_nodes.h - servers with the module, on this machine: alone, with replicas, as a
 * cluster.
 *
 * They listen on 127.0.0.1, keep nothing on disk, and end with this program. */
#ifndef LETHE_BENCH_REDIS_NODES_H
#define LETHE_BENCH_REDIS_NODES_H

#include <sys/types.h>

#include "redis_link.h"

enum { REDIS_MOST_NODES = 10, REDIS_MASTERS = 3 };

struct redis_node {
    pid_t process; /* 0: killed */
    int port;
    char id[48]; /* in a cluster */
    struct redis_link link;
};

struct redis_nodes {
    struct redis_node nodes[REDIS_MOST_NODES];
    int count;
    char folder[4096];
};

/* Whether redis-server and the module are there; if not, says what is missing. */
bool redis_nodes_can_start(void);

/* Starts a master, node 0, and replicas of it; waits until they are linked. */
void redis_nodes_start_star(struct redis_nodes *nodes, int count);

/* Starts a cluster of three masters, nodes 0 to 2, and for the rest replicas, dealt out in turn;
 * waits until it is whole. */
void redis_nodes_start_cluster(struct redis_nodes *nodes, int count);

/* SIGKILL. */
void redis_nodes_kill(struct redis_nodes *nodes, int node);
void redis_nodes_stop(struct redis_nodes *nodes);

/* The version of the server. */
void redis_nodes_version(struct redis_nodes *nodes, char *version, size_t size);

#endif
