/* bench/http_load.h - a client that keeps many connections to a server busy, in one thread. */
#ifndef LETHE_BENCH_HTTP_LOAD_H
#define LETHE_BENCH_HTTP_LOAD_H

#include <stddef.h>
#include <stdint.h>

struct http_load {
    unsigned port;
    size_t connections;
    /* Events in each request; 1: a single JSON object. */
    size_t events;
    double seconds;
    /* How many counters the events are spread over. */
    size_t keys;
    /* Of the first event; each gets the next one. */
    uint64_t first_id;
    /* Only counts are asked for, and not each event's outcome. */
    int is_short;
};

struct http_load_result {
    uint64_t requests, events;
    /* Answers that were not 200. */
    uint64_t failures;
    double seconds;
    /* Of a request, from its first byte to its answer. */
    double p50_ms, p99_ms;
};

/* Returns 0, or -1 if a connection fails. */
int http_load_run(const struct http_load *load, struct http_load_result *out);

#endif
