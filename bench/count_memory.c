/* bench/count_memory.c - what the memory of a store is used for, after ten million events.
 *
 * The events are those of count_events.h: nine million ids, and 735,000 of a million keys. A
 * process submits them to a new store, in batches of 65,536 that it reads from a file, and waits
 * until all are durable. Then it asks the store what it uses (lethe_store_info), and the system
 * what the process has (/proc/self/status, so there is no such workload elsewhere). MiB of each:
 *
 *   resident   of the process then; peak: the most it ever had
 *   program    code and libraries; and the data that the process had before it opened the store,
 *              of which the batch is most
 *   window, counters, index, ledger, database
 *              as the store says it; buckets and the sketch are in counters, RocksDB's records,
 *              caches and tables are the database
 *   groups     what operations wait in until they are committed
 *   rest       what is left of the resident bytes: what RocksDB makes of groups, stacks of threads,
 *              what allocators keep. It may be less than nothing: a window that has just grown, or
 *              a ledger, may have memory that nothing was written to yet.
 *
 * The store is not told how many ids will come, as `lethe count` does not. `lethe count` has its
 * reader's batches beside this; see `lethe bench count` for its memory. */
#include <lethe/store.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "count_lethe.h"
#include "engine.h"
#include "folder.h"
#include "frame.h"
#include "report.h"

static const struct report_column columns[] = {
    {"way", "way", 16, -2},
    {"events", "events", 9, 0},
    {"peak_mib", "peak", 7, 1},
    {"resident_mib", "resident", 8, 1},
    {"program_mib", "program", 7, 1},
    {"window_mib", "window", 7, 1},
    {"counters_mib", "counters", 8, 1},
    {"index_mib", "index", 7, 1},
    {"ledger_mib", "ledger", 7, 1},
    {"groups_mib", "groups", 7, 1},
    {"database_mib", "database", 8, 1},
    {"rest_mib", "rest", 7, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct way {
    const char *name;
    lethe_store_options options;
    double error;
};

static const struct way ways[] = {
    {"default", {.error = 1e-12}, 1e-12},
    {"error 1e-6", {.error = 1e-6}, 1e-6},
    {"exact", {.exact = LETHE_SWITCH_ON}, 0},
    {"for ever", {.forever = LETHE_SWITCH_ON}, 1e-9},
    {"per 1h", {.per = "1h"}, 1e-12},
    {"sketch of 16 MiB", {.sketch_bytes = 16 << 20}, 1e-12},
};

/* What a process is given, and what it finds; shared with its parent. */
struct job {
    const struct way *way;
    const struct count_events *events;
    const char *folder;
    lethe_store_stats stats;
    uint64_t applied;
    double peak_kib, program_kib, resident_kib;
};

/* A line "NAME:   1234 kB" of the system's description of this process. */
static double status_kib(const char *name) {
    char line[256];
    double found = NAN;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) return NAN;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            found = strtod(line + strlen(name) + 1, NULL);
    }
    fclose(file);
    return found;
}

static lethe_store *open_store(const struct job *job) {
    char path[COUNT_PATH_BYTES];
    lethe_store *store;
    lethe_detail detail = {""};
    lethe_store_options options = job->way->options;
    options.size = sizeof options;
    options.create = true;
    snprintf(path, sizeof path, "%s/store", job->folder);
    engine_require(lethe_store_open(path, &options, &store, &detail), &detail);
    return store;
}

/* In a process of its own. */
static void run_way(void *context) {
    struct job *job = context;
    struct count_batches batches;
    lethe_detail detail = {""};
    uint64_t ticket = 0;
    count_batches_open(&batches, job->events);
    bool has_more = count_batches_next(&batches);
    count_warm(batches.lines, batches.count);
    job->program_kib = status_kib("RssAnon");
    lethe_store *store = open_store(job);
    for (; has_more; has_more = count_batches_next(&batches))
        job->applied += count_submit(store, batches.lines, batches.count, &ticket);
    engine_require(lethe_store_wait(store, ticket), &detail);
    job->stats.size = sizeof job->stats;
    engine_require(lethe_store_info(store, &job->stats), &detail);
    job->resident_kib = status_kib("VmRSS");
    job->peak_kib = status_kib("VmHWM");
    job->program_kib += status_kib("RssFile") + status_kib("RssShmem");
    engine_close(store);
    count_batches_close(&batches);
}

static void check(const struct job *job) {
    double expected = (double)job->events->originals * job->way->error;
    double lost = (double)job->events->originals - (double)job->applied;
    bench_require(lost >= 0, "counting: an event was counted twice");
    bench_require(lost <= expected + 6 * sqrt(expected),
                  "counting: too many new events were taken for duplicates");
    bench_require(job->stats.applied == job->applied, "asking a store what it has applied");
}

static void report_job(struct report *report, const struct job *job) {
    const lethe_store_stats *stats = &job->stats;
    double parts[] = {
        job->program_kib / 1024,
        (double)stats->window.memory_bytes * 0x1p-20,
        (double)(stats->counters_memory_bytes + stats->buckets_memory_bytes) * 0x1p-20,
        (double)stats->index_memory_bytes * 0x1p-20,
        (double)stats->ledger.memory_bytes * 0x1p-20,
        (double)stats->groups_memory_bytes * 0x1p-20,
        (double)stats->database_memory_bytes * 0x1p-20,
    };
    enum { BEFORE = 4, PARTS = sizeof parts / sizeof parts[0] };
    double rest = job->resident_kib / 1024;
    struct report_cell cells[COLUMNS] = {
        REPORT_TEXT(job->way->name), REPORT_NUMBER((double)job->events->count),
        REPORT_NUMBER(job->peak_kib / 1024), REPORT_NUMBER(job->resident_kib / 1024)};
    for (int i = 0; i < PARTS; i++) {
        cells[BEFORE + i] = REPORT_NUMBER(parts[i]);
        rest -= parts[i];
    }
    cells[BEFORE + PARTS] = REPORT_NUMBER(rest);
    report_row(report, cells);
}

static int run_count_memory(const struct bench_options *options) {
    char parent[COUNT_PATH_BYTES / 4], folder[COUNT_PATH_BYTES / 2];
    struct count_events events;
    struct report report;
    count_folder_make(parent, sizeof parent);
    snprintf(folder, sizeof folder, "%s/data", parent);
    count_events_make(&events, parent, options->quick ? 50000 : 10000000, options->seed);
    report_begin(&report, "count-memory", options->json, columns, COLUMNS);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct job *job = count_shared(sizeof *job);
        *job = (struct job){.way = &ways[i], .events = &events, .folder = folder};
        count_folder_renew(folder);
        count_fork(run_way, job, "counting");
        check(job);
        report_job(&report, job);
        munmap(job, sizeof *job);
    }
    report_end(&report);
    bench_folder_remove(parent);
    return 0;
}

const struct workload workload_count_memory = {
    .name = "count-memory",
    .summary = "what the memory of a store is used for",
    .run = run_count_memory,
};
