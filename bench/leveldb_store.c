/* bench/leveldb_store.c - see leveldb_store.h. */
#include <stdbool.h>

#include "leveldb_store.h"

#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "folder.h"
#include "frame.h"
#include "keys.h"

enum {
    OPEN_FOLDERS = 16,
    BATCH_KEYS = 1000,
    WRITE_BUFFER_BYTES = 1 << 28, /* a whole generation: LevelDB writes a table when told to */
    KEYS_PER_TABLE = 115000,      /* of a compacted database: nine tables hold a million */
    RECORD_BYTES = 128
};

/* What part of the keys each generation has, in thousandths: level 1 takes 10 MB, level 2 takes
 * 100. */
static const uint64_t parts[STORE_GENERATIONS] = {700, 60, 80, 80, 80};

static void check(char *error) {
    if (error == NULL) return;
    fprintf(stderr, "lethe-bench: leveldb: %s\n", error);
    exit(4);
}

void store_open(struct store *store, const char *folder, const char *name,
                leveldb_filterpolicy_t *policy, const struct store_load *load) {
    *store = (struct store){.load = load,
                            .policy = policy,
                            .options = leveldb_options_create(),
                            .reading = leveldb_readoptions_create(),
                            .writing = leveldb_writeoptions_create()};
    int length = snprintf(store->path, sizeof store->path, "%s/%s", folder, name);
    bench_require(length > 0 && length < STORE_PATH_BYTES, "naming a folder");
    leveldb_options_set_create_if_missing(store->options, 1);
    leveldb_options_set_write_buffer_size(store->options, WRITE_BUFFER_BYTES);
    /* At least a megabyte, by LevelDB's rules. */
    leveldb_options_set_max_file_size(
        store->options, (size_t)(load->keys * KEYS_PER_TABLE / 1000000 * RECORD_BYTES));
    leveldb_options_set_compression(store->options, leveldb_no_compression);
    if (policy != NULL) leveldb_options_set_filter_policy(store->options, policy);
    char *error = NULL;
    store->handle = leveldb_open(store->options, store->path, &error);
    check(error);
}

void store_close(struct store *store) {
    leveldb_close(store->handle);
    leveldb_options_destroy(store->options);
    leveldb_readoptions_destroy(store->reading);
    leveldb_writeoptions_destroy(store->writing);
    if (store->policy != NULL) leveldb_filterpolicy_destroy(store->policy);
}

void store_key(const struct store_load *load, uint64_t number, char key[STORE_KEY_BYTES + 1]) {
    snprintf(key, STORE_KEY_BYTES + 1, "%016llx",
             (unsigned long long)keys_scramble((load->seed << 32) + number));
}

/* The number after the last one of a generation. */
static uint64_t end_of(const struct store_load *load, int generation) {
    uint64_t sum = 0;
    for (int i = 0; i <= generation; i++)
        sum += parts[i];
    return load->keys * sum / 1000;
}

int store_generation(const struct store_load *load, uint64_t number) {
    int generation = 0;
    while (generation < STORE_GENERATIONS && number >= end_of(load, generation))
        generation++;
    return generation;
}

uint64_t store_draw(const struct store_load *load, uint64_t read) {
    return keys_scramble((load->seed << 32) - 1 - read) % (2 * load->keys);
}

static void write_numbers(struct store *store, uint64_t first, uint64_t end) {
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    char *error = NULL, key[STORE_KEY_BYTES + 1];
    uint64_t value[(STORE_VALUE_BYTES + 7) / 8];
    for (uint64_t number = first; number < end; number++) {
        store_key(store->load, number, key);
        for (size_t i = 0; i < sizeof value / sizeof value[0]; i++)
            value[i] = keys_scramble(number * 16 + i);
        leveldb_writebatch_put(batch, key, STORE_KEY_BYTES, (const char *)value, STORE_VALUE_BYTES);
        if (number % BATCH_KEYS != BATCH_KEYS - 1 && number + 1 < end) continue;
        leveldb_write(store->handle, store->writing, batch, &error);
        check(error);
        leveldb_writebatch_clear(batch);
    }
    leveldb_writebatch_destroy(batch);
}

void store_write(struct store *store) {
    for (int generation = 0; generation < STORE_GENERATIONS; generation++) {
        store->generation = generation;
        write_numbers(store, generation == 0 ? 0 : end_of(store->load, generation - 1),
                      end_of(store->load, generation));
        /* A range before all keys: what is in memory becomes a table, and no table is rewritten. */
        leveldb_compact_range(store->handle, "\1", 1, "\2", 1);
    }
}

void store_compact(struct store *store) {
    store->generation = STORE_GENERATIONS;
    leveldb_compact_range(store->handle, NULL, 0, NULL, 0);
}

/* nftw hands nothing on. */
static double table_bytes;

static int add_entry(const char *path, const struct stat *status, int type, struct FTW *at) {
    (void)at;
    const char *ending = strrchr(path, '.');
    if (type == FTW_F && ending != NULL && strcmp(ending, ".ldb") == 0)
        table_bytes += (double)status->st_size;
    return 0;
}

double store_table_bytes(const struct store *store) {
    table_bytes = 0;
    (void)nftw(store->path, add_entry, OPEN_FOLDERS, FTW_PHYS);
    return table_bytes;
}

bool store_get(struct store *store, const char *key) {
    char *error = NULL;
    size_t size;
    char *value = leveldb_get(store->handle, store->reading, key, STORE_KEY_BYTES, &size, &error);
    check(error);
    leveldb_free(value);
    return value != NULL;
}

/* The thread is held up in the making of a filter, for a table of one key in a database of its
 * own. */
static struct {
    sem_t reached, go_on;
    pthread_t compacting;
    struct store store;
} hold;

static void hold_destroy(void *state) {
    (void)state;
}

static char *hold_create(void *state, const char *const *keys, const size_t *sizes, int count,
                         size_t *size) {
    (void)state, (void)keys, (void)sizes, (void)count;
    sem_post(&hold.reached);
    while (sem_wait(&hold.go_on) != 0)
        continue;
    *size = 1;
    return calloc(1, 1);
}

static uint8_t hold_match(void *state, const char *key, size_t key_size, const char *filter,
                          size_t size) {
    (void)state, (void)key, (void)key_size, (void)filter, (void)size;
    return 1;
}

static const char *hold_name(void *state) {
    (void)state;
    return "lethe-bench.hold";
}

static void *compact(void *context) {
    (void)context;
    leveldb_compact_range(hold.store.handle, NULL, 0, NULL, 0);
    return NULL;
}

void store_hold(const char *folder) {
    static const struct store_load load = {.keys = 1, .reads = 1, .seed = 1};
    bench_require(sem_init(&hold.reached, 0, 0) == 0 && sem_init(&hold.go_on, 0, 0) == 0,
                  "making a semaphore");
    store_open(&hold.store, folder, "hold",
               leveldb_filterpolicy_create(NULL, hold_destroy, hold_create, hold_match, hold_name),
               &load);
    write_numbers(&hold.store, 0, 1);
    bench_require(pthread_create(&hold.compacting, NULL, compact, NULL) == 0, "starting a thread");
    while (sem_wait(&hold.reached) != 0)
        continue;
}

void store_let_go(void) {
    sem_post(&hold.go_on);
    pthread_join(hold.compacting, NULL);
    char path[STORE_PATH_BYTES];
    memcpy(path, hold.store.path, sizeof path);
    store_close(&hold.store);
    bench_folder_remove(path);
    sem_destroy(&hold.reached);
    sem_destroy(&hold.go_on);
}
