/* bench/leveldb_tables.c - which reads of LevelDB's tables a Bloom and a Gaussian filter could not
 * skip.
 *
 * The experiment of Table 1 of the paper on the Gaussian filter, which is `lethe paper
 * gbf-table-1`. As there, every filter is both at once: a classical one for an error of 10%, and a
 * Gaussian one with the same slots and hash functions, 4 bits per slot. A million random keys are
 * read, of which half were written: from the database as it was written, in five generations that
 * overlap, and from the same after a compaction.
 *
 * A row is a table: how often its filters were asked, how often in vain, since the table has the
 * key, and how often each filter did not show that it has not. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lethe/packed.h>

#include "folder.h"
#include "frame.h"
#include "leveldb_store.h"
#include "report.h"

#define TARGET_ERROR 0.1

enum { HASHES = 3, SLOT_BITS = 4, MOST_TABLES = 64, NOTES = 2, TAG_BYTES = 1 };

static const struct report_column columns[] = {
    {"state", "state", 12, -2},     {"table", "table", 6, -2}, {"asked", "asked", 9, 0},
    {"held", "has key", 9, 0},      {"bloom", "Bloom", 9, 0},  {"gaussian", "Gaussian", 9, 0},
    {"fraction", "fraction", 8, 2},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct counts {
    uint64_t asked, held, bloom, gaussian;
    uint64_t lost;  /* a filter denied a key that the table has: must not be */
    uint64_t worse; /* the Gaussian filter passed what the Bloom filter did not: must not be */
};

struct experiment {
    struct store store;
    struct store_load load;
    lethe_packed *bloom, *gaussian;
    bool is_compacted;
    int table_count;
    char largest[MOST_TABLES][STORE_KEY_BYTES + 1]; /* keys of a compacted database's tables */
    struct counts counts[MOST_TABLES];
    int generation; /* that has the key which is being read */
};

/* A filter is a block of each kind and the generation: the Gaussian array has slot_bits times
 * the bytes of the other, so that both have the same number of slots, and k and seed make them
 * the same Bloom filter. */
static size_t array_of(size_t size) {
    return (size - NOTES - TAG_BYTES) / (1 + SLOT_BITS);
}

static char *create(void *state, const char *const *keys, const size_t *sizes, int count,
                    size_t *size) {
    struct experiment *experiment = state;
    size_t keys_count = (size_t)count;
    lethe_hash *hashes = malloc(keys_count * sizeof *hashes);
    size_t bloom_size = lethe_packed_size(experiment->bloom, keys_count);
    size_t gaussian_size = (bloom_size - 1) * SLOT_BITS + 1;
    *size = bloom_size + gaussian_size + TAG_BYTES;
    char *filter = malloc(*size);
    bench_require(hashes != NULL && filter != NULL, "making a filter");
    for (size_t i = 0; i < keys_count; i++)
        hashes[i] = lethe_packed_hash(experiment->bloom, keys[i], sizes[i]);
    lethe_packed_build(experiment->bloom, hashes, keys_count, filter, bloom_size);
    lethe_packed_build(experiment->gaussian, hashes, keys_count, filter + bloom_size,
                       gaussian_size);
    filter[*size - 1] = (char)experiment->store.generation;
    free(hashes);
    return filter;
}

static int table_of(const struct experiment *experiment, const char *key, const char *filter,
                    size_t size) {
    if (!experiment->is_compacted) return filter[size - 1];
    int table = 0;
    while (table < experiment->table_count - 1 &&
           memcmp(key, experiment->largest[table], STORE_KEY_BYTES) > 0)
        table++;
    return table;
}

static uint8_t match(void *state, const char *key, size_t key_size, const char *filter,
                     size_t size) {
    struct experiment *experiment = state;
    lethe_hash hash = lethe_packed_hash(experiment->bloom, key, key_size);
    size_t bloom_size = array_of(size) + 1;
    bool in_bloom = lethe_packed_test(experiment->bloom, hash, filter, bloom_size);
    bool in_gaussian = lethe_packed_test(experiment->gaussian, hash, filter + bloom_size,
                                         size - bloom_size - TAG_BYTES);
    int table = table_of(experiment, key, filter, size);
    bool held = experiment->is_compacted ? experiment->generation < STORE_GENERATIONS
                                         : experiment->generation == table;
    struct counts *counts = &experiment->counts[table];
    counts->asked++;
    counts->held += held;
    counts->bloom += in_bloom;
    counts->gaussian += in_gaussian;
    counts->lost += held && !(in_bloom && in_gaussian);
    counts->worse += in_gaussian && !in_bloom;
    return in_gaussian;
}

static void destroy(void *state) {
    (void)state;
}

static const char *name(void *state) {
    (void)state;
    return "lethe-bench.both";
}

static int compare_keys(const void *left, const void *right) {
    return memcmp(left, right, STORE_KEY_BYTES);
}

/* LevelDB lists its tables as lines such as " 7:1234['KEY' @ 5 : 1 .. 'KEY' @ 9 : 1]". */
static void find_tables(struct experiment *experiment) {
    char *list = leveldb_property_value(experiment->store.handle, "leveldb.sstables");
    bench_require(list != NULL, "asking for the tables");
    experiment->table_count = 0;
    for (char *at = list; (at = strstr(at, ".. '")) != NULL; at += STORE_KEY_BYTES) {
        bench_require(experiment->table_count < MOST_TABLES, "counting tables");
        at += 4;
        bench_require(strlen(at) > STORE_KEY_BYTES, "reading the list of tables");
        memcpy(experiment->largest[experiment->table_count++], at, STORE_KEY_BYTES);
    }
    leveldb_free(list);
    qsort(experiment->largest, (size_t)experiment->table_count, sizeof experiment->largest[0],
          compare_keys);
}

static void print_row(struct report *report, const char *state, const char *table,
                      const struct counts *counts) {
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(state),
                           REPORT_TEXT(table),
                           REPORT_NUMBER((double)counts->asked),
                           REPORT_NUMBER((double)counts->held),
                           REPORT_NUMBER((double)counts->bloom),
                           REPORT_NUMBER((double)counts->gaussian),
                           REPORT_NUMBER((double)counts->gaussian / (double)counts->bloom),
                       });
}

/* Reads, prints a row for each table and one for all; false when a filter was wrong. */
static bool run_state(struct experiment *experiment, struct report *report, const char *folder,
                      const char *state) {
    memset(experiment->counts, 0, sizeof experiment->counts);
    uint64_t found = 0, expected = 0;
    char key[STORE_KEY_BYTES + 1];
    store_hold(folder);
    for (uint64_t read = 0; read < experiment->load.reads; read++) {
        uint64_t number = store_draw(&experiment->load, read);
        store_key(&experiment->load, number, key);
        experiment->generation = store_generation(&experiment->load, number);
        expected += experiment->generation < STORE_GENERATIONS;
        found += store_get(&experiment->store, key);
    }
    store_let_go();
    struct counts sum = {0};
    for (int table = 0; table < experiment->table_count; table++) {
        const struct counts *counts = &experiment->counts[table];
        char number[16];
        snprintf(number, sizeof number, "%d", table + 1);
        print_row(report, state, number, counts);
        sum.asked += counts->asked;
        sum.held += counts->held;
        sum.bloom += counts->bloom;
        sum.gaussian += counts->gaussian;
        sum.lost += counts->lost;
        sum.worse += counts->worse;
    }
    print_row(report, state, "all", &sum);
    return found == expected && sum.lost == 0 && sum.worse == 0;
}

static lethe_packed *make_packed(lethe_packed_kind kind, double bits_per_key, uint32_t slot_bits) {
    lethe_packed *packed;
    lethe_packed_options options =
        LETHE_OPTIONS(lethe_packed_options, .kind = kind, .bits_per_key = bits_per_key,
                      .hashes = HASHES, .slot_bits = slot_bits);
    bench_require(lethe_packed_new(&options, &packed) == LETHE_OK, "making a filter");
    return packed;
}

static int run_leveldb_tables(const struct bench_options *options) {
    static struct experiment experiment;
    uint64_t keys = options->quick ? 50000 : 1000000;
    experiment.load = (struct store_load){.keys = keys, .reads = keys, .seed = options->seed};
    double bits_per_key = -log2(TARGET_ERROR) / log(2);
    experiment.bloom = make_packed(LETHE_PACKED_BLOOM, bits_per_key, 0);
    experiment.gaussian = make_packed(LETHE_PACKED_GAUSSIAN, bits_per_key * SLOT_BITS, SLOT_BITS);

    char folder[STORE_PATH_BYTES];
    bench_folder_make(folder, sizeof folder);
    store_open(&experiment.store, folder, "database",
               leveldb_filterpolicy_create(&experiment, destroy, create, match, name),
               &experiment.load);
    struct report report;
    report_begin(&report, "leveldb-tables", options->json, columns, COLUMNS);
    store_write(&experiment.store);
    experiment.is_compacted = false;
    experiment.table_count = STORE_GENERATIONS;
    bool ok = run_state(&experiment, &report, folder, "as written");
    store_compact(&experiment.store);
    experiment.is_compacted = true;
    find_tables(&experiment);
    ok &= run_state(&experiment, &report, folder, "compacted");
    report_end(&report);
    store_close(&experiment.store);
    bench_folder_remove(folder);
    lethe_packed_free(experiment.bloom);
    lethe_packed_free(experiment.gaussian);
    if (!ok) fprintf(stderr, "lethe-bench: a filter denied a key, or passed too many\n");
    return ok ? 0 : 3;
}

const struct workload workload_leveldb_tables = {
    .name = "leveldb-tables",
    .summary = "reads of LevelDB's tables that Bloom and Gaussian filters could not skip",
    .run = run_leveldb_tables,
};
