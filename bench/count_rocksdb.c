/* bench/count_rocksdb.c - each event once by RocksDB alone: a key for each id, and counters beside
 * them.
 *
 * A batch is what Lethe's commit is, and synced like it. Within a batch, ids and counters are
 * kept in tables in memory; what is not there is looked up. Bloom filters keep most lookups of
 * new ids from the tables on disk and in memory; a batch is written in the order of its keys,
 * which RocksDB takes faster; the cache has 256 MiB. */
#include <stdlib.h>
#include <string.h>

#include <lethe/hash.h>
#include <rocksdb/c.h>

#include "count_peers.h"
#include "folder.h"
#include "frame.h"

enum { SLOTS = 4 * COUNT_BATCH, CACHE_BYTES = 256 << 20, FAMILIES = 2, IDS = 0, COUNTERS = 1 };

/* Bytes of one length to a number, for the duration of a batch. */
struct table {
    size_t size; /* of a key */
    struct slot {
        const char *key; /* in the batch's lines; NULL: free */
        int64_t value;
    } * slots;
};

static void table_init(struct table *table, size_t size) {
    *table = (struct table){.size = size, .slots = calloc(SLOTS, sizeof *table->slots)};
    bench_require(table->slots != NULL, "allocating a table");
}

/* The slot of a key, or the one where it belongs. */
static struct slot *table_find(const struct table *table, const char *key) {
    uint64_t place = lethe_hash_bytes(LETHE_DEFAULT_SEED, key, table->size).low % SLOTS;
    while (table->slots[place].key != NULL &&
           memcmp(table->slots[place].key, key, table->size) != 0)
        place = (place + 1) % SLOTS;
    return &table->slots[place];
}

struct store {
    rocksdb_t *database;
    rocksdb_column_family_handle_t *families[FAMILIES];
    rocksdb_readoptions_t *reading;
    rocksdb_writeoptions_t *writing;
    rocksdb_writebatch_t *batch;
    struct table ids, counters;
};

static void require(char *error) {
    if (error != NULL) fprintf(stderr, "lethe-bench: RocksDB: %s\n", error);
    bench_require(error == NULL, "RocksDB");
}

static rocksdb_options_t *make_options(void) {
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_create_missing_column_families(options, 1);
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.1);
    rocksdb_options_set_memtable_whole_key_filtering(options, 1);
    rocksdb_block_based_table_options_t *tables = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_filter_policy(tables,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_block_cache(tables, rocksdb_cache_create_lru(CACHE_BYTES));
    rocksdb_options_set_block_based_table_factory(options, tables);
    return options;
}

static void open_store(struct store *store, const char *folder) {
    static const char *const names[FAMILIES] = {"default", "counters"};
    rocksdb_options_t *options = make_options();
    const rocksdb_options_t *all[FAMILIES] = {options, options};
    char path[COUNT_PATH_BYTES], *error = NULL;
    snprintf(path, sizeof path, "%s/database", folder);
    store->database =
        rocksdb_open_column_families(options, path, FAMILIES, names, all, store->families, &error);
    require(error);
    store->reading = rocksdb_readoptions_create();
    store->writing = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(store->writing, 1);
    store->batch = rocksdb_writebatch_create();
    table_init(&store->ids, COUNT_ID_BYTES);
    table_init(&store->counters, COUNT_KEY_BYTES);
}

static void close_store(struct store *store) {
    for (int i = 0; i < FAMILIES; i++)
        rocksdb_column_family_handle_destroy(store->families[i]);
    rocksdb_close(store->database);
}

/* Looks a key up in the database; value, unless NULL, gets its number. */
static bool look_up(const struct store *store, int family, const char *key, size_t size,
                    int64_t *value) {
    char *error = NULL;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned_cf(
        store->database, store->reading, store->families[family], key, size, &error);
    require(error);
    if (slice == NULL) return false;
    size_t length;
    const char *bytes = rocksdb_pinnableslice_value(slice, &length);
    if (value != NULL) memcpy(value, bytes, sizeof *value);
    rocksdb_pinnableslice_destroy(slice);
    return true;
}

/* Remembers an id; returns whether it is new. */
static bool remember(const struct store *store, const char *id) {
    struct slot *slot = table_find(&store->ids, id);
    if (slot->key != NULL || look_up(store, IDS, id, COUNT_ID_BYTES, NULL)) return false;
    slot->key = id;
    return true;
}

static void add(const struct store *store, const char *key, int64_t delta) {
    struct slot *slot = table_find(&store->counters, key);
    if (slot->key == NULL) {
        slot->key = key;
        slot->value = 0;
        look_up(store, COUNTERS, key, COUNT_KEY_BYTES, &slot->value);
    }
    slot->value += delta;
}

static int compare_slots(const void *a, const void *b, void *table) {
    const struct slot *left = a, *right = b;
    return memcmp(left->key, right->key, ((const struct table *)table)->size);
}

/* Moves what a table holds to the batch, in order, and empties it. */
static void put_table(const struct store *store, struct table *table, int family,
                      size_t value_size) {
    size_t count = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (table->slots[i].key != NULL) table->slots[count++] = table->slots[i];
    }
    qsort_r(table->slots, count, sizeof *table->slots, compare_slots, table);
    for (size_t i = 0; i < count; i++) {
        const struct slot *slot = &table->slots[i];
        rocksdb_writebatch_put_cf(store->batch, store->families[family], slot->key, table->size,
                                  (const char *)&slot->value, value_size);
    }
    memset(table->slots, 0, SLOTS * sizeof *table->slots);
}

/* Returns how many of the batch were new. */
static uint64_t count_batch(struct store *store, const struct count_batches *batch) {
    uint64_t applied = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (!remember(store, count_id(batch->lines, i))) continue;
        add(store, count_key(batch->lines, i), count_delta(batch->lines, i));
        applied++;
    }
    put_table(store, &store->ids, IDS, 0);
    put_table(store, &store->counters, COUNTERS, sizeof(int64_t));
    char *error = NULL;
    rocksdb_write(store->database, store->writing, store->batch, &error);
    require(error);
    rocksdb_writebatch_clear(store->batch);
    return applied;
}

static int64_t sum_counters(const struct store *store) {
    int64_t sum = 0;
    rocksdb_iterator_t *iterator =
        rocksdb_create_iterator_cf(store->database, store->reading, store->families[COUNTERS]);
    for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator);
         rocksdb_iter_next(iterator)) {
        size_t length;
        int64_t value;
        memcpy(&value, rocksdb_iter_value(iterator, &length), sizeof value);
        sum += value;
    }
    rocksdb_iter_destroy(iterator);
    return sum;
}

static void run(void *context) {
    struct count_job *job = context;
    struct count_batches batches;
    struct store store;
    count_batches_open(&batches, job->events);
    open_store(&store, job->folder);
    while (count_batches_next(&batches))
        job->out->applied += count_batch(&store, &batches);
    close_store(&store);
    job->out->cost = count_cost_now(job->started);
    count_batches_close(&batches);
    job->out->disk_bytes = bench_folder_bytes(job->folder);
    open_store(&store, job->folder);
    job->out->sum = sum_counters(&store);
    close_store(&store);
}

void count_by_rocksdb(const struct count_events *events, const char *folder,
                      struct count_outcome *out) {
    count_peer_fork(run, "RocksDB", events, folder, out);
}
