/* waiter.c - waits for commits; see waiter.h.
 *
 * I1      All requests here have the same store: it is not opened again before they have left.
 * WHY     Tickets are numbers of commits, which become durable in their order. After the wait for
 *         the least ticket, every request with that ticket is done. */
#include "server/waiter.h"

#include <math.h>

#include "frame/clock.h"
#include "server/http.h"
#include "server/request.h"

/* A commit that takes longer than this is no usual one. */
#define LONG_SECONDS 0.1

/* The least ticket of those that wait. */
static uint64_t least_ticket(const struct waiter *waiter) {
    uint64_t least = UINT64_MAX;
    for (const struct request *at = waiter->first; at != NULL; at = at->next) {
        if (at->ticket < least) least = at->ticket;
    }
    return least;
}

/* Takes those out that are done, or all after a failure. */
static struct request *take_done(struct waiter *waiter, uint64_t ticket, bool has_failed) {
    struct request *done = NULL, **link = &waiter->first;
    while (*link != NULL) {
        struct request *request = *link;
        if (!has_failed && request->ticket > ticket) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        request->next = done;
        done = request;
    }
    return done;
}

static void measure(struct latency *latency, double seconds) {
    size_t bucket = 0;
    double most = LATENCY_LEAST_SECONDS;
    while (bucket < LATENCY_BUCKETS && seconds > most) {
        most *= 2;
        bucket++;
    }
    latency->counts[bucket]++;
    latency->count++;
    latency->sum_s += seconds;
}

static void finish(struct request *done, lethe_status status) {
    while (done != NULL) {
        struct request *next = done->next;
        if (status != LETHE_OK) request_store_problem(done, status);
        done->ticket = 0;
        http_go_on(done);
        done = next;
    }
}

static void *wait_for_all(void *context) {
    struct waiter *waiter = context;
    pthread_mutex_lock(&waiter->lock);
    while (!waiter->stops || waiter->first != NULL) {
        if (waiter->first == NULL) {
            pthread_cond_wait(&waiter->changed, &waiter->lock);
            continue;
        }
        uint64_t ticket = least_ticket(waiter);
        lethe_store *store = waiter->first->store;
        waiter->since_s = clock_seconds();
        pthread_mutex_unlock(&waiter->lock);
        lethe_status status = lethe_store_wait(store, ticket);
        double now = clock_seconds();
        pthread_mutex_lock(&waiter->lock);
        waiter->since_s = 0;
        struct request *done = take_done(waiter, ticket, status != LETHE_OK);
        for (const struct request *at = done; at != NULL; at = at->next) {
            measure(&waiter->latency, now - at->submitted_s);
        }
        pthread_mutex_unlock(&waiter->lock);
        finish(done, status);
        pthread_mutex_lock(&waiter->lock);
    }
    pthread_mutex_unlock(&waiter->lock);
    return NULL;
}

bool waiter_begin(struct waiter *waiter) {
    *waiter = (struct waiter){0};
    pthread_mutex_init(&waiter->lock, NULL);
    pthread_cond_init(&waiter->changed, NULL);
    waiter->has_thread = pthread_create(&waiter->thread, NULL, wait_for_all, waiter) == 0;
    return waiter->has_thread;
}

bool waiter_add(struct waiter *waiter, struct request *request) {
    pthread_mutex_lock(&waiter->lock);
    bool stops = waiter->stops;
    if (!stops) {
        request->next = waiter->first;
        waiter->first = request;
        if (request->next == NULL) pthread_cond_signal(&waiter->changed);
    }
    pthread_mutex_unlock(&waiter->lock);
    return !stops;
}

struct latency waiter_latency(struct waiter *waiter) {
    pthread_mutex_lock(&waiter->lock);
    struct latency latency = waiter->latency;
    pthread_mutex_unlock(&waiter->lock);
    return latency;
}

bool waiter_is_slow(struct waiter *waiter) {
    pthread_mutex_lock(&waiter->lock);
    double since_s = waiter->since_s;
    pthread_mutex_unlock(&waiter->lock);
    return since_s > 0 && clock_seconds() - since_s > LONG_SECONDS;
}

void waiter_end(struct waiter *waiter) {
    pthread_mutex_lock(&waiter->lock);
    waiter->stops = true;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
    if (waiter->has_thread) pthread_join(waiter->thread, NULL);
    pthread_cond_destroy(&waiter->changed);
    pthread_mutex_destroy(&waiter->lock);
}

double latency_quantile(const struct latency *then, const struct latency *now, double share) {
    uint64_t count = now->count - then->count, seen = 0;
    uint64_t wanted = (uint64_t)ceil(share * (double)count);
    for (size_t i = 0; i <= LATENCY_BUCKETS && count > 0; i++) {
        seen += now->counts[i] - then->counts[i];
        if (seen >= wanted) return LATENCY_LEAST_SECONDS * ldexp(1, (int)i);
    }
    return 0;
}
