/* bench/serve_peers.h - servers that `lethe bench serve` measures. */
#ifndef LETHE_BENCH_SERVE_PEERS_H
#define LETHE_BENCH_SERVE_PEERS_H

#include <stdbool.h>
#include <stddef.h>

struct serve_peer {
    const char *name, *folder;
    /* NULL: lethe itself. Otherwise a program, the option that takes its script, and the script,
     * which is given a folder and a port. */
    const char *program, *option, *script;
    /* NULL, or what makes sure that it can run; false after saying why it is left out. What it
     * needs goes to folder. */
    bool (*prepare)(const char *folder, bool quick);
};

extern const struct serve_peer serve_peers[];
extern const size_t serve_peer_count;

#endif
