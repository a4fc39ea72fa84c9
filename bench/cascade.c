/* bench/cascade.c - the cascade filter: insertions far beyond memory, and lookups beside what the
 * disk can do.
 *
 * Keys are numbers, hashed as they go; one thread inserts, another one merges. Everything goes
 * past the page cache. The device's own random reads are measured in the same run, on a file as
 * large as the cascade; a lookup of an absent key must read a page of each run of its range, so
 * `of device` is the share of those reads that lookups reach. The peer is a Bloom filter on the
 * same disk, in the same memory: disk_bloom.h. LETHE_BENCH_FOLDER names where the files go
 * (TMPDIR, /tmp); they are removed. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lethe/lethe.h>

#include "disk_bloom.h"
#include "folder.h"
#include "frame.h"
#include "keys.h"
#include "os/block_file.h"
#include "os/folder.h"
#include "os/reads.h"
#include "report.h"

enum { BATCH = 4096, ABSENT_BATCH = 8192, PAGE = 4096, DEPTH = 64 };

#define ERROR 0.0004

static const struct report_column columns[] = {
    {"subject", "subject", 26, -2},          {"keys", "keys", 11, 0},
    {"memory_mib", "memory MiB", 10, 0},     {"insert_mops", "insert M/s", 10, 2},
    {"insert_cpu_ns", "CPU ns each", 11, 0}, {"longest_insert_ms", "longest ms", 10, 1},
    {"absent_kops", "absent K/s", 10, 1},    {"reads_per_lookup", "reads each", 10, 2},
    {"device_kreads", "device K/s", 10, 1},  {"of_device", "of device", 9, 2},
    {"disk_mib", "disk MiB", 9, 0},          {"write_amplification", "written x", 9, 2},
    {"false_positive_rate", "error", 9, -1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct setting {
    uint64_t keys, memory_bytes, filter_bytes, lookups, seed;
    char folder[512];
};

struct result {
    double insert_seconds, insert_cpu_seconds, longest_seconds, absent_kops, reads, false_positives;
};

static void hash_keys(uint64_t seed, uint64_t first, size_t count, lethe_hash *out) {
    uint64_t keys[ABSENT_BATCH];
    for (size_t i = 0; i < count; i++)
        keys[i] = keys_scramble(seed + first + i);
    lethe_hash_u64_batch(LETHE_DEFAULT_SEED, keys, count, out);
}

struct worker {
    lethe_cascade *cascade;
    atomic_bool ends;
};

static void *work(void *context) {
    struct worker *worker = context;
    while (!atomic_load(&worker->ends)) {
        bool more;
        bench_require(lethe_cascade_work(worker->cascade, 0, 0, &more) == LETHE_OK, "merging");
        if (!more) usleep(500);
    }
    return NULL;
}

static void insert_all(const struct setting *setting, lethe_cascade *cascade,
                       struct result *result) {
    static lethe_hash hashes[BATCH];
    struct worker worker = {.cascade = cascade};
    pthread_t thread;
    bench_require(pthread_create(&thread, NULL, work, &worker) == 0, "starting a thread");
    double start = bench_now(), cpu = bench_cpu_seconds();
    for (uint64_t first = 0; first < setting->keys; first += BATCH) {
        size_t count = setting->keys - first < BATCH ? (size_t)(setting->keys - first) : BATCH;
        hash_keys(setting->seed, first, count, hashes);
        double before = bench_now();
        bench_require(lethe_cascade_add_batch(cascade, hashes, count, 0, NULL) == LETHE_OK,
                      "inserting");
        double took = bench_now() - before;
        if (took > result->longest_seconds) result->longest_seconds = took;
    }
    result->insert_seconds = bench_now() - start;
    result->insert_cpu_seconds = bench_cpu_seconds() - cpu;
    atomic_store(&worker.ends, true);
    pthread_join(thread, NULL);
}

/* Does all the work that is due, in both threads. */
static void settle(lethe_cascade *cascade) {
    bool more = true;
    while (more)
        bench_require(lethe_cascade_work(cascade, 0, 1 << 20, &more) == LETHE_OK, "merging");
}

static lethe_cascade_stats stats_of(lethe_cascade *cascade) {
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats);
    bench_require(lethe_cascade_info(cascade, 0, &stats) == LETHE_OK, "asking a cascade");
    return stats;
}

static void look_up(const struct setting *setting, lethe_cascade *cascade, struct result *result) {
    static lethe_hash hashes[ABSENT_BATCH];
    static uint8_t present[ABSENT_BATCH];
    uint64_t before = stats_of(cascade).pages_read, found = 0, asked = 0;
    double seconds = 0;
    while (asked < setting->lookups && seconds < 20) {
        hash_keys(setting->seed, setting->keys + asked, ABSENT_BATCH, hashes);
        double start = bench_now();
        bench_require(lethe_cascade_test_batch(cascade, hashes, ABSENT_BATCH, 0, present) ==
                          LETHE_OK,
                      "looking up");
        seconds += bench_now() - start;
        for (int i = 0; i < ABSENT_BATCH; i++)
            found += present[i];
        asked += ABSENT_BATCH;
    }
    result->absent_kops = (double)asked / seconds / 1e3;
    result->reads = (double)(stats_of(cascade).pages_read - before) / (double)asked;
    result->false_positives = (double)found / (double)asked;
    hash_keys(setting->seed, setting->keys / 2, BATCH, hashes);
    bench_require(lethe_cascade_test_batch(cascade, hashes, BATCH, 0, present) == LETHE_OK,
                  "looking up");
    for (int i = 0; i < BATCH; i++)
        bench_require(present[i] == 1, "finding what was inserted");
}

static lethe_status ignore(void *context, size_t index, const unsigned char *data) {
    (void)context, (void)index, (void)data;
    return LETHE_OK;
}

/* Thousands of random pages a second, of a file of that size. */
static double measure_device(const struct setting *setting, uint64_t bytes) {
    char path[600];
    snprintf(path, sizeof path, "%s/device", setting->folder);
    lethe_os_block_file file;
    bench_require(lethe_os_block_create(path, true, &file) == LETHE_OK, "making a file");
    enum { PIECE = 1 << 20 };
    unsigned char *data;
    bench_require(posix_memalign((void **)&data, PAGE, PIECE) == 0, "allocating");
    for (size_t i = 0; i < PIECE; i++)
        data[i] = (unsigned char)keys_scramble(i);
    uint64_t pieces = bytes / PIECE + 1;
    for (uint64_t i = 0; i < pieces; i++)
        bench_require(lethe_os_block_write(&file, i * PIECE, data, PIECE) == LETHE_OK, "writing");
    bench_require(lethe_os_block_sync(&file) == LETHE_OK, "syncing");
    lethe_os_reads *reads;
    bench_require(lethe_os_reads_new(LETHE_OS_READS_BEST, DEPTH, PAGE, &reads) == LETHE_OK,
                  "preparing reads");
    static lethe_os_read list[ABSENT_BATCH];
    double start = bench_now(), seconds = 0;
    uint64_t done = 0;
    while (seconds < 3 && done < 1000000) {
        for (int i = 0; i < ABSENT_BATCH; i++)
            list[i] = (lethe_os_read){.descriptor = file.descriptor,
                                      .size = PAGE,
                                      .offset = keys_scramble(done + (uint64_t)i) %
                                                (pieces * (PIECE / PAGE)) * PAGE};
        bench_require(lethe_os_reads_run(reads, list, ABSENT_BATCH, ignore, NULL) == LETHE_OK,
                      "reading");
        done += ABSENT_BATCH;
        seconds = bench_now() - start;
    }
    lethe_os_reads_free(reads);
    lethe_os_block_close(&file);
    unlink(path);
    free(data);
    return (double)done / seconds / 1e3;
}

static void report_cascade(struct report *report, const struct setting *setting, const char *name,
                           lethe_cascade *cascade, const struct result *result, double device) {
    lethe_cascade_stats stats = stats_of(cascade);
    report_row(
        report,
        (struct report_cell[COLUMNS]){
            REPORT_TEXT(name),
            REPORT_NUMBER((double)setting->keys),
            REPORT_NUMBER((double)(setting->memory_bytes + stats.level_filter_bytes) / (1 << 20)),
            REPORT_NUMBER(result->insert_seconds == 0
                              ? NAN
                              : (double)setting->keys / result->insert_seconds / 1e6),
            REPORT_NUMBER(result->insert_seconds == 0
                              ? NAN
                              : result->insert_cpu_seconds * 1e9 / (double)setting->keys),
            REPORT_NUMBER(result->longest_seconds == 0 ? NAN : result->longest_seconds * 1e3),
            REPORT_NUMBER(result->absent_kops),
            REPORT_NUMBER(result->reads),
            REPORT_NUMBER(device),
            REPORT_NUMBER(result->absent_kops * stats.runs_per_lookup / device),
            REPORT_NUMBER((double)stats.disk_bytes / (1 << 20)),
            REPORT_NUMBER(stats.write_amplification == 0 ? NAN : stats.write_amplification),
            REPORT_NUMBER(result->false_positives),
        });
}

/* Returns how many thousand pages the device reads per second. */
static double run_cascade(struct report *report, const struct setting *setting) {
    char path[600];
    snprintf(path, sizeof path, "%s/cascade", setting->folder);
    lethe_cascade_options options =
        LETHE_OPTIONS(lethe_cascade_options, .capacity = setting->keys, .error = ERROR,
                      .memory_bytes = setting->memory_bytes, .read_depth = DEPTH, .direct = true);
    struct result result = {0};
    lethe_cascade *cascade;
    bench_require(lethe_cascade_open(path, &options, &cascade, NULL) == LETHE_OK,
                  "making a cascade");
    insert_all(setting, cascade, &result);
    settle(cascade);
    double device = measure_device(setting, stats_of(cascade).disk_bytes);
    look_up(setting, cascade, &result);
    report_cascade(report, setting, "cascade", cascade, &result, device);
    bench_require(lethe_cascade_close(cascade, NULL) == LETHE_OK, "closing a cascade");

    options.level_filter_bytes = setting->filter_bytes;
    bench_require(lethe_cascade_open(path, &options, &cascade, NULL) == LETHE_OK,
                  "opening a cascade");
    settle(cascade);
    result = (struct result){0};
    look_up(setting, cascade, &result);
    report_cascade(report, setting, "cascade, level filters", cascade, &result, device);
    bench_require(lethe_cascade_close(cascade, NULL) == LETHE_OK, "closing a cascade");
    lethe_os_folder_remove(path);
    return device;
}

static void run_bloom(struct report *report, const struct setting *setting, double device) {
    static lethe_hash hashes[ABSENT_BATCH];
    static uint8_t present[ABSENT_BATCH];
    char path[600];
    snprintf(path, sizeof path, "%s/bloom", setting->folder);
    struct disk_bloom *filter = disk_bloom_make(path, setting->keys, ERROR, setting->memory_bytes);
    double start = bench_now(), cpu = bench_cpu_seconds(), longest = 0;
    for (uint64_t first = 0; first < setting->keys; first += BATCH) {
        size_t count = setting->keys - first < BATCH ? (size_t)(setting->keys - first) : BATCH;
        hash_keys(setting->seed, first, count, hashes);
        double before = bench_now();
        disk_bloom_insert(filter, hashes, count);
        double took = bench_now() - before;
        if (took > longest) longest = took;
    }
    disk_bloom_flush(filter);
    double insert_seconds = bench_now() - start, seconds = 0;
    cpu = bench_cpu_seconds() - cpu;
    uint64_t found = 0, asked = 0;
    while (asked < setting->lookups && seconds < 20) {
        hash_keys(setting->seed, setting->keys + asked, ABSENT_BATCH, hashes);
        double before = bench_now();
        disk_bloom_test(filter, hashes, ABSENT_BATCH, present);
        seconds += bench_now() - before;
        for (int i = 0; i < ABSENT_BATCH; i++)
            found += present[i];
        asked += ABSENT_BATCH;
    }
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT("Bloom filter in sweeps"),
                           REPORT_NUMBER((double)setting->keys),
                           REPORT_NUMBER((double)setting->memory_bytes / (1 << 20)),
                           REPORT_NUMBER((double)setting->keys / insert_seconds / 1e6),
                           REPORT_NUMBER(cpu * 1e9 / (double)setting->keys),
                           REPORT_NUMBER(longest * 1e3),
                           REPORT_NUMBER((double)asked / seconds / 1e3),
                           REPORT_NUMBER(1),
                           REPORT_NUMBER(device),
                           REPORT_NUMBER((double)asked / seconds / 1e3 / device),
                           REPORT_NUMBER((double)disk_bloom_bytes(filter) / (1 << 20)),
                           REPORT_NUMBER(NAN),
                           REPORT_NUMBER((double)found / (double)asked),
                       });
    disk_bloom_free(filter);
}

static int run(const struct bench_options *options) {
    struct setting setting = {.keys = 100000000,
                              .memory_bytes = 32 << 20,
                              .filter_bytes = 77 << 20,
                              .lookups = 1000000,
                              .seed = options->seed << 40};
    if (options->quick) {
        setting.keys = 2000000;
        setting.memory_bytes = 2 << 20;
        setting.filter_bytes = 2 << 20;
        setting.lookups = 20000;
    } else if (options->full) {
        setting.keys = 1000000000;
        setting.memory_bytes = 256 << 20;
        setting.filter_bytes = 768 << 20;
    }
    bench_folder_make(setting.folder, sizeof setting.folder);
    struct report report;
    report_begin(&report, "cascade", options->json, columns, COLUMNS);
    double device = run_cascade(&report, &setting);
    run_bloom(&report, &setting, device);
    report_end(&report);
    bench_folder_remove(setting.folder);
    return 0;
}

const struct workload workload_cascade = {
    .name = "cascade",
    .summary = "a filter on disk: 100 million keys in 32 MiB; --full: a billion in 256 MiB",
    .run = run,
};
