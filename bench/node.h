/* bench/node.h - packages for Node.js, which some peers are, or come in. */
#ifndef LETHE_BENCH_NODE_H
#define LETHE_BENCH_NODE_H

#include <stdbool.h>

/* A package, and how to see that it is there. */
struct node_package {
    const char *peer;  /* what is left out without it */
    const char *name;  /* as npm knows it */
    const char *check; /* a program that ends with 0 if it is there */
};

/* Whether Node.js has a package. If it has not, npm fetches it into the folder, and NODE_PATH leads
 * there; with quick nothing is fetched. Says why a peer is left out. */
bool node_prepare(const struct node_package *package, const char *folder, bool quick);

#endif
