/* waiter.h - one thread that waits for the disk on behalf of all requests.
 *
 * A request whose answer rests on a commit is left here. It goes on when the commit is durable, all
 * requests of one commit at once. So a commit costs one wait, whatever the number of
 * connections. */
#ifndef LETHE_SERVER_WAITER_H
#define LETHE_SERVER_WAITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct request;

/* How long commits took: bucket i has those of up to least * 2^i. */
enum { LATENCY_BUCKETS = 20 };
#define LATENCY_LEAST_SECONDS 64e-6
struct latency {
    uint64_t counts[LATENCY_BUCKETS + 1];
    uint64_t count;
    double sum_s;
};

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct request *first;
    struct latency latency;
    /* Since when a commit is waited for; 0: none is. */
    double since_s;
    bool stops, has_thread;
};

bool waiter_begin(struct waiter *waiter);
/* Takes a request with a ticket. It is completed later, by http_go_on, in another thread. Returns
 * false if the server ends. */
bool waiter_add(struct waiter *waiter, struct request *request);
struct latency waiter_latency(struct waiter *waiter);
/* Whether the commit that is waited for takes long. */
bool waiter_is_slow(struct waiter *waiter);
/* When no request is left. */
void waiter_end(struct waiter *waiter);

/* The time that a share of the commits took at most, in seconds, between two moments. 0 of none. */
double latency_quantile(const struct latency *then, const struct latency *now, double share);

#endif
