/* watch.c - looks at the store once a second; see watch.h.
 *
 * I1      What is shown is durable: a look counts when the commit that was filling is done. The
 *         thread waits for it. Whoever asks waits PATIENCE_MS at most, and is then shown what the
 *         last look saw: a slow disk is when figures are wanted most.
 * WHY     Finding the largest counters costs a microsecond for each counter there is. So it happens
 *         in a thread of its own, only while somebody looks, and it rests for a hundred times as
 *         long as it took. */
#include "server/watch.h"

#include <string.h>
#include <time.h>

#include "frame/clock.h"
#include "server/log.h"
#include "server/rest.h"
#include "server/state.h"

enum { TOP_REST_FACTOR = 100, TOP_WANTED_SECONDS = 15, PATIENCE_MS = 50 };
/* A rate is over this at least. */
#define RATE_SECONDS 0.9

const char *outcome_name(unsigned outcome) {
    static const char *const names[] = {
        [LETHE_OUTCOME_APPLIED] = "applied",   [LETHE_OUTCOME_DUPLICATE] = "duplicate",
        [LETHE_OUTCOME_LATE] = "late",         [LETHE_OUTCOME_FUTURE] = "future",
        [LETHE_OUTCOME_OVERFLOW] = "overflow", [LETHE_OUTCOME_INVALID] = "invalid",
        [LETHE_OUTCOME_REFUSED] = "refused",   [LETHE_OUTCOME_MISMATCH] = "mismatch",
        [LETHE_OUTCOME_LIMITED] = "limited",   [LETHE_OUTCOME_APPLIED_LATE] = "applied",
    };
    return outcome < sizeof names / sizeof names[0] ? names[outcome] : "unknown";
}

double watch_error(const lethe_store_stats *stats) {
    return stats->exact ? 0 : stats->window.error_estimate + stats->ledger.error_estimate;
}

uint64_t watch_memory(const lethe_store_stats *stats) {
    return stats->window.memory_bytes + stats->ledger.memory_bytes + stats->index_memory_bytes +
           stats->counters_memory_bytes + stats->buckets_memory_bytes + stats->groups_memory_bytes +
           stats->database_memory_bytes;
}

uint64_t watch_disk(const lethe_store_stats *stats) {
    return stats->log_bytes + stats->changes_bytes + stats->index_bytes + stats->counters_bytes +
           stats->buckets_bytes + stats->ledger.disk_bytes;
}

static struct totals totals_of(const lethe_store_stats *stats) {
    return (struct totals){.by_outcome = {
                               [LETHE_OUTCOME_APPLIED] = stats->applied,
                               [LETHE_OUTCOME_DUPLICATE] = stats->duplicates,
                               [LETHE_OUTCOME_LATE] = stats->late,
                               [LETHE_OUTCOME_FUTURE] = stats->future,
                               [LETHE_OUTCOME_OVERFLOW] = stats->overflow,
                               [LETHE_OUTCOME_INVALID] = stats->invalid,
                               [LETHE_OUTCOME_REFUSED] = stats->refused,
                               [LETHE_OUTCOME_MISMATCH] = stats->mismatched,
                               [LETHE_OUTCOME_LIMITED] = stats->limited,
                           }};
}

/* I1. In a reader all is durable; it is shown anew what was written meanwhile. */
static lethe_status settle(struct server *server, lethe_store *store) {
    uint64_t ticket;
    if (server->options->read_only) return LETHE_OK;
    lethe_status status = lethe_store_submit(store, NULL, 0, NULL, 0, NULL, NULL, &ticket);
    return status == LETHE_OK ? lethe_store_wait(store, ticket) : status;
}

/* The same without much patience: LETHE_EBUSY if it takes longer. */
static lethe_status settle_soon(struct server *server, lethe_store *store) {
    const struct timespec pause = {.tv_nsec = 1000000};
    double until = clock_seconds() + PATIENCE_MS / 1000.0;
    uint64_t ticket;
    if (server->options->read_only) return LETHE_OK;
    lethe_status status = lethe_store_submit(store, NULL, 0, NULL, 0, NULL, NULL, &ticket);
    while (status == LETHE_OK && !lethe_store_is_done(store, ticket)) {
        if (clock_seconds() > until) return LETHE_EBUSY;
        nanosleep(&pause, NULL);
    }
    return status == LETHE_OK ? lethe_store_wait(store, ticket) : status;
}

static void fail(struct server *server, lethe_store *store, lethe_status status) {
    lethe_detail detail = {""};
    lethe_store_explain(store, &detail);
    door_fail(&server->door, status, detail.text);
}

static void note(struct watch *watch, uint64_t number, const lethe_store_stats *stats,
                 const lethe_holds_stats *holds, const struct latency *latency, bool is_tick) {
    double now = clock_seconds();
    pthread_mutex_lock(&watch->lock);
    if (number < watch->noted) {
        pthread_mutex_unlock(&watch->lock); /* another thread has looked later, and was faster */
        return;
    }
    watch->noted = number;
    watch->latest = (struct sample){.at_s = now, .totals = totals_of(stats), .latency = *latency};
    if (is_tick) watch->samples[watch->count++ % SAMPLES] = watch->latest;
    if (watch->has_stats && stats->applied > watch->stats.applied) {
        watch->expected_lost +=
            watch_error(stats) * (double)(stats->applied - watch->stats.applied);
    }
    if (!watch->has_stats || stats->folded != watch->folded) {
        watch->folded = stats->folded;
        watch->folded_s = now;
    }
    watch->stats = *stats;
    watch->holds = *holds;
    watch->has_stats = true;
    pthread_mutex_unlock(&watch->lock);
}

static void look(struct watch *watch, bool is_tick) {
    struct server *server = watch->server;
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_holds_stats holds = LETHE_INIT(lethe_holds_stats);
    lethe_store *store = door_enter(&server->door);
    if (store == NULL) return;
    pthread_mutex_lock(&watch->lock);
    uint64_t number = ++watch->looks;
    pthread_mutex_unlock(&watch->lock);
    lethe_status status = LETHE_OK;
    if (server->options->read_only) status = lethe_store_refresh(store, NULL);
    if (status == LETHE_EBUSY) status = LETHE_OK; /* the next look sees it */
    if (status == LETHE_OK) status = lethe_store_info(store, &stats);
    if (status == LETHE_OK) status = lethe_holds_info(store, &holds);
    if (status == LETHE_OK) status = is_tick ? settle(server, store) : settle_soon(server, store);
    struct latency latency = waiter_latency(&server->waiter);
    if (status == LETHE_OK)
        note(watch, number, &stats, &holds, &latency, is_tick);
    else if (is_tick || status != LETHE_EBUSY)
        fail(server, store, status);
    door_leave(&server->door);
}

struct top_list {
    struct text text;
    unsigned scale;
};

static bool add_counter(void *context, lethe_bytes key, int64_t value) {
    struct top_list *list = context;
    text_put(&list->text, list->text.size > 0 ? ",{" : "{");
    text_bytes(&list->text, "key", key);
    text_put(&list->text, ",\"value\":");
    text_value(&list->text, value, list->scale);
    text_put(&list->text, "}");
    return true;
}

static void rank(struct watch *watch) {
    struct server *server = watch->server;
    struct top_list list = {.scale = server->scale};
    lethe_store *store = door_enter(&server->door);
    if (store == NULL) return;
    double began = clock_seconds();
    lethe_status status = lethe_store_top(store, TOP_SHOWN, add_counter, &list);
    double took = clock_seconds() - began;
    if (status == LETHE_OK) status = settle(server, store);
    if (status != LETHE_OK) fail(server, store, status);
    door_leave(&server->door);
    pthread_mutex_lock(&watch->lock);
    if (status == LETHE_OK && !list.text.has_failed) {
        struct text old = watch->top;
        watch->top = list.text;
        watch->top_began_s = began;
        list.text = old;
    }
    watch->top_at_s = clock_seconds();
    watch->top_took_s = took;
    pthread_mutex_unlock(&watch->lock);
    text_free(&list.text);
}

/* With the lock. */
static bool is_top_due(const struct watch *watch) {
    double now = clock_seconds();
    return watch->top_wanted_s > 0 && now - watch->top_wanted_s < TOP_WANTED_SECONDS &&
           (watch->top_at_s == 0 ||
            now - watch->top_at_s > 0.5 + TOP_REST_FACTOR * watch->top_took_s);
}

static void *watch_store(void *context) {
    struct watch *watch = context;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stops) {
        pthread_mutex_unlock(&watch->lock);
        look(watch, true);
        pthread_mutex_lock(&watch->lock);
        if (!watch->stops) rest_ms(&watch->changed, &watch->lock, 1000);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static void *watch_top(void *context) {
    struct watch *watch = context;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stops) {
        if (!is_top_due(watch)) {
            rest_ms(&watch->changed, &watch->lock, 200);
            continue;
        }
        pthread_mutex_unlock(&watch->lock);
        rank(watch);
        pthread_mutex_lock(&watch->lock);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

bool watch_begin(struct watch *watch, struct server *server) {
    memset(watch, 0, sizeof *watch);
    watch->server = server;
    watch->started_s = watch->folded_s = clock_seconds();
    pthread_mutex_init(&watch->lock, NULL);
    rest_init(&watch->changed);
    look(watch, true); /* so that there is something to show from the first request on */
    watch->has_thread = pthread_create(&watch->thread, NULL, watch_store, watch) == 0;
    watch->has_top_thread =
        watch->has_thread && pthread_create(&watch->top_thread, NULL, watch_top, watch) == 0;
    return watch->has_top_thread;
}

void watch_end(struct watch *watch) {
    pthread_mutex_lock(&watch->lock);
    watch->stops = true;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    if (watch->has_thread) pthread_join(watch->thread, NULL);
    if (watch->has_top_thread) pthread_join(watch->top_thread, NULL);
    text_free(&watch->top);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
}

void watch_answered(struct watch *watch, unsigned status) {
    size_t class = status / 100 < 6 ? status / 100 : 0;
    __atomic_fetch_add(&watch->answers[class], 1, __ATOMIC_RELAXED);
}

/* With the lock: the newest of the samples that are old enough, or the oldest. */
static const struct sample *sample_before(const struct watch *watch, double seconds) {
    uint64_t kept = watch->count < SAMPLES ? watch->count : SAMPLES;
    for (uint64_t age = 1; age < kept; age++) {
        const struct sample *sample = &watch->samples[(watch->count - age) % SAMPLES];
        if (watch->latest.at_s - sample->at_s >= seconds) return sample;
    }
    return &watch->samples[(watch->count - kept) % SAMPLES];
}

void watch_view(struct watch *watch, struct view *out) {
    look(watch, false);
    double now = clock_seconds();
    pthread_mutex_lock(&watch->lock);
    *out = (struct view){.has_stats = watch->has_stats,
                         .stats = watch->stats,
                         .holds = watch->holds,
                         .now = watch->latest,
                         .before = *sample_before(watch, RATE_SECONDS),
                         .minute = *sample_before(watch, 59),
                         .uptime_s = now - watch->started_s,
                         .fold_age_s = now - watch->folded_s,
                         .expected_lost = watch->expected_lost};
    pthread_mutex_unlock(&watch->lock);
}
