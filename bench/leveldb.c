/* bench/leveldb.c - the time that random reads of LevelDB take, with its own filter and with ours.
 *
 * The reads are those of leveldb-tables: half of the keys were written; from the database as it was
 * written, where a read may ask five tables, and compacted, where it asks one. All databases are
 * made first, and are then read in turns, so that whatever else the machine does hits all alike;
 * the median of the turns counts. All of it is in the system's cache: a read in vain costs a search
 * in a block, and would cost far more on a disk.
 *
 * "seconds" are those of the clock; "CPU us a read" is what a reader costs, and what is left of
 * the time on a machine that does nothing else, since no read waits for a disk: the last column
 * compares that with LevelDB's own filter above, turn by turn, and is the median of these
 * ratios. "bits/key" is what the filters add to the tables, LevelDB's own list of them included. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <lethe/leveldb.h>

#include "folder.h"
#include "frame.h"
#include "leveldb_store.h"
#include "report.h"

enum { LEAST_TURNS = 31, MOST_TURNS = 999 };

static const struct report_column columns[] = {
    {"state", "state", 12, -2},         {"policy", "policy", 24, -2},
    {"bits_per_key", "bits/key", 8, 1}, {"seconds", "seconds", 8, 3},
    {"cpu_us", "CPU us a read", 13, 3}, {"over_own", "of LevelDB's", 12, 3},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* LevelDB's own filter comes before those of ours that are measured against it. */
#define OPTIONS(...) LETHE_OPTIONS(lethe_leveldb_options, __VA_ARGS__)

static const struct subject {
    const char *name;
    const char *kind; /* NULL: LevelDB's own; "": no filter */
    lethe_leveldb_options options;
} subjects[] = {
    {"none", "", OPTIONS(.bits_per_key = 0)},
    {"LevelDB's, 10 bits", NULL, OPTIONS(.bits_per_key = 10)},
    {"bloom, 10 bits", "bloom", OPTIONS(.bits_per_key = 10)},
    {"blocked, 10 bits", "blocked", OPTIONS(.bits_per_key = 10)},
    {"quotient, 10 bits", "quotient", OPTIONS(.bits_per_key = 10)},
    {"gaussian, 5 slots of 2", "gaussian", OPTIONS(.bits_per_key = 10, .slot_bits = 2)},
    {"gaussian, 10 slots of 4", "gaussian", OPTIONS(.bits_per_key = 40, .slot_bits = 4)},
    {"LevelDB's, 5 bits", NULL, OPTIONS(.bits_per_key = 5)},
    {"bloom, 5 bits", "bloom", OPTIONS(.bits_per_key = 5)},
    {"quotient, 5 bits", "quotient", OPTIONS(.bits_per_key = 5)},
    {"gaussian, 5 slots of 4", "gaussian", OPTIONS(.bits_per_key = 20, .slot_bits = 4)},
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static leveldb_filterpolicy_t *make_policy(const struct subject *subject) {
    if (subject->kind == NULL)
        return leveldb_filterpolicy_create_bloom((int)subject->options.bits_per_key);
    leveldb_filterpolicy_t *policy = NULL;
    if (subject->kind[0] == '\0') return NULL;
    bench_require(lethe_leveldb_policy(subject->kind, &subject->options, &policy) == LETHE_OK,
                  "making a policy");
    return policy;
}

struct keys {
    char (*texts)[STORE_KEY_BYTES + 1];
    uint64_t written; /* how many of them */
};

static struct keys draw_keys(const struct store_load *load) {
    struct keys keys = {.texts = malloc(load->reads * sizeof *keys.texts)};
    bench_require(keys.texts != NULL, "allocating keys");
    for (uint64_t i = 0; i < load->reads; i++) {
        uint64_t number = store_draw(load, i);
        store_key(load, number, keys.texts[i]);
        keys.written += number < load->keys;
    }
    return keys;
}

/* Reads all, and returns whether every key that was written was found. */
static bool read_all(struct store *store, const struct keys *keys, double *seconds,
                     double *cpu_seconds) {
    uint64_t found = 0;
    double start = bench_now(), cpu_start = bench_cpu_now();
    for (uint64_t i = 0; i < store->load->reads; i++)
        found += store_get(store, keys->texts[i]);
    *seconds = bench_now() - start;
    *cpu_seconds = bench_cpu_now() - cpu_start;
    return found == keys->written;
}

static int compare_seconds(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *seconds, int count) {
    qsort(seconds, (size_t)count, sizeof *seconds, compare_seconds);
    return count % 2 == 1 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
}

/* What all databases took in all turns, by the clock and of the CPU. */
struct times {
    double seconds[SUBJECTS][MOST_TURNS], cpu_seconds[SUBJECTS][MOST_TURNS];
};

/* The median, over the turns, of a subject's CPU time over that of another. */
static double median_ratio(const struct times *times, int subject, int own, int turns) {
    double ratios[MOST_TURNS];
    for (int turn = 0; turn < turns; turn++)
        ratios[turn] = times->cpu_seconds[subject][turn] / times->cpu_seconds[own][turn];
    return median(ratios, turns);
}

static void print_rows(struct report *report, struct store *stores, struct times *times, int turns,
                       const char *state) {
    double bytes = store_table_bytes(&stores[0]), ratios[SUBJECTS];
    int own = -1; /* LevelDB's own filter, that those after it are compared with */
    for (int i = 0; i < SUBJECTS; i++) {
        if (subjects[i].kind == NULL) own = i;
        ratios[i] = own < 0 ? NAN : median_ratio(times, i, own, turns);
    }
    for (int i = 0; i < SUBJECTS; i++) {
        const struct store_load *load = stores[i].load;
        double added = store_table_bytes(&stores[i]) - bytes;
        double cpu_seconds = median(times->cpu_seconds[i], turns);
        report_row(report, (struct report_cell[COLUMNS]){
                               REPORT_TEXT(state),
                               REPORT_TEXT(subjects[i].name),
                               REPORT_NUMBER(added * 8 / (double)load->keys),
                               REPORT_NUMBER(median(times->seconds[i], turns)),
                               REPORT_NUMBER(cpu_seconds / (double)load->reads * 1e6),
                               REPORT_NUMBER(ratios[i]),
                           });
    }
}

/* Reads every database in turns and prints their rows; false when a key was missing. */
static bool run_state(struct report *report, struct store *stores, const struct keys *keys,
                      int turns, const char *state) {
    static struct times times;
    bool ok = true;
    for (int turn = -1; turn < turns; turn++) { /* one that opens the tables */
        int at = turn < 0 ? 0 : turn;
        for (int i = 0; i < SUBJECTS; i++)
            ok &= read_all(&stores[i], keys, &times.seconds[i][at], &times.cpu_seconds[i][at]);
    }
    print_rows(report, stores, &times, turns, state);
    return ok;
}

static int run_leveldb(const struct bench_options *options) {
    struct store_load load = {.keys = options->quick ? 20000 : 1000000,
                              .reads = options->quick ? 20000 : 50000,
                              .seed = options->seed};
    if (options->full) load.reads = load.keys;
    int turns = options->quick ? 1 : options->runs < LEAST_TURNS ? LEAST_TURNS : options->runs;
    if (turns > MOST_TURNS) turns = MOST_TURNS;
    char folder[STORE_PATH_BYTES];
    bench_folder_make(folder, sizeof folder);
    struct keys keys = draw_keys(&load);
    static struct store stores[SUBJECTS];
    for (int i = 0; i < SUBJECTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        store_open(&stores[i], folder, name, make_policy(&subjects[i]), &load);
        store_write(&stores[i]);
    }
    struct report report;
    report_begin(&report, "leveldb", options->json, columns, COLUMNS);
    store_hold(folder);
    bool ok = run_state(&report, stores, &keys, turns, "as written");
    store_let_go();
    for (int i = 0; i < SUBJECTS; i++)
        store_compact(&stores[i]);
    store_hold(folder);
    ok &= run_state(&report, stores, &keys, turns, "compacted");
    store_let_go();
    report_end(&report);
    for (int i = 0; i < SUBJECTS; i++)
        store_close(&stores[i]);
    bench_folder_remove(folder);
    free(keys.texts);
    if (!ok) fprintf(stderr, "lethe-bench: a key that was written was not found\n");
    return ok ? 0 : 3;
}

const struct workload workload_leveldb = {
    .name = "leveldb",
    .summary = "random reads of LevelDB with its own filter and with ours",
    .run = run_leveldb,
};
