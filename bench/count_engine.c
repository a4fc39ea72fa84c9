/* bench/count_engine.c - the engine under `lethe count`, called from this program; see
 * count_lethe.h. */
#include <lethe/store.h>
#include <string.h>

#include "count_lethe.h"
#include "engine.h"
#include "frame.h"

enum { COMMIT_INTERVAL_MS = 100 };

static lethe_store *open_store(const struct count_job *job) {
    char path[COUNT_PATH_BYTES];
    lethe_store *store;
    lethe_detail detail = {""};
    snprintf(path, sizeof path, "%s/store", job->folder);
    engine_require(lethe_store_open(path,
                                    &LETHE_OPTIONS(lethe_store_options, .create = true,
                                                   .commit_interval_ms = COMMIT_INTERVAL_MS,
                                                   .capacity = job->events->count),
                                    &store, &detail),
                   &detail);
    return store;
}

/* Points operations at a stretch of the file's lines. */
static void point(const char *lines, size_t count, lethe_operation *operations,
                  lethe_change *changes) {
    for (size_t i = 0; i < count; i++) {
        changes[i] = (lethe_change){.key = {.data = count_key(lines, i), .size = COUNT_KEY_BYTES},
                                    .delta = count_delta(lines, i)};
        operations[i] =
            (lethe_operation){.id = {.data = count_id(lines, i), .size = COUNT_ID_BYTES},
                              .changes = &changes[i],
                              .change_count = 1};
    }
}

static lethe_operation operations[COUNT_BATCH];
static lethe_change changes[COUNT_BATCH];
static uint8_t outcomes[COUNT_BATCH];

void count_warm(const char *lines, size_t count) {
    point(lines, count, operations, changes);
    memset(outcomes, LETHE_OUTCOME_APPLIED, sizeof outcomes);
}

uint64_t count_submit(lethe_store *store, const char *lines, size_t count, uint64_t *ticket) {
    lethe_detail detail = {""};
    uint64_t applied = 0;
    point(lines, count, operations, changes);
    engine_require(lethe_store_submit(store, operations, count, NULL, 0, outcomes, NULL, ticket),
                   &detail);
    for (size_t i = 0; i < count; i++)
        applied += outcomes[i] == LETHE_OUTCOME_APPLIED;
    return applied;
}

static bool add_value(void *context, lethe_bytes key, int64_t value) {
    (void)key;
    *(int64_t *)context += value;
    return true;
}

static void run_engine(void *context) {
    struct count_job *job = context;
    const char *lines = count_events_map(job->events);
    lethe_store *store = open_store(job);
    lethe_detail detail = {""};
    uint64_t ticket = 0;
    double before = count_cost_now(0).cpu_seconds, started = bench_now();
    for (uint64_t i = 0; i < job->events->count; i += COUNT_BATCH) {
        uint64_t left = job->events->count - i;
        job->out->applied += count_submit(store, count_id(lines, i),
                                          left < COUNT_BATCH ? (size_t)left : COUNT_BATCH, &ticket);
    }
    engine_require(lethe_store_wait(store, ticket), &detail);
    job->out->cost = count_cost_now(started);
    job->out->cost.cpu_seconds -= before;
    engine_require(
        lethe_store_each(store, (lethe_bytes){.data = "", .size = 0}, add_value, &job->out->sum),
        &detail);
    engine_close(store);
}

static void run_open(void *context) {
    struct count_job *job = context;
    double started = bench_now();
    lethe_store *store = open_store(job);
    job->out->cost = count_cost_now(started);
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_store_info(store, &stats);
    job->out->applied = stats.log_ids;
    engine_close(store);
}

void count_by_engine(const struct count_events *events, const char *folder,
                     struct count_outcome *out) {
    count_peer_fork(run_engine, "counting", events, folder, out);
}

void count_open_store(const struct count_events *events, const char *folder,
                      struct count_outcome *out) {
    count_peer_fork(run_open, "opening a store", events, folder, out);
}
